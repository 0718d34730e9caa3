//! All cells of a plan, round by round, on one stage.

use super::plan::{Cell, Plan};
use super::results::{Results, Row, machine};
use super::run;
use super::stage::Stage;

/// Measures everything; `say` hears of each cell as it is done.
pub async fn all(plan: &Plan, say: impl Fn(String)) -> anyhow::Result<Results> {
    let stage = Stage::start().await?;
    let measured = on(&stage, plan, say).await;
    let stopped = stage.stop().await;
    let results = measured?;
    stopped?;
    Ok(results)
}

async fn on(stage: &Stage, plan: &Plan, say: impl Fn(String)) -> anyhow::Result<Results> {
    let mut results = Results {
        machine: machine(&stage.version().await?),
        seconds: plan.length.measured.as_secs_f64(),
        rows: Vec::new(),
        missing: Vec::new(),
    };
    let mut cells: Vec<Cell> = Vec::new();
    for cell in &plan.cells {
        let name = cell.name();
        match run::possible(cell) {
            Ok(()) => {
                cells.push(*cell);
                results.rows.push(Row {
                    name,
                    rounds: Vec::new(),
                });
            }
            Err(why) => results.missing.push(format!("`{name}`, {why}")),
        }
    }
    for round in 1..=plan.rounds {
        for (cell, row) in cells.iter().zip(&mut results.rows) {
            let sample = run::cell(stage, cell, plan.length).await?;
            say(format!(
                "round {round} of {}: {} {:.0}/s, p99 {:.2} ms",
                plan.rounds, row.name, sample.per_second, sample.p99
            ));
            row.rounds.push(sample);
        }
    }
    Ok(results)
}
