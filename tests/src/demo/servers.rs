//! The two servers that the arms need: the receiver, and `deed-server dev` with its private Postgres.
//!
//! Owns how they are started, told to be ready, killed and ended. They are held outside of the arm that uses them, so
//! that they are ended politely however it ends: a killed `deed-server` leaves its Postgres running until the next start
//! in its directory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
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

    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.process.stop().await
    }
}

/// The Deed server, and what it takes to start it again.
#[derive(Debug)]
pub struct Deed {
    program: Program,
    process: Process,
    pub address: SocketAddr,
    directory: PathBuf,
}

impl Deed {
    /// On a free port, with its data in a directory of its own below `directory`.
    pub async fn start(program: &Program, directory: &Path) -> anyhow::Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let (process, address) = Self::launch(program, directory, address).await?;
        let (program, directory) = (program.clone(), directory.to_owned());
        Ok(Self {
            program,
            process,
            address,
            directory,
        })
    }

    /// SIGKILL, then a start with the same data on the same port.
    pub async fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        self.process.kill().await?;
        let (process, address) = Self::launch(&self.program, &self.directory, self.address).await?;
        self.process = process;
        self.address = address;
        Ok(())
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.process.stop().await
    }

    async fn launch(
        program: &Program,
        directory: &Path,
        listen: SocketAddr,
    ) -> anyhow::Result<(Process, SocketAddr)> {
        let (listen, data) = (listen.to_string(), directory.join("deed"));
        let arguments = [
            "dev".as_ref(),
            "--listen".as_ref(),
            listen.as_ref(),
            "--data".as_ref(),
            data.as_os_str(),
        ];
        let log = directory.join("deed-server.log");
        let (mut process, lines) = program.start("deed-server", arguments, &log)?;
        let address = ready(&mut process, lines, DEED_READY, |line| {
            line.strip_prefix(DEED_READY_LINE)?.trim().parse().ok()
        })
        .await;
        match address {
            Ok(address) => Ok((process, address)),
            Err(error) => {
                // It may have started its Postgres already, which a kill would leave behind.
                process.stop().await?;
                Err(error)
            }
        }
    }
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
            // What else it says is not of interest, but a full pipe would hold it up.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
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
