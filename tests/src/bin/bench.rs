//! `make bench`, `make bench-growth`, `make soak`: what one Postgres does by hand, at its limit and with Deed in front.
//! Prints tables, writes the page, and fails where a load lost or skipped work.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use deed_tests::bench::kept::Kept;
use deed_tests::bench::plan::{self, Plan};
use deed_tests::bench::{goals, growth, measure, page, seed, soak, table, xmin};

/// Measures Deed beside what a team writes by hand and beside the limit of its own statements.
///
/// BENCH_SECONDS, BENCH_ROUNDS and BENCH_ONLY (parts of row names, separated by commas; `held-xmin` is one by itself) say
/// how long and what. A run of some rows only prints.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where the page, its plot and its figures go.
    #[arg(long, value_name = "DIR", default_value = "docs", global = true)]
    into: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// All rows; the default.
    Run,
    /// The same load on an empty and on full databases (BENCH_SIZES), and by one and two servers.
    Growth,
    /// A steady load for minutes (SOAK_MINUTES).
    Soak,
    /// Writes the page again from what is kept: the notes have changed.
    Page,
    /// Adds settled actions to a database: seed postgres://USER:PASSWORD@HOST:PORT/DATABASE COUNT.
    Seed {
        /// Of a database; its tables are made where they are missing.
        url: String,
        /// Actions to add.
        count: u64,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    match bench(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn bench(arguments: Arguments) -> anyhow::Result<()> {
    let say = |said: String| eprintln!("{said}");
    let mut kept = Kept::read(&arguments.into)?;
    match arguments.command.unwrap_or(Command::Run) {
        Command::Run if plan::only().contains(&xmin::NAME.to_owned()) => {
            let held = xmin::measure(xmin::seconds()?).await?;
            println!("{}", xmin::markdown(&held));
            kept.held = Some(held);
        }
        Command::Run => {
            let plan = Plan::from_environment()?;
            let results = measure::all(&plan, say).await?;
            println!("{}", table::markdown(&results)?);
            kept.bench = Some(results);
            println!("{}", goals::markdown(&goals::all(&kept))?);
            if !plan::only().is_empty() {
                return Ok(());
            }
        }
        Command::Growth => {
            let measured = growth::measure(&Plan::from_environment()?, &growth::sizes()?, say).await?;
            println!("{}", growth::markdown(&measured)?);
            kept.growth = Some(measured);
        }
        Command::Soak => {
            let soaked = soak::run(plan::number("SOAK_MINUTES", soak::MINUTES)?, say).await?;
            println!("{}", soak::markdown(&soaked)?);
            kept.soak = Some(soaked);
        }
        Command::Page => {}
        Command::Seed { url, count } => return seed::fill(&url, count).await,
    }
    page::write(&arguments.into, &kept)?;
    println!("written: {}", arguments.into.join(page::PAGE).display());
    Ok(())
}
