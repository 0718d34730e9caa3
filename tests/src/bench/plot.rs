//! The plot: throughput and latency by callers, a series for each column.

use plotters::style::RGBColor;

use super::results::{Results, Sample};
use crate::support::chart::{self, Area, BLUE, GREEN, ORANGE, PURPLE, Panel, Point};

const SIZE: (u32, u32) = (1_000, 720);

/// Columns stand beside each other, this far apart.
const APART: f64 = 0.12;

const CALLERS: [&str; 5] = ["1", "16", "64", "256", "1024"];

/// Name of the rows, its place in the legend, its colour.
const COLUMNS: [(&str, i32, RGBColor); 4] = [
    ("hand", 60, ORANGE),
    ("unary", 160, BLUE),
    ("session", 260, GREEN),
    ("redis", 370, PURPLE),
];

type Figure = fn(&Sample) -> f64;

/// The plot as SVG.
pub fn svg(results: &Results) -> anyhow::Result<String> {
    chart::svg(SIZE, legend, |body| {
        let panels: [(&str, &str, Figure); 4] = [
            ("actions a second, by callers", "", |sample| sample.per_second),
            ("p50, by callers", "ms", |sample| sample.p50),
            ("p99, by callers", "ms", |sample| sample.p99),
            (
                "processor time of everybody for one action, by callers",
                "µs",
                |sample| sample.client + sample.server + sample.postgres,
            ),
        ];
        for (area, (title, unit, figure)) in body.split_evenly((2, 2)).iter().zip(panels) {
            chart::panel(area, &by_callers(results, title, unit, figure))?;
        }
        Ok(())
    })
}

fn legend(area: &Area<'_>) -> anyhow::Result<()> {
    for (name, x, colour) in COLUMNS {
        chart::dot(area, x, colour, name)?;
    }
    Ok(())
}

fn by_callers(results: &Results, title: &str, unit: &'static str, figure: Figure) -> Panel {
    let mut top: f64 = 0.0;
    let mut series = Vec::new();
    for (nth, (column, _, colour)) in (0_u32..).zip(COLUMNS) {
        let mut points = Vec::new();
        for (at, callers) in (0_u32..).zip(CALLERS) {
            let row = results.row(&format!("{column}/{callers}"));
            if let Some(spread) = row.and_then(|row| row.spread(|sample| Some(figure(sample)))) {
                top = top.max(spread.most);
                points.push(Point {
                    x: f64::from(at) + (f64::from(nth) - 1.5) * APART,
                    y: spread.median,
                    interval: Some((spread.least, spread.most)),
                });
            }
        }
        series.push((colour, points));
    }
    Panel {
        title: title.to_owned(),
        ticks: CALLERS.map(str::to_owned).to_vec(),
        unit,
        top: if top > 0.0 { top } else { 1.0 },
        series,
        crosses: Vec::new(),
    }
}
