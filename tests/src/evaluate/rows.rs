//! The page's tables, row by row.

use std::fmt::Write;
use std::time::Duration;

use super::interval::{Share, quantile};
use super::published;
use super::run::{Results, WORKERS_LEVEL};
use super::setting::{Arm, Cell, Keys, Lateness, Level, Trouble};
use super::tally::Tally;
use super::task::Task;

/// The four published faults, one worker.
pub fn faults(results: &Results, task: Task) -> anyhow::Result<String> {
    let mut table = String::from(
        "| faults | arm | duplicates | reported | success | undecided | mistaken | median time | added |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for &level in &results.scope.levels {
        for arm in Arm::ALL {
            let tally = results.tally(&faults_cell(task, level, arm))?;
            let reported = published::duplicates(task, level, arm);
            writeln!(
                table,
                "| {} | {} | {} | {} | {} | {} | {} | {} ms | {} |",
                level.name(),
                arm.name(),
                percent(tally.duplicated),
                reported.map_or_else(|| "–".to_owned(), |reported| format!("{reported} %")),
                percent(tally.succeeded),
                percent(tally.undecided),
                percent(tally.mistaken),
                quantile(&tally.took, 0.5).as_millis(),
                added(results, task, tally),
            )?;
        }
    }
    Ok(table)
}

/// Many workers on one task.
pub fn workers(results: &Results) -> anyhow::Result<String> {
    let mut table = String::from(
        "| workers | arm | task | duplicates | parts repeated per task | success | undecided | median time |\n\
         | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for &(workers, _) in &results.scope.workers {
        for task in Task::ALL {
            for arm in Arm::ALL {
                let tally = results.tally(&workers_cell(task, workers, arm))?;
                let row = format!("{workers} | {} | {}", arm.name(), task.name());
                writeln!(table, "| {row} | {} |", repeated(tally))?;
            }
        }
    }
    Ok(table)
}

/// Late commits, one worker.
pub fn late_commits(results: &Results) -> anyhow::Result<String> {
    let mut table = String::from(
        "| commit comes | keys | arm | task | duplicates | parts repeated per task | success | undecided | median time |\n\
         | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for &(keys, lateness) in &results.scope.late_commits {
        for task in Task::ALL {
            for arm in Arm::ALL {
                let tally = results.tally(&late_cell(task, keys, lateness, arm))?;
                let honoured = match keys {
                    Keys::Ignored => "ignored",
                    Keys::Honoured => "honoured",
                };
                let when = match lateness {
                    Lateness::InWindow => "within the settle window",
                    Lateness::BeyondWindow => "beyond it",
                };
                let row = format!("{when} | {honoured} | {} | {}", arm.name(), task.name());
                writeln!(table, "| {row} | {} |", repeated(tally))?;
            }
        }
    }
    Ok(table)
}

fn repeated(tally: &Tally) -> String {
    format!(
        "{} | {:.2} | {} | {} | {} ms",
        percent(tally.duplicated),
        repeated_per_task(tally),
        percent(tally.succeeded),
        percent(tally.undecided),
        quantile(&tally.took, 0.5).as_millis(),
    )
}

fn repeated_per_task(tally: &Tally) -> f64 {
    let parts = u32::try_from(tally.repeated_parts).unwrap_or(u32::MAX);
    f64::from(parts) / f64::from(tally.duplicated.of.max(1))
}

/// A share with its interval, in percent.
pub fn percent(share: Share) -> String {
    let (low, high) = share.interval();
    let [value, low, high] = [share.value(), low, high].map(|part| part * 100.0);
    if share.of > 200 {
        format!("{value:.1} % ({low:.1}–{high:.1})")
    } else {
        format!("{value:.0} % ({low:.0}–{high:.0})")
    }
}

/// The median beyond what a blind agent needs where nothing goes wrong.
fn added(results: &Results, task: Task, tally: &Tally) -> String {
    added_ms(results, task, tally).map_or_else(|| "–".to_owned(), |ms| format!("{ms:+.0} ms"))
}

/// None where the calm level was not run.
pub fn added_ms(results: &Results, task: Task, tally: &Tally) -> Option<f64> {
    let calm = results.tally(&faults_cell(task, Level::Calm, Arm::Blind)).ok()?;
    let ms = |length: Duration| length.as_secs_f64() * 1_000.0;
    Some(ms(quantile(&tally.took, 0.5)) - ms(quantile(&calm.took, 0.5)))
}

pub fn faults_cell(task: Task, level: Level, arm: Arm) -> Cell {
    Cell {
        trouble: Trouble::Faults(level),
        task,
        arm,
        workers: 1,
    }
}

pub fn workers_cell(task: Task, workers: usize, arm: Arm) -> Cell {
    Cell {
        workers,
        ..faults_cell(task, WORKERS_LEVEL, arm)
    }
}

fn late_cell(task: Task, keys: Keys, lateness: Lateness, arm: Arm) -> Cell {
    Cell {
        trouble: Trouble::LateCommits(keys, lateness),
        task,
        arm,
        workers: 1,
    }
}
