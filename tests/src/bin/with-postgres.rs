//! `with-postgres -- CMD ARGS…` runs a command with a private Postgres: starts it, exports its address as
//! `DEED_TEST_POSTGRES`, runs CMD, stops Postgres and ends with CMD's code. SIGINT and SIGTERM are passed on to CMD.
//!
//! `with-postgres --keep` prints `DEED_TEST_POSTGRES=ADDRESS` and stops Postgres at the end of its input: whoever holds
//! the other end of that pipe can die in any way and leaves no Postgres behind.
//!
//! The data are in the directory that `TMPDIR` names; one in memory (`TMPDIR=/dev/shm`) triples the commits per second.

use std::io::{self, IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use deed_server::postgres::{Cluster, Data, Options};
use deed_tests::support::POSTGRES_VARIABLE;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

/// A command that was told to stop gets this long to clean up, then it is killed.
const STOP: Duration = Duration::from_secs(10);

/// Runs a command with a private Postgres whose address is in DEED_TEST_POSTGRES.
#[derive(Debug, Parser)]
struct Arguments {
    /// Print the address, and run until the end of the input instead of running a command.
    #[arg(long, conflicts_with = "command", required_unless_present = "command")]
    keep: bool,

    /// Keep the data in this directory; without it they go with Postgres.
    #[arg(long)]
    data: Option<PathBuf>,

    /// The command and its arguments.
    #[arg(last = true)]
    command: Vec<String>,
}

/// The signals that stop this program; from here on they no longer end it by themselves.
struct Stops {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Stops {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::SIGINT,
            _ = self.terminate.recv() => Signal::SIGTERM,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let kept = arguments.keep;
    match run(arguments).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("with-postgres: {error:#}");
            if kept {
                // In place of the address, and in one line: its reader sees nothing else.
                println!("{}", format!("{error:#}").replace('\n', " | "));
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<u8> {
    let mut stops = Stops::listen()?;
    let mut options = Options::ephemeral();
    if let Some(directory) = arguments.data {
        options.data = Data::Kept(directory);
    }
    let cluster = tokio::select! {
        started = Cluster::start(options) => started?,
        stop = stops.next() => return Ok(ended_by(stop)),
    };
    let address = cluster.url("postgres");
    let code = if arguments.keep {
        keep(&address, &mut stops).await
    } else {
        command(&arguments.command, &address, &mut stops).await
    };
    cluster.stop().await?;
    code
}

/// Until the end of the input, or a signal.
async fn keep(address: &str, stops: &mut Stops) -> anyhow::Result<u8> {
    let mut output = io::stdout().lock();
    writeln!(output, "{POSTGRES_VARIABLE}={address}")?;
    output.flush()?;
    drop(output);
    // SUBTLE: a thread of its own, not tokio's stdin, whose blocking read would hold up the end of the runtime when a
    // signal came first.
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _copied = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _receiver_gone = ended.send(());
    });
    tokio::select! {
        _ = end => Ok(0),
        stop = stops.next() => Ok(ended_by(stop)),
    }
}

async fn command(words: &[String], address: &str, stops: &mut Stops) -> anyhow::Result<u8> {
    let (program, arguments) = words.split_first().context("no command given")?;
    let mut child = Command::new(program)
        .args(arguments)
        .env(POSTGRES_VARIABLE, address)
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    tokio::select! {
        status = child.wait() => return Ok(code(status?)),
        // Ctrl-C reaches the command from the terminal; a second one would mean "now, at once" to many programs.
        stop = stops.next() => if stop != Signal::SIGINT || !io::stdin().is_terminal() { pass_on(&child, stop)? },
    }
    match tokio::time::timeout(STOP, child.wait()).await {
        Ok(status) => Ok(code(status?)),
        Err(_elapsed) => {
            child.kill().await?;
            Ok(ended_by(Signal::SIGKILL))
        }
    }
}

fn pass_on(child: &Child, stop: Signal) -> anyhow::Result<()> {
    // Without an id it has ended already, and its code is collected next.
    if let Some(id) = child.id() {
        kill(Pid::from_raw(i32::try_from(id)?), stop)?;
    }
    Ok(())
}

/// As a shell reports it.
fn code(status: ExitStatus) -> u8 {
    let number = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    number
        .and_then(|number| u8::try_from(number).ok())
        .unwrap_or(u8::MAX)
}

fn ended_by(signal: Signal) -> u8 {
    code(ExitStatus::from_raw(signal as i32))
}
