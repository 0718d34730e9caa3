//! `make chaos`: kills, pauses and cuts off real processes under load, fails the database over, and then checks what is
//! left. Ends with one table, and with a failure if anything was doubled or lost, or if the run tested nothing.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use deed_tests::chaos::checker::check;
use deed_tests::chaos::fleet::Fleet;
use deed_tests::chaos::plan::Wishes;
use deed_tests::chaos::record::Record;
use deed_tests::chaos::report;
use deed_tests::chaos::stage::Stage;
use deed_tests::support::directory::Directory;
use deed_tests::support::process::Programs;
use tokio::signal::unix::{SignalKind, signal};

/// Four fleets of workers with Deed, one for each guarantee, and one that retries blindly, in a storm of faults.
#[derive(Parser)]
#[command(name = "chaos")]
struct Arguments {
    /// How long the storm lasts; every kind of fault has to come about ten times a minute.
    #[arg(long, env = "CHAOS_SECONDS", value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..))]
    seconds: u16,
    /// Repeats the faults and the offers of an earlier run; random by default. Races stay races.
    #[arg(long, env = "CHAOS_SEED", value_name = "N")]
    seed: Option<u32>,
    /// Keep logs and the databases in this directory, which must be empty or absent. Without it they go.
    #[arg(long, env = "CHAOS_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let wishes = Wishes {
        seed: arguments.seed.unwrap_or_else(rand::random).into(),
        length: Duration::from_secs(arguments.seconds.into()),
    };
    println!(
        "{} s of faults; seed {seed} (again with CHAOS_SEED={seed})",
        arguments.seconds,
        seed = wishes.seed
    );
    match run(arguments.data, wishes).await {
        Ok(record) => tell(record, wishes),
        Err(error) => {
            eprintln!("chaos: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(data: Option<PathBuf>, wishes: Wishes) -> anyhow::Result<Record> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let directory = Directory::make("deed-chaos-", data)?;
    let mut stage = Stage::new(directory.path(), Programs::find()?, wishes);
    let outcome = tokio::select! {
        outcome = stage.run() => outcome,
        _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
        _ = terminate.recv() => Err(anyhow::anyhow!("told to stop")),
    };
    let ended = stage
        .end()
        .await
        .context("something that was started may still run");
    let record = outcome?;
    ended?;
    Ok(record)
}

fn tell(mut record: Record, wishes: Wishes) -> ExitCode {
    let floor = wishes.floor();
    let verdict = check(&record, floor);
    println!("\n{}", report::table(&record, &verdict));
    for remark in report::remarks(&verdict) {
        println!("{remark}");
    }
    let sighted = plant(&mut record) && check(&record, floor).failures.len() > verdict.failures.len();
    if !sighted {
        println!("FAILED: the checker did not notice a duplicate that was planted in this very record");
    }
    println!("{}", report::last_line(&verdict, wishes.seed));
    if sighted && verdict.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Doubles one effect of a fleet that doubles none; says whether there was one.
fn plant(record: &mut Record) -> bool {
    let mut effects = record.effects.iter_mut();
    let found = effects
        .find(|(action, effects)| Fleet::of(action) == Some(Fleet::Deduplicated) && effects.len() == 1);
    let Some((_, effects)) = found else { return false };
    effects.extend(effects.first().cloned());
    true
}
