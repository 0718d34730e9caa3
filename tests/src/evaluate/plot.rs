//! The plot: one panel for each measure and task, levels from left to right, with 95 % intervals.

use anyhow::anyhow;
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, Cross, PathElement, Text};
use plotters::style::{BLACK, IntoFont, RGBColor, ShapeStyle, WHITE};

use super::interval::Share;
use super::published;
use super::rows::{added_ms, faults_cell, workers_cell};
use super::run::Results;
use super::setting::{Arm, Level};
use super::tally::Tally;
use super::task::Task;

const SIZE: (u32, u32) = (1_000, 1_500);

/// The legend's height: one for all panels, so that it covers no point.
const HEAD: u32 = 34;

/// Arms stand beside each other, this far apart.
const APART: f64 = 0.18;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// One measured point: where, how much, and its interval.
struct Point {
    x: f64,
    y: f64,
    interval: Option<(f64, f64)>,
}

struct Panel {
    title: String,
    ticks: Vec<String>,
    unit: &'static str,
    top: f64,
    arms: Vec<(Arm, Vec<Point>)>,
    reported: Vec<(Arm, f64, f64)>,
}

/// The plot as SVG.
pub fn svg(results: &Results) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(results, &mut text).map_err(|error| anyhow!("cannot draw the plot: {error}"))?;
    Ok(text)
}

fn draw(results: &Results, text: &mut String) -> anyhow::Result<()> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(shown)?;
    let (head, body) = root.split_vertically(HEAD);
    legend(&head)?;
    let rows = body.split_evenly((5, Task::ALL.len()));
    let mut areas = rows.iter();
    for measure in [
        Measure::Duplicates,
        Measure::Success,
        Measure::Undecided,
        Measure::Added,
    ] {
        for (task, area) in Task::ALL.into_iter().zip(&mut areas) {
            panel(area, &by_level(results, task, measure)?)?;
        }
    }
    for (task, area) in Task::ALL.into_iter().zip(&mut areas) {
        panel(area, &by_workers(results, task)?)?;
    }
    root.present().map_err(shown)
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
                reported.push((arm, x + APART / 3.0, f64::from(percent)));
            }
        }
        arms.push((arm, points));
    }
    Ok(Panel {
        title: format!("{}: {}", task.name(), measure.name()),
        ticks: levels.iter().map(|level| level.name().to_owned()).collect(),
        unit: if measure == Measure::Added { "ms" } else { "%" },
        top,
        arms,
        reported,
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
        arms.push((arm, points));
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
        arms,
        reported: Vec::new(),
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

fn panel(area: &Area<'_>, panel: &Panel) -> anyhow::Result<()> {
    let ticks = u32::try_from(panel.ticks.len())?;
    let bottom = -0.02 * panel.top;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .caption(&panel.title, ("sans-serif", 16).into_font())
        .x_label_area_size(26)
        .y_label_area_size(56)
        .build_cartesian_2d(-0.5..f64::from(ticks) - 0.5, bottom..panel.top * 1.04)
        .map_err(shown)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(panel.ticks.len() * 2 + 1)
        .x_label_formatter(&|x| tick(*x, &panel.ticks))
        .y_label_formatter(&|y| format!("{y:.0} {}", panel.unit))
        .draw()
        .map_err(shown)?;
    for (arm, points) in &panel.arms {
        let style = ShapeStyle::from(colour(*arm)).stroke_width(2);
        let bars = points.iter().filter_map(|point| {
            let (low, high) = point.interval?;
            Some(PathElement::new(vec![(point.x, low), (point.x, high)], style))
        });
        chart.draw_series(bars).map_err(shown)?;
        let circles = points
            .iter()
            .map(|point| Circle::new((point.x, point.y), 4, style.filled()));
        chart.draw_series(circles).map_err(shown)?;
    }
    let crosses = panel
        .reported
        .iter()
        .map(|(arm, x, y)| Cross::new((*x, *y), 4, colour(*arm)));
    chart.draw_series(crosses).map_err(shown)?;
    Ok(())
}

fn legend(area: &Area<'_>) -> anyhow::Result<()> {
    let font = ("sans-serif", 15).into_font();
    let middle = 17;
    for (x, arm) in [(60, Arm::Blind), (210, Arm::Verify), (400, Arm::Deed)] {
        let circle = Circle::new((x, middle), 5, ShapeStyle::from(colour(arm)).filled());
        area.draw(&circle).map_err(shown)?;
        let name = Text::new(arm.name(), (x + 12, middle - 7), font.clone());
        area.draw(&name).map_err(shown)?;
    }
    let cross = Cross::new((500, middle), 5, BLACK);
    area.draw(&cross).map_err(shown)?;
    let name = Text::new("as reported by the paper", (512, middle - 7), font);
    area.draw(&name).map_err(shown)
}

/// The name at a whole number, nothing between.
fn tick(x: f64, names: &[String]) -> String {
    let here = (0_u32..)
        .zip(names)
        .find(|(at, _)| (f64::from(*at) - x).abs() < 0.01);
    here.map(|(_, name)| name.clone()).unwrap_or_default()
}

/// Told apart also by those who do not see red and green as two colours.
fn colour(arm: Arm) -> RGBColor {
    match arm {
        Arm::Blind => RGBColor(213, 94, 0),
        Arm::Verify => RGBColor(86, 160, 211),
        Arm::Deed => RGBColor(0, 90, 60),
    }
}

fn shown(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}
