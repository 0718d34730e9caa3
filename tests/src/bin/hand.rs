//! A hand that performs one action as a process of its own, so that tests can stop and kill it like one.
//!
//! Says on its standard output, a line each, what it is about to do: `sending`, `looking`, and at the end the outcome.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use deed_client::{Contract, Deed};
use deed_tests::receiver::{EffectRequest, ReceiverClient};
use deed_tests::support::adapter;
use deed_tests::support::work::{NAMESPACE, TOOL};
use tokio::signal::unix::{SignalKind, signal};

/// Longer than any test lets a send hang.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Parser)]
#[command(name = "hand")]
struct Arguments {
    /// The Deed server, as http://host:port.
    #[arg(long)]
    server: String,
    /// The receiver, as host:port.
    #[arg(long)]
    receiver: SocketAddr,
    /// The action, which is also the receiver's business id.
    #[arg(long)]
    action: String,
    #[arg(long)]
    lease_ms: u64,
    /// Ask for begin apart, right before the send.
    #[arg(long)]
    begin_apart: bool,
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _unheard = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // Before the first word: from here on a stop is a polite one.
    let mut stop = signal(SignalKind::terminate())?;
    let deed = Deed::builder().namespace(NAMESPACE).connect(&arguments.server)?;
    let receiver = ReceiverClient::new(arguments.receiver, SEND_TIMEOUT)?;
    let contract = if arguments.begin_apart {
        Contract::at_most_once()
    } else {
        Contract::serialized(Duration::ZERO)
    };
    let action = deed
        .action(&arguments.action)
        .tool(TOOL)
        .input_bytes(arguments.action.as_bytes())
        .contract(contract.lease(Duration::from_millis(arguments.lease_ms)));
    let request = EffectRequest::new(&arguments.action, "charge", &[]);
    let performing = action.perform(
        |_grant| {
            say("sending");
            adapter::send(&receiver, &request)
        },
        |lookup| {
            say("looking");
            let (receiver, action) = (&receiver, &arguments.action);
            async move { adapter::look_up(receiver, action, &lookup).await }
        },
    );
    let mut performing = std::pin::pin!(performing);
    let outcome = tokio::select! {
        outcome = &mut performing => outcome,
        _ = stop.recv() => {
            let (outcome, ()) = tokio::join!(performing, deed.shutdown());
            outcome
        }
    };
    say(&format!("{outcome:?}"));
    Ok(())
}
