//! `make bench-growth`: the same load on an empty database and on full ones, and by one server and by two.

use std::env;
use std::fmt::Write;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::plan::{Cell, Column, Plan, Work};
use super::results::{Row, machine};
use super::run;
use super::seed;
use super::stage::Stage;

/// Settled actions before the load.
const SIZES: [u64; 3] = [0, 1_000_000, 10_000_000];

const DATABASE: &str = "grown";

/// The load: where Deed is at its best, so that the tables are what it waits for.
const CALLERS: usize = 256;

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    pub machine: String,
    /// Settled actions before the load, and the load.
    pub sizes: Vec<(u64, Row)>,
    /// Servers on one database, and the load on an empty one.
    pub servers: Vec<(usize, Row)>,
}

impl Growth {
    /// Throughput at the largest size by that at the smallest.
    pub fn ratio(&self) -> Option<f64> {
        let median = |row: &Row| Some(row.spread(|sample| Some(sample.per_second))?.median);
        let (smallest, largest) = (self.sizes.first()?, self.sizes.last()?);
        (smallest.0 < largest.0).then_some(median(&largest.1)? / median(&smallest.1)?)
    }
}

/// `BENCH_SIZES` names other sizes, growing and separated by commas.
pub fn sizes() -> anyhow::Result<Vec<u64>> {
    let Some(text) = env::var("BENCH_SIZES").ok().filter(|text| !text.is_empty()) else {
        return Ok(SIZES.to_vec());
    };
    let sizes = text.split(',').map(|size| size.trim().parse());
    let sizes: Vec<u64> = sizes
        .collect::<Result<_, _>>()
        .with_context(|| format!("BENCH_SIZES={text} is no list of numbers"))?;
    ensure!(
        sizes.is_sorted() && !sizes.is_empty(),
        "BENCH_SIZES={text} does not grow"
    );
    Ok(sizes)
}

/// Measures at each size, and then with one server and with two.
pub async fn measure(plan: &Plan, sizes: &[u64], say: impl Fn(String)) -> anyhow::Result<Growth> {
    let stage = Stage::start().await?;
    let measured = on(&stage, plan, sizes, say).await;
    let stopped = stage.stop().await;
    let growth = measured?;
    stopped?;
    Ok(growth)
}

async fn on(stage: &Stage, plan: &Plan, sizes: &[u64], say: impl Fn(String)) -> anyhow::Result<Growth> {
    let mut growth = Growth {
        machine: machine(&stage.version().await?),
        ..Growth::default()
    };
    stage.database(DATABASE).await?;
    let cell = Cell::new(Column::Session, Work::Actions, CALLERS);
    let mut filled = 0;
    for &size in sizes {
        say(format!("filling to {size} actions"));
        seed::fill(&stage.url(DATABASE), size.saturating_sub(filled)).await?;
        let mut row = empty(&cell);
        for _ in 0..plan.rounds {
            stage.checkpoint().await?;
            row.rounds
                .push(run::on(stage, DATABASE, &cell, plan.length).await?);
        }
        filled = filled.max(size);
        say(format!("{size} actions: {}", rates(&row)));
        growth.sizes.push((size, row));
    }
    stage.drop_database(DATABASE).await?;
    let cells = [1, 2].map(|servers| Cell { servers, ..cell });
    let mut rows = cells.map(|cell| (cell, empty(&cell)));
    for _ in 0..plan.rounds {
        for (cell, row) in &mut rows {
            row.rounds.push(run::cell(stage, cell, plan.length).await?);
        }
    }
    for (cell, row) in rows {
        say(format!("{} server(s): {}", cell.servers, rates(&row)));
        growth.servers.push((cell.servers, row));
    }
    Ok(growth)
}

fn empty(cell: &Cell) -> Row {
    Row {
        name: cell.name(),
        rounds: Vec::new(),
    }
}

fn rates(row: &Row) -> String {
    row.spread(|sample| Some(sample.per_second))
        .map_or_else(String::new, |spread| {
            format!("{:.0} ({:.0}–{:.0})", spread.median, spread.least, spread.most)
        })
}

/// As tables.
pub fn markdown(growth: &Growth) -> anyhow::Result<String> {
    let head =
        "actions/s (least–most) | p99 ms | µs Postgres | WAL bytes |\n| ---: | ---: | ---: | ---: | ---: |";
    let mut text = format!("| settled actions before | {head}\n");
    for (size, row) in &growth.sizes {
        line(&mut text, &size.to_string(), row)?;
    }
    writeln!(text, "\n| servers on one database | {head}")?;
    for (servers, row) in &growth.servers {
        line(&mut text, &servers.to_string(), row)?;
    }
    Ok(text)
}

fn line(text: &mut String, first: &str, row: &Row) -> anyhow::Result<()> {
    let median = |spread: Option<super::results::Spread>| spread.map_or(0.0, |spread| spread.median);
    writeln!(
        text,
        "| {first} | {} | {:.2} | {:.1} | {:.0} |",
        rates(row),
        median(row.spread(|sample| Some(sample.p99))),
        median(row.spread(|sample| Some(sample.postgres))),
        median(row.spread(|sample| Some(sample.database?.wal_bytes))),
    )?;
    Ok(())
}
