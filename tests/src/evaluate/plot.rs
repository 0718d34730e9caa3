//! The plot: one panel for each measure and task, levels from left to right, with 95 % intervals.

use plotters::style::{BLACK, RGBColor};

use super::interval::Share;
use super::published;
use super::rows::{added_ms, faults_cell, workers_cell};
use super::run::Results;
use super::setting::{Arm, Level};
use super::tally::Tally;
use super::task::Task;
use crate::support::chart::{self, Area, BLUE, GREEN, ORANGE, Panel, Point};

const SIZE: (u32, u32) = (1_000, 1_500);

/// Arms stand beside each other, this far apart.
const APART: f64 = 0.18;

/// The plot as SVG.
pub fn svg(results: &Results) -> anyhow::Result<String> {
    chart::svg(SIZE, legend, |body| draw(results, body))
}

fn draw(results: &Results, body: &Area<'_>) -> anyhow::Result<()> {
    let rows = body.split_evenly((5, Task::ALL.len()));
    let mut areas = rows.iter();
    for measure in [
        Measure::Duplicates,
        Measure::Success,
        Measure::Undecided,
        Measure::Added,
    ] {
        for (task, area) in Task::ALL.into_iter().zip(&mut areas) {
            chart::panel(area, &by_level(results, task, measure)?)?;
        }
    }
    for (task, area) in Task::ALL.into_iter().zip(&mut areas) {
        chart::panel(area, &by_workers(results, task)?)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Duplicates,
    Success,
    Undecided,
    Added,
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Duplicates => "duplicates",
            Self::Success => "task success",
            Self::Undecided => "left undecided",
            Self::Added => "added latency, median",
        }
    }
}

fn by_level(results: &Results, task: Task, measure: Measure) -> anyhow::Result<Panel> {
    let mut arms = Vec::new();
    let mut reported = Vec::new();
    let mut top: f64 = 100.0;
    if measure == Measure::Added {
        top = 1.0;
    }
    let levels = results.scope.levels.iter().filter(|level| **level != Level::Calm);
    let levels: Vec<Level> = levels.copied().collect();
    for arm in Arm::ALL {
        let mut points = Vec::new();
        for (x, &level) in (0_u32..).zip(&levels) {
            let x = place(x, arm);
            let tally = results.tally(&faults_cell(task, level, arm))?;
            let point = match measure {
                Measure::Duplicates => share(x, tally.duplicated),
                Measure::Success => share(x, tally.succeeded),
                Measure::Undecided => share(x, tally.undecided),
                Measure::Added => added(results, task, x, tally),
            };
            top = top.max(point.y * 1.1);
            points.push(point);
            if measure == Measure::Duplicates
                && let Some(percent) = published::duplicates(task, level, arm)
            {
                reported.push((colour(arm), x + APART / 3.0, f64::from(percent)));
            }
        }
        arms.push((colour(arm), points));
    }
    Ok(Panel {
        title: format!("{}: {}", task.name(), measure.name()),
        ticks: levels.iter().map(|level| level.name().to_owned()).collect(),
        unit: if measure == Measure::Added { "ms" } else { "%" },
        top,
        series: arms,
        crosses: reported,
    })
}

fn by_workers(results: &Results, task: Task) -> anyhow::Result<Panel> {
    let mut arms = Vec::new();
    for arm in Arm::ALL {
        let mut points = Vec::new();
        for (x, &(workers, _)) in (0_u32..).zip(&results.scope.workers) {
            let tally = results.tally(&workers_cell(task, workers, arm))?;
            points.push(share(place(x, arm), tally.duplicated));
        }
        arms.push((colour(arm), points));
    }
    Ok(Panel {
        title: format!("{}: duplicates by workers", task.name()),
        ticks: results
            .scope
            .workers
            .iter()
            .map(|(workers, _)| workers.to_string())
            .collect(),
        unit: "%",
        top: 100.0,
        series: arms,
        crosses: Vec::new(),
    })
}

/// Ticks are at whole numbers; the arms stand around them.
fn place(tick: u32, arm: Arm) -> f64 {
    let side = match arm {
        Arm::Blind => -APART,
        Arm::Verify => 0.0,
        Arm::Deed => APART,
    };
    f64::from(tick) + side
}

fn share(x: f64, share: Share) -> Point {
    let (low, high) = share.interval();
    Point {
        x,
        y: share.value() * 100.0,
        interval: Some((low * 100.0, high * 100.0)),
    }
}

fn added(results: &Results, task: Task, x: f64, tally: &Tally) -> Point {
    Point {
        x,
        y: added_ms(results, task, tally).unwrap_or_default(),
        interval: None,
    }
}

fn legend(area: &Area<'_>) -> anyhow::Result<()> {
    for (x, arm) in [(60, Arm::Blind), (210, Arm::Verify), (400, Arm::Deed)] {
        chart::dot(area, x, colour(arm), arm.name())?;
    }
    chart::cross(area, 500, BLACK, "as reported by the paper")
}

fn colour(arm: Arm) -> RGBColor {
    match arm {
        Arm::Blind => ORANGE,
        Arm::Verify => BLUE,
        Arm::Deed => GREEN,
    }
}
