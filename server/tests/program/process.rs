//! A running `deed-server`. It is ended with its test.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// A private Postgres has to be made and started.
const START: Duration = Duration::from_secs(60);

/// What a stop may take.
pub const STOP: Duration = Duration::from_secs(10);

const READY: &str = "deed-server ready on ";

pub struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// What it said before it was ready.
    pub said: Vec<String>,
    pub address: String,
}

/// How a server that did not start ended.
#[derive(Debug)]
pub struct Refusal {
    pub status: ExitStatus,
    pub said: String,
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deed-server"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

impl Server {
    /// On any free port.
    pub async fn start(arguments: &[&str]) -> Self {
        let mut command = command(arguments);
        command.args(["--listen", "127.0.0.1:0", "--log", "warn,deed_server=info"]);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = loop {
            let line = timeout(START, lines.next_line()).await.unwrap().unwrap();
            let line = line.unwrap_or_else(|| panic!("ended before it was ready; said {said:?}"));
            match line.strip_prefix(READY) {
                Some(address) => break address.to_owned(),
                None => said.push(line),
            }
        };
        Self {
            child,
            lines,
            said,
            address,
        }
    }

    pub async fn on(url: &str) -> Self {
        Self::start(&["serve", "--database-url", url]).await
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// Waits until it has ended.
    pub async fn ended(mut self) -> ExitStatus {
        let status = timeout(STOP, self.child.wait()).await.unwrap().unwrap();
        assert_eq!(self.lines.next_line().await.unwrap(), None);
        status
    }

    pub async fn stop(self) {
        self.signal(Signal::SIGTERM);
        assert!(self.ended().await.success());
    }

    pub async fn kill(self) {
        self.signal(Signal::SIGKILL);
        self.ended().await;
    }
}

/// Starts a server that does not start.
pub async fn refused(arguments: &[&str]) -> Refusal {
    let mut child = command(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let status = timeout(START, child.wait()).await.unwrap().unwrap();
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).await.unwrap();
    Refusal { status, said }
}
