//! The standby: a copy that follows its primary, only reads, and can take its place.

use std::time::Duration;

use deed_server::postgres::{Cluster, Error, Options};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::help::{connect, ended, open_directory, raw};

async fn number(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.unwrap().get(0)
}

/// Waits for what the stream brings; nothing tells of its arrival.
async fn arrived(standby: &Client, rows: i64) {
    let seen = async {
        while number(standby, "SELECT count(*) FROM kept").await < rows {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.unwrap();
}

#[tokio::test]
async fn a_standby_has_what_was_there_follows_what_comes_and_writes_once_it_is_promoted() {
    let primary = Cluster::start(Options::ephemeral()).await.unwrap();
    primary.create_database("deed").await.unwrap();
    let writer = connect(&primary.url("deed")).await.unwrap();
    writer
        .batch_execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
        .await
        .unwrap();

    let place = open_directory();
    let options = Options::kept(place.path().join("standby"));
    let standby = primary
        .start_standby(options, primary.port(), "second")
        .await
        .unwrap();
    assert_ne!(standby.port(), primary.port());
    // The copy comes with the superuser, and so with its password.
    let reader = connect(&standby.url("deed")).await.unwrap();
    assert_eq!(number(&reader, "SELECT count(*) FROM kept").await, 1);
    writer.batch_execute("INSERT INTO kept VALUES (2)").await.unwrap();
    arrived(&reader, 2).await;
    let follows =
        "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'second' AND state = 'streaming'";
    assert_eq!(number(&writer, follows).await, 1);
    let refused = reader
        .batch_execute("INSERT INTO kept VALUES (3)")
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION));

    primary.stop().await.unwrap();
    reader
        .query_one("SELECT pg_promote(true, 60)", &[])
        .await
        .unwrap();
    reader.batch_execute("INSERT INTO kept VALUES (3)").await.unwrap();
    assert_eq!(number(&reader, "SELECT count(*) FROM kept").await, 3);
    let pid = raw(standby.pid());
    standby.stop().await.unwrap();
    assert!(ended(pid));
}

#[tokio::test]
async fn a_standby_that_was_promoted_starts_again_in_its_directory_as_any_other() {
    let primary = Cluster::start(Options::ephemeral()).await.unwrap();
    let place = open_directory();
    let options = || Options::kept(place.path().join("standby"));
    let standby = primary
        .start_standby(options(), primary.port(), "second")
        .await
        .unwrap();
    primary.stop().await.unwrap();
    let client = connect(&standby.url("postgres")).await.unwrap();
    client
        .query_one("SELECT pg_promote(true, 60)", &[])
        .await
        .unwrap();
    client.batch_execute("CREATE TABLE kept (n int)").await.unwrap();
    standby.stop().await.unwrap();

    let again = Cluster::start(options()).await.unwrap();
    let client = connect(&again.url("postgres")).await.unwrap();
    assert_eq!(number(&client, "SELECT count(*) FROM kept").await, 0);
    again.stop().await.unwrap();
}

#[tokio::test]
async fn a_standby_whose_primary_is_gone_is_not_started_and_the_copy_says_why() {
    let primary = Cluster::start(Options::ephemeral()).await.unwrap();
    let port = primary.port();
    // SUBTLE: killed and not stopped, so that the directory with the versions of its programs is still there.
    nix::sys::signal::kill(raw(primary.pid()), nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(ended(raw(primary.pid())));
    let place = open_directory();
    let options = Options::kept(place.path().join("standby"));
    let failed = primary.start_standby(options, port, "second").await.unwrap_err();
    assert!(matches!(failed, Error::Copy { .. }), "{failed:?}");
    assert!(
        !place.path().join("standby/data").exists(),
        "nothing half made looks whole"
    );
}
