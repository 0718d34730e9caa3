//! `deed-server serve` as a process of a test, on the test's own database.
//!
//! Owns its start, its end and what it said. It is ended by its process id, and killed when dropped.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// What the server writes on its standard output once it serves, before the address.
const READY: &str = "deed-server ready on ";

/// Migrations and a busy machine included; only a failing start waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
}

/// What a start needs besides the database.
#[derive(Clone, Debug)]
pub struct Options {
    /// A port, where it has to be the same as before.
    pub listen: SocketAddr,
    /// More of the command line.
    pub arguments: Vec<String>,
    /// More of the environment.
    pub environment: Vec<(&'static str, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }
}

impl Options {
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    pub fn in_environment(mut self, variable: &'static str, value: &str) -> Self {
        self.environment.push((variable, value.to_owned()));
        self
    }

    pub fn on(self, listen: SocketAddr) -> Self {
        Self { listen, ..self }
    }
}

impl Server {
    /// On any free port of the loopback.
    pub async fn start(database_url: &str) -> anyhow::Result<Self> {
        Self::start_with(database_url, Options::default()).await
    }

    pub async fn start_with(database_url: &str, options: Options) -> anyhow::Result<Self> {
        let program = program("deed-server")?;
        let mut child = Command::new(&program)
            .arg("serve")
            .args(["--listen", &options.listen.to_string()])
            .args(&options.arguments)
            .env("DEED_DATABASE_URL", database_url)
            .envs(
                options
                    .environment
                    .iter()
                    .map(|(variable, value)| (*variable, value)),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let said = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&said);
        let mut stderr = stderr.context("the server has no standard error")?;
        tokio::spawn(async move {
            let mut some = [0; 4_096];
            while let Ok(count @ 1..) = stderr.read(&mut some).await {
                keep.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend_from_slice(&some[..count]);
            }
        });
        let mut lines = BufReader::new(stdout.context("the server has no output")?).lines();
        let ready = timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await? {
                if let Some(address) = line.strip_prefix(READY) {
                    return Ok(address.trim().parse().ok());
                }
            }
            io::Result::Ok(None)
        });
        let address = ready.await.context("the server is not ready in time")??;
        let mut server = Self {
            // Replaced at once, or never seen.
            address: address.unwrap_or(options.listen),
            child,
            said,
        };
        if address.is_none() {
            let status = server.ended().await?;
            bail!(
                "the server ended with {status} instead of being ready:\n{}",
                server.said()
            );
        }
        // What else it says is not of interest, but a full pipe would hold it up.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(server)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its process id; none once it has ended and been waited for.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Everything it has said on its standard error so far.
    pub fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Sends a signal. One that has ended and been waited for gets none.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        if let Some(id) = self.child.id() {
            kill(Pid::from_raw(i32::try_from(id)?), signal)?;
        }
        Ok(())
    }

    /// SIGTERM; see [`Server::ended`].
    pub fn terminate(&self) -> anyhow::Result<()> {
        self.signal(Signal::SIGTERM)
    }

    /// SIGKILL, and waits for its end.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.child.kill().await
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(timeout(PATIENCE, self.child.wait())
            .await
            .context("the server does not end")??)
    }
}

/// A program of this workspace: `target/debug/NAME`, seen from `target/debug/deps/TEST` or `target/debug/PROGRAM`.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let own = env::current_exe()?;
    let directories = own.ancestors().skip(1).take(2);
    directories
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .with_context(|| {
            format!(
                "{name} is not built beside {}: cargo build --workspace --bins",
                own.display()
            )
        })
}
