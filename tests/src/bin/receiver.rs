//! The receiver as a process of its own: prints its address on one line and serves until it is ended, or until the dial
//! *crash* ends it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use deed_tests::receiver::{Dials, Options, Receiver};

/// The exit code of a crash that the dials asked for, so that a supervisor can tell it from a real one. Any number that
/// neither the shell nor Rust's own panic (101) uses would do.
const DIALED_CRASH: i32 = 86;

/// A stand-in for the outside system: applies effects, keeps a ledger of them, and misbehaves as its dials say.
#[derive(Parser)]
#[command(name = "receiver")]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Keep the ledger in this file, and take up what it holds.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The dials to start with, as the JSON that `PUT /dials` takes.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    dials: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { listen, data, dials } = Arguments::parse();
    anyhow::ensure!(
        listen.ip().is_loopback(),
        "{listen} is not on loopback; the receiver has no door to lock"
    );
    let dials: Dials = serde_json::from_str(&dials).context("--dials is not the JSON of dials")?;
    let crash = Arc::new(|| std::process::exit(DIALED_CRASH));
    let receiver = Receiver::start_with(Options {
        listen,
        data,
        dials,
        crash,
    })
    .await
    .context("cannot start")?;
    announce(receiver.address)?;
    receiver.serve().await.context("stopped serving")
}

/// Tells whoever started this process where to find it.
fn announce(address: SocketAddr) -> anyhow::Result<()> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{address}")?;
    stdout.flush().context("nobody reads the address")
}
