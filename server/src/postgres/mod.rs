//! A private Postgres: found, set up, started, stopped. For `deed-server dev` and for tests; `serve` uses the one it is
//! given.
//!
//! It owns one directory (layout in `directory.rs`) and one process. It listens on 127.0.0.1 only and asks for a
//! password that is kept, mode 0600, in that directory. Its settings are durable: what it acknowledged survives a kill
//! of every process. It downloads nothing, runs nothing as root, and knows nothing of Deed's tables (the store does).
//!
//! When the parent is killed hard, Postgres goes on running. The next start in the same directory stops it and goes on
//! with its data; the next start of *any* temporary Postgres of the same user removes temporary ones left that way.

mod account;
mod binaries;
mod directory;
mod error;
mod options;
mod postmaster;
mod standby;

use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

pub use error::Error;
pub use options::{Data, Options, Port, default_directory};

use account::Account;
use binaries::{Binaries, Search};
use directory::{Directory, EPHEMERAL_PREFIX, SUPERUSER};
use options::SETTINGS;
use postmaster::{Postmaster, Shutdown};

/// Recovery after a crash reads back at most `max_wal_size` of log; a slow disk does that within this time.
const READY: Duration = Duration::from_secs(120);

/// A start fails when somebody takes the free port in between, or while backends of a killed Postgres still go away.
/// Both pass within a moment, so it is tried this often,
const ATTEMPTS: u32 = 5;

/// with this pause.
const PAUSE: Duration = Duration::from_millis(300);

/// A running private Postgres. Dropping it ends the process without waiting for a checkpoint; [`Cluster::stop`] is the
/// polite way.
#[derive(Debug)]
pub struct Cluster {
    // SUBTLE: before `directory`, as fields are dropped in order: the process ends before its directory is unlocked or
    // removed.
    postmaster: Postmaster,
    directory: Directory,
    port: u16,
    password: SecretString,
}

impl Cluster {
    /// Starts Postgres and waits until it accepts connections. Stops one that a killed process left in the directory.
    ///
    /// # Errors
    /// [`Error`] says what is missing or in the way; whatever was started by then has been ended.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let directory = match &options.data {
            Data::Kept(path) => Directory::keep(path)?,
            Data::Ephemeral(parent) => Directory::ephemeral(parent)?,
        };
        let binaries = Search::from_environment().find(&directory.data())?;
        let account = Account::choose(&directory.data())?;
        if let Data::Ephemeral(parent) = &options.data {
            sweep(parent, &account).await;
        }
        postmaster::end_leftover(&directory.data(), Shutdown::Fast).await?;
        let password = directory.prepare(&binaries, &account).await?;
        let (postmaster, port) = launch(&directory, &binaries, &account, &options).await?;
        tracing::info!(postgres.pid = postmaster.pid(), postgres.port = port, directory = %directory.path().display(), "Postgres is ready");
        Ok(Self {
            postmaster,
            directory,
            port,
            password,
        })
    }

    /// The address of `database` (which need not exist yet), password included.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let (password, port) = (self.password.expose_secret(), self.port);
        format!("postgres://{SUPERUSER}:{password}@127.0.0.1:{port}/{database}")
    }

    /// Makes sure that the database `name` exists.
    ///
    /// # Errors
    /// [`Error::Database`] with what Postgres answered.
    pub async fn create_database(&self, name: &str) -> Result<(), Error> {
        let failed = |source| Error::Database {
            name: name.to_owned(),
            source,
        };
        let (client, connection) = tokio_postgres::connect(&self.url("postgres"), NoTls)
            .await
            .map_err(failed)?;
        let connection = tokio::spawn(connection);
        let statement = format!("CREATE DATABASE \"{}\"", name.replace('"', "\"\""));
        let made = client.batch_execute(&statement).await;
        drop(client);
        // It ends as its client has gone; a failure of the goodbye changes nothing.
        let _goodbye = connection.await;
        match made {
            Err(error) if error.code() == Some(&SqlState::DUPLICATE_DATABASE) => Ok(()),
            other => other.map_err(failed),
        }
    }

    /// Process id of the Postgres.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.postmaster.pid()
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory it lives in; its log is `postgres.log` there.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Cuts off all sessions, stops Postgres and waits for that; a temporary directory is removed.
    ///
    /// # Errors
    /// [`Error::Stuck`] if it runs on after every polite signal.
    pub async fn stop(self) -> Result<(), Error> {
        let shutdown = shutdown(&self.directory);
        self.postmaster.stop(shutdown).await
    }
}

/// The checkpoint of a fast shutdown is for a next start; a temporary directory has none.
fn shutdown(directory: &Directory) -> Shutdown {
    if directory.temporary() {
        Shutdown::Immediate
    } else {
        Shutdown::Fast
    }
}

async fn launch(
    directory: &Directory,
    binaries: &Binaries,
    account: &Account,
    options: &Options,
) -> Result<(Postmaster, u16), Error> {
    let log = directory.open_log()?;
    let mut attempt = 1;
    loop {
        let port = match options.port {
            Port::Fixed(port) => port,
            Port::Free => free_port()?,
        };
        let log = log.try_clone().map_err(error::file("write", &directory.log()))?;
        let command = command(directory, binaries, account, port, &options.settings);
        let mut postmaster = Postmaster::spawn(command, &directory.data(), log, shutdown(directory))
            .map_err(|source| Error::Spawn {
                program: binaries.postgres(),
                account: account.name(),
                directory: directory.path().to_owned(),
                source,
            })?;
        let (log, tail) = (directory.log(), || directory.log_tail());
        match postmaster.ready(READY).await {
            Some(Ok(())) => return Ok((postmaster, port)),
            Some(Err(_)) if attempt < ATTEMPTS => {}
            Some(Err(status)) => {
                return Err(Error::Ended {
                    status,
                    log,
                    tail: tail(),
                });
            }
            None => {
                return Err(Error::NotReady {
                    seconds: READY.as_secs(),
                    log,
                    tail: tail(),
                });
            }
        }
        attempt += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

fn command(
    directory: &Directory,
    binaries: &Binaries,
    account: &Account,
    port: u16,
    settings: &[(String, String)],
) -> Command {
    let mut command = Command::new(binaries.postgres());
    command
        .arg("-D")
        .arg(directory.data())
        .arg("-p")
        .arg(port.to_string());
    let own = SETTINGS.iter().map(|(name, value)| (*name, *value));
    let given = settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own.chain(given) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command.current_dir(directory.path()).env("LC_ALL", "C");
    // A PG* variable is meant for the Postgres of whoever set it.
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
    account.apply(&mut command);
    command
}

fn free_port() -> Result<u16, Error> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(error::file("find a free port on", Path::new("127.0.0.1")))
}

/// Ends and removes temporary Postgres directories whose process was killed. What cannot be removed stays for the next
/// sweep: it is in nobody's way.
async fn sweep(parent: &Path, account: &Account) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(EPHEMERAL_PREFIX)
            // SUBTLE: not following links, and only what belongs to the account: anybody may put a directory of this
            // name into a shared temporary directory, with a process id of their choice in it.
            && entry.path().symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == account.uid().as_raw());
        if !ours {
            continue;
        }
        let Some(abandoned) = Directory::left_behind(&entry.path()) else {
            continue;
        };
        if postmaster::end_leftover(&abandoned.data(), Shutdown::Immediate)
            .await
            .is_ok()
        {
            let removed = fs::remove_dir_all(abandoned.path());
            tracing::info!(directory = %abandoned.path().display(), removed = removed.is_ok(), "swept a temporary Postgres that a killed process left");
        }
    }
}
