//! The two servers that the arms need: the receiver, and `deed-server dev` with its private Postgres.
//!
//! Owns how they are started, told to be ready, killed and ended. They are held outside of the arm that uses them, so
//! that they are ended politely however it ends: a killed `deed-server` leaves its Postgres running until the next start
//! in its directory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use deed_server::postgres;
use tokio::io::{BufReader, Lines};
use tokio::process::ChildStdout;

use super::process::{Process, Program};
use crate::receiver::{Dials, ReceiverClient};

/// A receiver binds a port and is ready.
const RECEIVER_READY: Duration = Duration::from_secs(10);

/// The Deed server makes and starts a Postgres first; after a kill that Postgres is stopped and recovers.
const DEED_READY: Duration = Duration::from_secs(120);

/// What `deed-server` writes on its standard output once it serves, before the address.
const DEED_READY_LINE: &str = "deed-server ready on ";

/// For the controller's own questions, which are large.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// The receiver of one arm.
#[derive(Debug)]
pub struct Receiver {
    process: Process,
    pub address: SocketAddr,
}

impl Receiver {
    pub async fn start(program: &Program, directory: &Path, dials: &Dials) -> anyhow::Result<Self> {
        let dials = serde_json::to_string(dials)?;
        let log = directory.join("receiver.log");
        let (mut process, lines) = program.start("the receiver", ["--dials", dials.as_str()], &log)?;
        let address = ready(&mut process, lines, RECEIVER_READY, |line| line.parse().ok()).await?;
        Ok(Self { process, address })
    }

    pub fn client(&self) -> anyhow::Result<ReceiverClient> {
        Ok(ReceiverClient::new(self.address, QUESTION_TIMEOUT)?)
    }

    /// See [`Process::gone`].
    pub async fn gone(&mut self) -> anyhow::Error {
        self.process.gone().await
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.process.stop().await
    }
}

/// The Deed server, and what it takes to start it again.
#[derive(Debug)]
pub struct Deed {
    program: Program,
    directory: PathBuf,
    process: Process,
    /// Until it is ready.
    lines: Option<Lines<BufReader<ChildStdout>>>,
    address: SocketAddr,
    postgres: Postgres,
}

/// Who looks after the private Postgres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Postgres {
    /// The Deed server that runs, if there is one yet.
    Kept,
    /// Nobody: its Deed server was killed, and no other has taken it over yet.
    Orphaned,
}

impl Deed {
    /// On a free port, with its data in a directory of its own below `directory`. It is not ready yet.
    // SUBTLE: apart from `ready`, and not async: whoever is interrupted while it gets ready has it in hand already, and
    // can end it politely. Dropped instead, it would leave a Postgres behind.
    pub fn start(program: &Program, directory: &Path) -> anyhow::Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let (process, lines) = launch(program, directory, address)?;
        Ok(Self {
            program: program.clone(),
            directory: directory.to_owned(),
            process,
            lines: Some(lines),
            address,
            postgres: Postgres::Kept,
        })
    }

    /// Waits until it serves.
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        if let Some(lines) = self.lines.take() {
            self.address = ready(&mut self.process, lines, DEED_READY, |line| {
                line.strip_prefix(DEED_READY_LINE)?.trim().parse().ok()
            })
            .await?;
            self.postgres = Postgres::Kept;
        }
        Ok(())
    }

    /// SIGKILL, then a start with the same data on the same port.
    pub async fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        self.postgres = Postgres::Orphaned;
        self.process.kill().await?;
        let (process, lines) = launch(&self.program, &self.directory, self.address)?;
        self.process = process;
        self.lines = Some(lines);
        self.ready().await
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// See [`Process::gone`].
    pub async fn gone(&mut self) -> anyhow::Error {
        let error = self.process.gone().await;
        self.postgres = Postgres::Orphaned;
        error
    }

    /// Ends it and its Postgres.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.process.stop().await?;
        if self.postgres == Postgres::Orphaned {
            // A start in the same directory takes over what was left there.
            let options = postgres::Options::kept(data(&self.directory).join("postgres"));
            postgres::Cluster::start(options).await?.stop().await?;
        }
        Ok(())
    }
}

fn data(directory: &Path) -> PathBuf {
    directory.join("deed")
}

fn launch(
    program: &Program,
    directory: &Path,
    listen: SocketAddr,
) -> anyhow::Result<(Process, Lines<BufReader<ChildStdout>>)> {
    let (listen, data) = (listen.to_string(), data(directory));
    let arguments = [
        "dev".as_ref(),
        "--listen".as_ref(),
        listen.as_ref(),
        "--data".as_ref(),
        data.as_os_str(),
    ];
    program.start("deed-server", arguments, &directory.join("deed-server.log"))
}

/// The first thing in the output that `parse` understands.
async fn ready<T>(
    process: &mut Process,
    mut lines: Lines<BufReader<ChildStdout>>,
    patience: Duration,
    parse: impl Fn(&str) -> Option<T>,
) -> anyhow::Result<T> {
    let search = async {
        while let Some(line) = lines.next_line().await? {
            if let Some(found) = parse(&line) {
                return anyhow::Ok(Some(found));
            }
        }
        Ok(None)
    };
    let found = tokio::time::timeout(patience, search).await;
    match found {
        Ok(Ok(Some(found))) => {
            process.disregard(lines);
            Ok(found)
        }
        Ok(Ok(None)) => {
            let status = process.ended().await?;
            bail!(
                "it ended with {status} instead of being ready; {}",
                process.last_words()
            )
        }
        Ok(Err(error)) => Err(error).with_context(|| process.last_words()),
        Err(_elapsed) => bail!(
            "not ready within {} s; {}",
            patience.as_secs(),
            process.last_words()
        ),
    }
}
