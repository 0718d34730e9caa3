//! `make demo`: workers race, crash and lose answers over a file of invoices, first without Deed, then with it. Ends with
//! one line of counts, and with a failure if Deed doubled or lost an effect.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use deed_tests::demo::invoice;
use deed_tests::demo::plan::{Plan, Wishes};
use deed_tests::demo::report::Report;
use deed_tests::demo::stage::Stage;
use deed_tests::support::directory::Directory;
use deed_tests::support::process::Programs;
use tokio::signal::unix::{SignalKind, signal};

/// Offers every invoice to two of several worker processes, kills some of them, loses some answers, and counts what the
/// receiver has at the end: without Deed and with it.
#[derive(Parser)]
#[command(name = "demo")]
struct Arguments {
    /// The work: JSON lines with invoice_id, customer, amount_cents and currency.
    #[arg(long, value_name = "FILE", default_value = "tests/data/invoices.jsonl")]
    invoices: PathBuf,
    /// Take only this many invoices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Repeats the faults, the offers and the kills of an earlier run; random by default. Races stay races.
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// Worker processes.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=32))]
    workers: u8,
    /// How many times a worker is killed, in each of the two runs.
    #[arg(long, value_name = "N", default_value_t = 12, conflicts_with = "no_kills")]
    kills: u16,
    /// Kill no worker; answers are lost all the same.
    #[arg(long)]
    no_kills: bool,
    /// Kill the Deed server in the middle too, and start it again.
    #[arg(long)]
    kill_server: bool,
    /// Keep logs, lists and Deed's data in this directory, which must be empty or absent. Without it they go.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(report) => tell(&report),
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<Report> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let limit = arguments.limit.map(usize::try_from).transpose()?;
    let invoices = invoice::read(&arguments.invoices, limit)?;
    let wishes = Wishes {
        seed: arguments.seed.unwrap_or_else(rand::random).into(),
        workers: arguments.workers.into(),
        kills: if arguments.no_kills {
            0
        } else {
            arguments.kills.into()
        },
        kill_server: arguments.kill_server,
    };
    let plan = Plan::draw(&invoices, wishes);
    println!(
        "{} invoices, each offered to 2 of {} workers; seed {seed} (again with --seed {seed})",
        invoices.len(),
        wishes.workers,
        seed = wishes.seed,
    );

    let directory = Directory::make("deed-demo-", arguments.data)?;
    let mut stage = Stage::new(directory.path(), Programs::find()?);
    // Whatever branch is not taken is dropped, and its workers are killed with it.
    let outcome = tokio::select! {
        outcome = stage.run(&invoices, &plan) => outcome,
        _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
        _ = terminate.recv() => Err(anyhow::anyhow!("told to stop")),
    };
    let ended = stage
        .end()
        .await
        .context("something that was started may still run");
    let report = outcome?;
    ended?;
    Ok(report)
}

fn tell(report: &Report) -> ExitCode {
    println!("\n{}", report.table());
    for explanation in &report.explanations {
        println!("undecided: {explanation}");
    }
    let failures = report.failures();
    for failure in &failures {
        println!("FAILED: {failure}");
    }
    println!("{}", report.verdict());
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
