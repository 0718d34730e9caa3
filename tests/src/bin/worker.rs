//! One worker of the demo, or of chaos, as a process of its own, so that it can be killed like one.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use deed_tests::chaos;
use deed_tests::demo::{blind, guarded, invoice};

/// Works off a list of invoices and says on its standard output which it is done with; or works for the fleets of chaos.
#[derive(Parser)]
#[command(name = "worker")]
struct Arguments {
    #[command(subcommand)]
    way: Way,
}

#[derive(Subcommand)]
enum Way {
    /// Retries until it gets an answer, with a list of what is done.
    Blind {
        #[command(flatten)]
        work: Work,
        /// The list of what is done, shared with the other workers.
        #[arg(long, value_name = "FILE")]
        done: PathBuf,
    },
    /// Asks Deed.
    Guarded {
        #[command(flatten)]
        work: Work,
        /// The Deed server, as http://host:port.
        #[arg(long, value_name = "URL")]
        server: String,
        /// Who this worker is.
        #[arg(long)]
        name: String,
    },
    /// For all fleets of chaos, until that is over.
    Chaos {
        /// What it is told, as JSON.
        #[arg(long, value_name = "JSON")]
        orders: String,
    },
}

#[derive(Args)]
struct Work {
    /// Invoices, one JSON object a line, in the order in which they are taken up.
    #[arg(long, value_name = "FILE")]
    offers: PathBuf,
    /// The receiver, as host:port.
    #[arg(long, value_name = "ADDRESS")]
    receiver: SocketAddr,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().way {
        Way::Blind { work, done } => {
            blind::work(&invoice::read(&work.offers, None)?, work.receiver, &done).await
        }
        Way::Guarded { work, server, name } => {
            guarded::work(&invoice::read(&work.offers, None)?, work.receiver, &server, &name).await
        }
        Way::Chaos { orders } => chaos::worker::work(&serde_json::from_str(&orders)?).await,
    }
}
