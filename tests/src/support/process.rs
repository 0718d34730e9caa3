//! Processes of the demo and of chaos: found beside the running executable, heard line by line, ended by their process
//! id.
//!
//! Dropping a [`Process`] kills it; nothing here is ever ended by name. Each is in a process group of its own, so that
//! Ctrl-C reaches the controller alone, which then ends them in order.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;

/// A polite stop of the Deed server drains its calls (10 s at most) and lets Postgres write a checkpoint; on a slow disk
/// that takes a while.
const STOP: Duration = Duration::from_secs(40);

/// What `deed-server` writes on its standard output once it serves, before the address.
pub const DEED_READY_LINE: &str = "deed-server ready on ";

/// How many bytes of a log an error shows.
const TAIL: usize = 2_000;

/// A running process.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    /// Ends with its output, once [`Process::disregard`] reads that.
    output: Option<JoinHandle<()>>,
}

/// A program of this workspace, built beside the running one.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    environment: Vec<(&'static str, String)>,
}

/// Everything that is started.
#[derive(Clone, Debug)]
pub struct Programs {
    pub worker: Program,
    pub receiver: Program,
    pub deed_server: Program,
}

impl Programs {
    /// Before anything is started: half a cast is none.
    pub fn find() -> anyhow::Result<Self> {
        Ok(Self {
            worker: Program::beside_this_one("worker")?,
            receiver: Program::beside_this_one("receiver")?,
            deed_server: Program::beside_this_one("deed-server")?,
        })
    }
}

impl Program {
    fn beside_this_one(name: &str) -> anyhow::Result<Self> {
        let own = env::current_exe().context("cannot find this program's own file")?;
        let path = own.with_file_name(name);
        ensure!(
            path.is_file(),
            "the program {name} is not built: {} is missing; cargo build --workspace --bins builds it",
            path.display()
        );
        Ok(Self {
            path,
            environment: Vec::new(),
        })
    }

    /// The same, started with one variable more.
    #[must_use]
    pub fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.environment.push((variable, value.to_owned()));
        self
    }

    /// Starts it. What it says on its standard error goes to `log`; its standard output is returned.
    pub fn start<A: AsRef<std::ffi::OsStr>>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = A>,
        log: &Path,
    ) -> anyhow::Result<(Process, Lines<BufReader<ChildStdout>>)> {
        let errors = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = Command::new(&self.path)
            .args(arguments)
            .envs(
                self.environment
                    .iter()
                    .map(|(variable, value)| (*variable, value)),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {}", self.path.display()))?;
        let stdout = child
            .stdout
            .take()
            .with_context(|| format!("{name} has no output"))?;
        let process = Process {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
            output: None,
        };
        Ok((process, BufReader::new(stdout).lines()))
    }
}

impl Process {
    /// SIGKILL, and waits for its end.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.child
            .kill()
            .await
            .with_context(|| format!("cannot kill {}", self.name))
    }

    /// Sends a signal. One that has ended and been waited for gets none.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        if let Some(id) = self.child.id() {
            kill(Pid::from_raw(i32::try_from(id)?), signal)
                .with_context(|| format!("cannot send {signal} to {}", self.name))?;
        }
        Ok(())
    }

    /// SIGTERM, and SIGKILL if that does not end it.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::SIGTERM)?;
        match tokio::time::timeout(STOP, self.child.wait()).await {
            Ok(ended) => ended
                .map(drop)
                .with_context(|| format!("cannot wait for {}", self.name)),
            Err(_elapsed) => self.kill().await,
        }
    }

    /// Reads what else it says and forgets it: a full pipe would hold it up.
    pub fn disregard(&mut self, mut lines: Lines<BufReader<ChildStdout>>) {
        self.output = Some(tokio::spawn(async move {
            while let Ok(Some(_)) = lines.next_line().await {}
        }));
    }

    /// Fails when it is gone although nobody ended it; never answers before. Safe to cancel.
    pub async fn gone(&mut self) -> anyhow::Error {
        match &mut self.output {
            // However the reader ended, nobody is at the other end any more.
            Some(output) => drop(output.await),
            None => std::future::pending().await,
        }
        self.output = None;
        anyhow::anyhow!("{} is gone; {}", self.name, self.last_words())
    }

    pub async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        self.child
            .wait()
            .await
            .with_context(|| format!("cannot wait for {}", self.name))
    }

    /// For an error about it: its name, and the last it said.
    pub fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let mut from = text.len().saturating_sub(TAIL);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        match text[from..].trim() {
            "" => format!("{} said nothing", self.name),
            tail => format!("the last that {} said:\n{tail}", self.name),
        }
    }
}

/// The first thing in the output that `parse` understands.
pub async fn ready<T>(
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
