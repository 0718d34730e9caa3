//! The program `deed-server`: reads the options, starts logging, listens for signals, runs one of its commands.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use deed_server::config::{Cli, Command, LogFormat};
use deed_server::run;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    match start(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // All causes in one line: whoever reads it may see only the last line of a log.
            eprintln!("deed-server: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(cli: Cli) -> anyhow::Result<()> {
    log(&cli)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let Signals { stop, hurry } = Signals::listen()?;
        let running = async {
            match cli.command {
                Command::Serve(options) => run::serve(&options, stop).await,
                Command::Migrate(options) => run::migrate_only(&options).await,
                Command::Dev(options) => run::dev(&options, stop).await,
                Command::Token => run::make_token(),
            }
        };
        tokio::select! {
            ended = running => Ok(ended?),
            () = hurry.cancelled() => Err(anyhow::anyhow!("stopped by a second signal; open calls got no answer and will be repeated")),
        }
    });
    // A transaction that hangs on a silent database does not keep the process: its outcome is read on repeat.
    runtime.shutdown_background();
    ended
}

fn log(cli: &Cli) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&cli.log)
        .map_err(|error| anyhow::anyhow!("--log {:?} is not understood: {error}", cli.log))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match cli.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}

/// What SIGTERM and SIGINT ask for.
struct Signals {
    /// The first one: drain.
    stop: CancellationToken,
    /// The second one: whoever sent it cannot wait.
    hurry: CancellationToken,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
        let signals = Self {
            stop: stop.clone(),
            hurry: hurry.clone(),
        };
        tokio::spawn(async move {
            for asked in [stop, hurry] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                asked.cancel();
            }
        });
        Ok(signals)
    }
}
