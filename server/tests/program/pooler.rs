//! A transaction pooler in between (B37): PgBouncer with two connections for everybody.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use deed_proto::v1::next_step::Kind;
use deed_server::postgres::{Cluster, Options};
use futures::future::join_all;
use nix::unistd::{User, geteuid};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_postgres::{Config, SimpleQueryMessage};

use crate::database::connect;
use crate::process::Server;
use crate::worker::Worker;

/// From the scenario.
const READY: Duration = Duration::from_secs(15);

const SERVERS: usize = 3;
const CLIENTS: usize = 20;

/// How many claims each client makes. The scenario's own number is 500; two connections take a minute for that.
const CLAIMS_VARIABLE: &str = "DEED_TEST_POOLER_CLAIMS";
const CLAIMS: usize = 100;

/// One claim of so many is reported, and claimed once more.
const REPORTED: usize = 20;

/// "A prepared statement is not there" and "is there already": what a pooler makes of named statements.
const NAMED_STATEMENTS: [&str; 2] = ["26000", "42P05"];

/// A running PgBouncer. Dropping it ends it.
struct Pooler {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl Pooler {
    /// In front of the Postgres at `url`.
    fn start(url: &str) -> Self {
        let port = free_port();
        let directory = tempfile::tempdir().unwrap();
        let postgres: Config = url.parse().unwrap();
        let (user, password) = (postgres.get_user().unwrap(), postgres.get_password().unwrap());
        let users = directory.path().join("users");
        let password = str::from_utf8(password).unwrap();
        fs::write(&users, format!("\"{user}\" \"{password}\"\n")).unwrap();
        let settings = directory.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]
* = host=127.0.0.1 port={}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 500
",
            postgres.get_ports()[0],
            users.display()
        );
        fs::write(&settings, text).unwrap();
        let mut command = Command::new(program());
        command.arg(&settings).stdin(Stdio::null()).stderr(Stdio::piped());
        // It does not run as root.
        if geteuid().is_root() {
            let account = User::from_name("nobody").unwrap().unwrap();
            let (uid, gid) = (account.uid.as_raw(), account.gid.as_raw());
            for path in [directory.path(), &users, &settings] {
                chown(path, Some(uid), Some(gid)).unwrap();
            }
            command.uid(uid).gid(gid).current_dir("/");
        }
        fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
        let mut pooler = Self {
            child: command.spawn().unwrap(),
            port,
            _directory: directory,
        };
        pooler.ready();
        pooler
    }

    /// Waits until it says that it is up, and goes on reading what it says.
    fn ready(&mut self) {
        let errors = BufReader::new(self.child.stderr.take().unwrap());
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                // Nobody listens any more once it is up.
                let _unheard = tell.send(line);
            }
        });
        let mut said = Vec::new();
        while !said
            .last()
            .is_some_and(|line: &String| line.contains("process up"))
        {
            match told.recv_timeout(READY) {
                Ok(line) => said.push(line),
                Err(error) => panic!("PgBouncer is not up ({error}); it said {said:?}"),
            }
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// The listener is gone when this returns, so that somebody else may listen there.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Debian puts it where only root's PATH looks.
fn program() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<_> = env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .collect();
    let mut found = places.iter().map(|place| place.join("pgbouncer"));
    let found = found.find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("there is no pgbouncer in {places:?}; `make setup` installs it"))
}

#[tokio::test]
async fn b37_servers_start_and_claim_through_a_transaction_pooler() {
    let logged = Options::ephemeral().with("log_line_prefix", "%e ");
    let cluster = Cluster::start(logged).await.unwrap();
    cluster.create_database("deed").await.unwrap();
    let direct = cluster.url("deed");
    let pooler = Pooler::start(&direct);
    let pooled = direct.replace(&format!(":{}/", cluster.port()), &format!(":{}/", pooler.port));

    let starts = (0..SERVERS).map(|_| Server::on(&pooled));
    let servers = timeout(READY, join_all(starts)).await.unwrap();
    let claims = env::var(CLAIMS_VARIABLE)
        .ok()
        .and_then(|claims| claims.parse().ok());
    let claims: usize = claims.unwrap_or(CLAIMS);
    let clients = (0..CLIENTS).map(|client| {
        let server = &servers[client % SERVERS];
        async move {
            let worker = Worker::at(server).await;
            for claim in 0..claims {
                let id = format!("order-{client}-{claim}");
                let granted = worker.execute(&id).await;
                if claim % REPORTED == 0 {
                    let reported = worker.complete(&id, granted.fencing_token).await;
                    assert!(matches!(reported, Ok(Kind::Settled(_))), "{reported:?}");
                    let again = worker.claim(&id).await;
                    assert!(matches!(again, Ok(Kind::Settled(_))), "{again:?}");
                }
            }
        }
    });
    join_all(clients).await;

    let psql = connect(&direct).await;
    let count = "SELECT (SELECT count(*) FROM actions WHERE attempts = 1),
                        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
                        (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'deed-server')";
    let row = psql.query_one(count, &[]).await.unwrap();
    let (begun, locks, connections): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(begun, i64::try_from(CLIENTS * claims).unwrap());
    assert_eq!(locks, 0, "no advisory lock is stranded");
    assert!(connections <= 2, "nobody went past the pooler: {connections}");
    // The pooler hands the sessions on as they are: what a transaction set has ended with it.
    let handed_on = connect(&pooled).await;
    for (setting, default) in [
        ("lock_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"),
    ] {
        let shown = handed_on.simple_query(&format!("SHOW {setting}")).await.unwrap();
        let shown = shown.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        assert_eq!(shown, Some(default), "{setting}");
    }
    let log = fs::read_to_string(cluster.directory().join("postgres.log")).unwrap();
    for line in log.lines() {
        let named = NAMED_STATEMENTS.iter().any(|code| line.starts_with(code));
        assert!(!named, "{line}");
    }
    for server in servers {
        server.stop().await;
    }
}
