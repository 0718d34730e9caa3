//! What `deed-server` does not start on, and what it says then.

use std::net::TcpListener;

use deed_server::postgres::Options;

use crate::database::Database;
use crate::process::{Server, refused};
use crate::worker::Worker;

#[tokio::test]
async fn an_address_beyond_this_machine_is_refused_before_anything_is_touched() {
    // Nobody listens on port 1.
    let arguments = [
        "serve",
        "--database-url",
        "postgres://u:canary@127.0.0.1:1/d",
        "--listen",
        "0.0.0.0:0",
    ];
    let refusal = refused(&arguments).await;
    assert_eq!(refusal.status.code(), Some(1));
    assert!(
        refusal.said.contains("--insecure-listen-anywhere"),
        "{}",
        refusal.said
    );
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_named_without_its_password() {
    for url in [
        "postgres://deed:canary@127.0.0.1:1/d",
        "postgres://deed:canary@host:port/d",
    ] {
        for command in ["serve", "migrate"] {
            let refusal = refused(&[command, "--database-url", url, "--log", "debug"]).await;
            assert_eq!(refusal.status.code(), Some(1));
            assert!(refusal.said.contains("database"), "{}", refusal.said);
            assert!(!refusal.said.contains("canary"), "{}", refusal.said);
        }
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let database = Database::empty().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refusal = refused(&["serve", "--database-url", &database.url, "--listen", &address]).await;
    assert_eq!(refusal.status.code(), Some(1));
    assert!(refusal.said.contains(&address), "{}", refusal.said);
}

#[tokio::test]
async fn fsync_off_is_refused_unless_allowed() {
    let database = Database::own("deed", Options::ephemeral().with("fsync", "off")).await;
    let refusal = refused(&["serve", "--database-url", &database.url]).await;
    assert_eq!(refusal.status.code(), Some(1));
    assert!(refusal.said.contains("fsync"), "{}", refusal.said);
    let server = Server::start(&["serve", "--database-url", &database.url, "--allow-fsync-off"]).await;
    Worker::at(&server).await.execute("order-1").await;
    server.stop().await;
}

#[tokio::test]
async fn pending_migrations_are_named_where_the_tables_are_left_to_somebody_else() {
    let database = Database::empty().await;
    let arguments = ["serve", "--database-url", &database.url, "--no-migrate"];
    let refusal = refused(&arguments).await;
    assert_eq!(refusal.status.code(), Some(1));
    for told in ["V1__", "deed-server migrate"] {
        assert!(refusal.said.contains(told), "{told}: {}", refusal.said);
    }
    Server::on(&database.url).await.stop().await;
    let server = Server::start(&arguments).await;
    Worker::at(&server).await.execute("order-1").await;
    server.stop().await;
}
