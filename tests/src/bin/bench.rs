//! `make bench`: what one Postgres does by hand, at its limit and with Deed in front. Prints one table, and fails where a
//! load lost or skipped work.

use std::process::ExitCode;

use deed_tests::bench::plan::Plan;
use deed_tests::bench::run;
use deed_tests::bench::stage::Stage;
use deed_tests::bench::table::{self, Measured};

#[tokio::main]
async fn main() -> ExitCode {
    match bench().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn bench() -> anyhow::Result<()> {
    let plan = Plan::from_environment()?;
    let stage = Stage::start().await?;
    let rows = measure(&stage, &plan).await;
    let stopped = stage.stop().await;
    println!("{}", table::markdown(&rows?)?);
    stopped
}

async fn measure(stage: &Stage, plan: &Plan) -> anyhow::Result<Vec<Measured>> {
    let mut rows: Vec<Measured> = plan
        .cells
        .iter()
        .map(|cell| Measured {
            cell: *cell,
            rounds: Vec::new(),
        })
        .collect();
    for round in 1..=plan.rounds {
        for row in &mut rows {
            let sample = run::cell(stage, &row.cell, plan.length).await?;
            eprintln!("round {round}: {} {:.0}/s", row.cell.name(), sample.per_second);
            row.rounds.push(sample);
        }
    }
    Ok(rows)
}
