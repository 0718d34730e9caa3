//! The cluster: what holds for it, and what is left of it after every end.

use std::os::unix::fs::PermissionsExt;

use deed_server::postgres::{Cluster, Data, Error, Options, Port};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use tokio_postgres::Client;

use crate::help::{connect, ended, only_entry, open_directory, postmaster, raw};
use crate::keeper::keeper;

async fn setting(client: &Client, name: &str) -> String {
    client
        .query_one(&format!("SHOW {name}"), &[])
        .await
        .unwrap()
        .get(0)
}

#[tokio::test]
async fn private_postgres_is_durable_and_on_the_loopback_only() {
    let cluster = Cluster::start(Options::ephemeral()).await.unwrap();
    let client = connect(&cluster.url("postgres")).await.unwrap();
    for (name, value) in [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
        ("server_encoding", "UTF8"),
    ] {
        assert_eq!(setting(&client, name).await, value, "{name}");
    }
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn nobody_enters_without_the_password() {
    let cluster = Cluster::start(Options::ephemeral()).await.unwrap();
    let wrong = format!("postgres://deed:wrong@127.0.0.1:{}/postgres", cluster.port());
    assert!(connect(&wrong).await.is_err());
    let password = cluster.directory().join("password");
    assert_eq!(
        std::fs::metadata(password).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        std::fs::metadata(cluster.directory())
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    cluster.stop().await.unwrap();
}

/// Ctrl-C on a terminal goes to a whole group; the store must outlive the calls that the server still answers.
#[tokio::test]
async fn postgres_is_in_a_process_group_of_its_own() {
    let cluster = Cluster::start(Options::ephemeral()).await.unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", cluster.pid())).unwrap();
    let group = stat.rsplit_once(") ").unwrap().1.split(' ').nth(2).unwrap();
    assert_eq!(group, cluster.pid().to_string());
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn start_that_is_given_up_leaves_nothing() {
    let parent = open_directory();
    let options = Options {
        data: Data::Ephemeral(parent.path().into()),
        ..Options::ephemeral()
    };
    let mut start = Box::pin(Cluster::start(options));
    let pid = loop {
        tokio::select! {
            biased;
            _ = &mut start => panic!("it was to be given up before it is ready"),
            () = tokio::task::yield_now() => {}
        }
        let directory = only_entry(parent.path());
        if directory.join("data/postmaster.pid").exists()
            && std::fs::read_to_string(directory.join("data/postmaster.pid"))
                .unwrap()
                .lines()
                .count()
                > 1
        {
            break postmaster(&directory);
        }
    };
    drop(start);
    assert_eq!(kill(pid, None), Err(Errno::ESRCH), "its end is waited for");
    assert!(std::fs::read_dir(parent.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn given_settings_win_over_the_launchers_own() {
    let options = Options::ephemeral()
        .with("max_connections", "17")
        .with("log_min_messages", "error");
    let cluster = Cluster::start(options).await.unwrap();
    let client = connect(&cluster.url("postgres")).await.unwrap();
    assert_eq!(setting(&client, "max_connections").await, "17");
    assert_eq!(setting(&client, "log_min_messages").await, "error");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn stopped_or_dropped_nothing_of_a_temporary_postgres_is_left() {
    let parent = open_directory();
    let options = Options {
        data: Data::Ephemeral(parent.path().into()),
        ..Options::ephemeral()
    };
    let stopped = Cluster::start(options.clone()).await.unwrap();
    let pid = raw(stopped.pid());
    stopped.stop().await.unwrap();
    assert_eq!(kill(pid, None), Err(Errno::ESRCH));

    let dropped = Cluster::start(options).await.unwrap();
    let pid = raw(dropped.pid());
    drop(dropped);
    assert_eq!(kill(pid, None), Err(Errno::ESRCH), "its end is waited for");
    assert!(std::fs::read_dir(parent.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn restart_keeps_data_and_password_and_takes_the_fixed_port() {
    let parent = open_directory();
    let directory = parent.path().join("deep/down");
    std::fs::create_dir(parent.path().join("deep")).unwrap();

    let cluster = Cluster::start(Options::kept(&directory)).await.unwrap();
    cluster.create_database("kept").await.unwrap();
    let (port, url) = (cluster.port(), cluster.url("kept"));
    connect(&url)
        .await
        .unwrap()
        .batch_execute("CREATE TABLE deeds AS SELECT 7 AS number")
        .await
        .unwrap();
    cluster.stop().await.unwrap();

    let cluster = Cluster::start(Options::kept(&directory).on(Port::Fixed(port)))
        .await
        .unwrap();
    cluster.create_database("kept").await.unwrap();
    assert_eq!(cluster.url("kept"), url);
    let row = connect(&url)
        .await
        .unwrap()
        .query_one("SELECT number FROM deeds", &[])
        .await
        .unwrap();
    assert_eq!(row.get::<_, i32>(0), 7);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn postgres_of_a_killed_parent_is_replaced_with_what_it_had_committed() {
    let parent = open_directory();
    let directory = parent.path().join("kept");
    let (mut killed, url) = keeper(parent.path(), &["--data", directory.to_str().unwrap()]);
    connect(&url)
        .await
        .unwrap()
        .batch_execute("CREATE TABLE deeds AS SELECT 7 AS number")
        .await
        .unwrap();
    let orphan = postmaster(&directory);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(kill(orphan, None), Ok(()), "it outlives its parent");

    let cluster = Cluster::start(Options::kept(&directory)).await.unwrap();
    assert!(ended(orphan));
    let client = connect(&cluster.url("postgres")).await.unwrap();
    assert_eq!(
        client
            .query_one("SELECT number FROM deeds", &[])
            .await
            .unwrap()
            .get::<_, i32>(0),
        7
    );
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn killed_postgres_recovers_what_it_had_committed() {
    let parent = open_directory();
    let directory = parent.path().join("kept");
    let cluster = Cluster::start(Options::kept(&directory)).await.unwrap();
    let client = connect(&cluster.url("postgres")).await.unwrap();
    client
        .batch_execute("CREATE TABLE deeds AS SELECT 7 AS number")
        .await
        .unwrap();
    kill(raw(cluster.pid()), Signal::SIGKILL).unwrap();
    drop(cluster);

    let cluster = Cluster::start(Options::kept(&directory)).await.unwrap();
    let client = connect(&cluster.url("postgres")).await.unwrap();
    assert_eq!(
        client
            .query_one("SELECT number FROM deeds", &[])
            .await
            .unwrap()
            .get::<_, i32>(0),
        7
    );
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn second_user_of_a_directory_is_refused_and_told_who_has_it() {
    let parent = open_directory();
    let directory = parent.path().join("kept");
    let cluster = Cluster::start(Options::kept(&directory)).await.unwrap();
    let refused = Cluster::start(Options::kept(&directory)).await.unwrap_err();
    assert!(
        matches!(&refused, Error::InUse { owner, .. } if *owner == std::process::id().to_string()),
        "{refused}"
    );
    connect(&cluster.url("postgres")).await.unwrap();
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn half_made_directory_is_made_again() {
    let parent = open_directory();
    let directory = parent.path().join("kept");
    std::fs::create_dir_all(directory.join("data.new.1/base")).unwrap();
    for file in ["deed.lock", "password", "data.new.1/PG_VERSION"] {
        std::fs::write(directory.join(file), "").unwrap();
    }
    let cluster = Cluster::start(Options::kept(&directory)).await.unwrap();
    connect(&cluster.url("postgres")).await.unwrap();
    assert!(!directory.join("data.new.1").exists());
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn directory_with_something_else_in_it_is_refused_untouched() {
    let parent = open_directory();
    let thesis = parent.path().join("thesis.txt");
    std::fs::write(&thesis, "years of work").unwrap();
    let refused = Cluster::start(Options::kept(parent.path())).await.unwrap_err();
    assert!(matches!(refused, Error::ForeignDirectory { .. }), "{refused}");
    assert_eq!(only_entry(parent.path()), thesis);
    assert_eq!(
        std::fs::metadata(parent.path()).unwrap().permissions().mode() & 0o777,
        0o755
    );
}

#[tokio::test]
async fn failed_start_shows_the_end_of_the_log() {
    let refused = Cluster::start(Options::ephemeral().with("max_connections", "many"))
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, Error::Ended { tail, .. } if tail.contains("max_connections")),
        "{refused}"
    );
}
