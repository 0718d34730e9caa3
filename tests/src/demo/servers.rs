//! The Deed server that the arms need: `deed-server dev` with its private Postgres.
//!
//! Owns how it is started, told to be ready, killed and ended. It is held outside of the arm that uses it, so that it is
//! ended politely however that ends: a killed `deed-server` leaves its Postgres running until the next start in its
//! directory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use deed_server::postgres;
use tokio::io::{BufReader, Lines};
use tokio::process::ChildStdout;

use crate::support::process::{DEED_READY_LINE, Process, Program, ready};

/// The Deed server makes and starts a Postgres first; after a kill that Postgres is stopped and recovers.
const DEED_READY: Duration = Duration::from_secs(120);

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
