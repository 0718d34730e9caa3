//! `with-postgres`, and the database that each test gets: both go with whoever asked for them.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use deed_tests::support;
use nix::sys::signal::{Signal, kill};

use crate::help::{connect, ended, only_entry, open_directory, postmaster, raw};

const WITH_POSTGRES: &str = env!("CARGO_BIN_EXE_with-postgres");

/// `with-postgres --keep ARGUMENTS`, once it has printed the address.
pub fn keeper(temporary: &Path, arguments: &[&str]) -> (Child, String) {
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
