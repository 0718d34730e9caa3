//! The private Postgres that `dev` and the tests stand on: its life, and what a hard death of its parent leaves.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise, its helpers too"
)]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use deed_server::postgres::{Cluster, Data, Error, Options, Port};
use deed_tests::support;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio_postgres::{Client, NoTls};

const WITH_POSTGRES: &str = env!("CARGO_BIN_EXE_with-postgres");

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn setting(client: &Client, name: &str) -> String {
    client
        .query_one(&format!("SHOW {name}"), &[])
        .await
        .unwrap()
        .get(0)
}

fn raw(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap())
}

/// The end of a process that is not this one's child can only be looked for.
fn ended(pid: Pid) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        // A zombie that nobody collects has ended, too.
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if kill(pid, None) == Err(Errno::ESRCH) || state.contains(") Z ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// The process id of the Postgres that lives in `directory`.
fn postmaster(directory: &Path) -> Pid {
    let file = std::fs::read_to_string(directory.join("data/postmaster.pid")).unwrap();
    Pid::from_raw(file.lines().next().unwrap().parse().unwrap())
}

fn only_entry(directory: &Path) -> std::path::PathBuf {
    let entries: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

/// A directory below which Postgres, as another user, may work.
fn open_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

/// `with-postgres --keep ARGUMENTS`, once it has printed the address.
fn keeper(temporary: &Path, arguments: &[&str]) -> (Child, String) {
    let mut child = Command::new(WITH_POSTGRES)
        .arg("--keep")
        .args(arguments)
        .env("TMPDIR", temporary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let url = line
        .trim()
        .strip_prefix("DEED_TEST_POSTGRES=")
        .unwrap_or_else(|| panic!("{line}"))
        .to_owned();
    (child, url)
}

fn with_postgres(arguments: &[&str]) -> ExitStatus {
    Command::new(WITH_POSTGRES)
        .arg("--")
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .unwrap()
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

#[tokio::test]
async fn keeper_stops_postgres_when_its_parent_is_gone() {
    let temporary = open_directory();
    let (mut child, url) = keeper(temporary.path(), &[]);
    connect(&url).await.unwrap();
    let pid = postmaster(&only_entry(temporary.path()));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(ended(pid));
    assert!(std::fs::read_dir(temporary.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn keeper_stops_postgres_when_told_to_stop() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let temporary = open_directory();
        let (mut child, _url) = keeper(temporary.path(), &[]);
        // SUBTLE: held until the end, as `wait` closes the input, and its end stops the keeper as well.
        let _input = child.stdin.take();
        let pid = postmaster(&only_entry(temporary.path()));
        kill(raw(child.id()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(ended(pid));
    }
}

#[tokio::test]
async fn temporary_postgres_of_a_killed_keeper_is_swept_by_the_next_one() {
    let temporary = open_directory();
    let (mut killed, _url) = keeper(temporary.path(), &[]);
    let left = only_entry(temporary.path());
    let orphan = postmaster(&left);
    killed.kill().unwrap();
    killed.wait().unwrap();

    let (mut in_use, in_use_url) = keeper(temporary.path(), &[]);
    assert!(ended(orphan));
    assert!(!left.exists());

    let (mut another, _url) = keeper(temporary.path(), &[]);
    connect(&in_use_url)
        .await
        .expect("one that is in use is not swept");
    for child in [&mut in_use, &mut another] {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

#[test]
fn command_runs_with_postgres_and_its_code_is_passed_on() {
    let probe =
        r#"case "$DEED_TEST_POSTGRES" in postgres://deed:*@127.0.0.1:*/postgres) exit 7;; esac; exit 1"#;
    assert_eq!(with_postgres(&["sh", "-c", probe]).code(), Some(7));
    assert_eq!(with_postgres(&["sh", "-c", "kill -KILL $$"]).code(), Some(137));
}

#[test]
fn stopped_runner_stops_its_command_first_and_then_postgres() {
    let temporary = open_directory();
    let script = "trap 'echo stopped; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let mut runner = Command::new(WITH_POSTGRES)
        .args(["--", "sh", "-c", script])
        .env("TMPDIR", temporary.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(runner.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = postmaster(&only_entry(temporary.path()));
    kill(raw(runner.id()), Signal::SIGTERM).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "stopped\n");
    assert_eq!(runner.wait().unwrap().code(), Some(5));
    assert!(ended(pid));
}

#[tokio::test]
async fn every_test_gets_a_database_of_its_own_that_goes_with_it() {
    let (first, second) = tokio::join!(support::database(), support::database());
    assert_ne!(first.name, second.name);
    let in_first = connect(&first.url).await.unwrap();
    in_first
        .batch_execute("CREATE TABLE only_here (number int)")
        .await
        .unwrap();
    let in_second = connect(&second.url).await.unwrap();
    assert!(in_second.batch_execute("SELECT * FROM only_here").await.is_err());

    let gone = first.name.clone();
    drop(first);
    let found = in_second
        .query("SELECT 1 FROM pg_database WHERE datname = $1", &[&gone])
        .await
        .unwrap();
    assert!(found.is_empty());
}
