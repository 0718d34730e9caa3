//! The receiver as a process: started, asked for its ledger, ended.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::process::{Process, Program, ready};
use crate::receiver::{Dials, ReceiverClient};

/// A receiver binds a port and is ready.
const READY: Duration = Duration::from_secs(10);

/// For the controller's own questions, which are large.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// A running receiver.
#[derive(Debug)]
pub struct Receiver {
    process: Process,
    pub address: SocketAddr,
}

impl Receiver {
    pub async fn start(program: &Program, log: &Path, dials: &Dials) -> anyhow::Result<Self> {
        let dials = serde_json::to_string(dials)?;
        let (mut process, lines) = program.start("the receiver", ["--dials", dials.as_str()], log)?;
        let address = ready(&mut process, lines, READY, |line| line.parse().ok()).await?;
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
