//! Panels of a plot as SVG: measured points with their intervals, several series beside each other. What is shown, and in
//! which colours, is its user's.

use anyhow::anyhow;
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, Cross, PathElement, Text};
use plotters::style::{IntoFont, RGBColor, ShapeStyle, WHITE};

/// The legend's height: one for all panels, so that it covers no point.
const HEAD: u32 = 34;

/// Where things stand in it, from above.
const MIDDLE: i32 = 17;

/// Told apart also by those who do not see red and green as two colours.
pub const ORANGE: RGBColor = RGBColor(213, 94, 0);
pub const BLUE: RGBColor = RGBColor(86, 160, 211);
pub const GREEN: RGBColor = RGBColor(0, 90, 60);
pub const PURPLE: RGBColor = RGBColor(170, 80, 150);

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// One measured point: where, how much, and its interval.
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub interval: Option<(f64, f64)>,
}

pub struct Panel {
    pub title: String,
    /// At whole numbers; series stand around them.
    pub ticks: Vec<String>,
    pub unit: &'static str,
    pub top: f64,
    pub series: Vec<(RGBColor, Vec<Point>)>,
    /// Single marks, from elsewhere.
    pub crosses: Vec<(RGBColor, f64, f64)>,
}

/// A plot of this size: `legend` draws its head, `body` the rest.
pub fn svg(
    size: (u32, u32),
    legend: impl FnOnce(&Area<'_>) -> anyhow::Result<()>,
    body: impl FnOnce(&Area<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
    root.fill(&WHITE).map_err(shown)?;
    let (above, below) = root.split_vertically(HEAD);
    legend(&above)?;
    body(&below)?;
    root.present().map_err(shown)?;
    drop((above, below, root));
    Ok(text)
}

/// A dot and what it stands for, so far from the left.
pub fn dot(legend: &Area<'_>, x: i32, colour: RGBColor, name: &str) -> anyhow::Result<()> {
    let circle = Circle::new((x, MIDDLE), 5, ShapeStyle::from(colour).filled());
    legend.draw(&circle).map_err(shown)?;
    words(legend, x, name)
}

/// A cross and what it stands for.
pub fn cross(legend: &Area<'_>, x: i32, colour: RGBColor, name: &str) -> anyhow::Result<()> {
    legend.draw(&Cross::new((x, MIDDLE), 5, colour)).map_err(shown)?;
    words(legend, x, name)
}

fn words(legend: &Area<'_>, x: i32, name: &str) -> anyhow::Result<()> {
    let font = ("sans-serif", 15).into_font();
    let name = Text::new(name.to_owned(), (x + 12, MIDDLE - 7), font);
    legend.draw(&name).map_err(shown)
}

pub fn panel(area: &Area<'_>, panel: &Panel) -> anyhow::Result<()> {
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
    for (colour, points) in &panel.series {
        let style = ShapeStyle::from(*colour).stroke_width(2);
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
        .crosses
        .iter()
        .map(|(colour, x, y)| Cross::new((*x, *y), 4, *colour));
    chart.draw_series(crosses).map_err(shown)?;
    Ok(())
}

/// The name at a whole number, nothing between.
fn tick(x: f64, names: &[String]) -> String {
    let here = (0_u32..)
        .zip(names)
        .find(|(at, _)| (f64::from(*at) - x).abs() < 0.01);
    here.map(|(_, name)| name.clone()).unwrap_or_default()
}

fn shown(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot draw the plot: {error}")
}
