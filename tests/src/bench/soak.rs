//! `make soak`: one server under a steady load for long. Latency, memory and tables minute by minute: what drifts?

use std::fmt::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::cast::{self, Cast};
use super::course::{self, Length, Pace};
use super::meter;
use super::plan::{Cell, Column, Work};
use super::results::machine;
use super::stage::Stage;
use crate::support::psql;

/// Long enough for some rounds of autovacuum.
pub const MINUTES: f64 = 10.0;

/// Actions a second: a busy day, not a machine at its end.
const RATE: u32 = 1_000;

const CALLERS: usize = 64;
const DATABASE: &str = "soaked";

/// Minute by minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Soak {
    pub machine: String,
    pub minutes: Vec<Minute>,
}

/// At the end of a minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Minute {
    pub per_second: f64,
    pub p50: f64,
    pub p99: f64,
    /// The server's resident memory, in megabytes.
    pub memory: f64,
    /// Megabytes of all tables, and of their indexes.
    pub tables: f64,
    pub indexes: f64,
    pub dead_rows: i64,
}

const SIZES: &str =
    "SELECT sum(pg_table_size(relid))::float8 / 1e6, sum(pg_indexes_size(relid))::float8 / 1e6,
           sum(n_dead_tup)::int8
      FROM pg_stat_user_tables";

/// Runs for so many minutes.
pub async fn run(minutes: f64, say: impl Fn(String)) -> anyhow::Result<Soak> {
    let stage = Stage::start().await?;
    let soaked = on(&stage, minutes, say).await;
    let stopped = stage.stop().await;
    let soak = soaked?;
    stopped?;
    Ok(soak)
}

async fn on(stage: &Stage, minutes: f64, say: impl Fn(String)) -> anyhow::Result<Soak> {
    stage.database(DATABASE).await?;
    let url = stage.url(DATABASE);
    let mut server = cast::serve(&url).await?;
    let address = server.url();
    let client = psql(&url).await?;
    let cell = Cell {
        pace: Pace::Open(RATE),
        ..Cell::new(Column::Session, Work::Actions, CALLERS)
    };
    let mut soak = Soak {
        machine: machine(&stage.version().await?),
        minutes: Vec::new(),
    };
    let mut total = 0;
    let mut left = Duration::from_secs_f64(minutes * 60.0);
    while !left.is_zero() {
        let length = Length {
            warm_up: Duration::ZERO,
            measured: left.min(Duration::from_secs(60)),
        };
        left -= length.measured;
        let Cast { callers, .. } = cast::by_deed(&[&address], &cell).await?;
        let (tally, took, _) = course::run(length, cell.pace, callers, async |_| Ok(()), || Ok(())).await?;
        total += tally.total;
        let percentile = |quantile| tally.latencies.value_at_quantile(quantile) as f64 / 1e3;
        let mut minute = Minute {
            per_second: tally.measured as f64 / took.as_secs_f64(),
            p50: percentile(0.5),
            p99: percentile(0.99),
            ..Minute::default()
        };
        if let Some(pid) = server.pid() {
            minute.memory = meter::memory(pid, "VmRSS")? as f64 / 1e6;
        }
        size(&client, &mut minute).await?;
        say(line(soak.minutes.len() + 1, &minute));
        soak.minutes.push(minute);
    }
    server.terminate()?;
    server.ended().await?;
    meter::settled(&client, total, 0).await?;
    Ok(soak)
}

async fn size(client: &Client, minute: &mut Minute) -> anyhow::Result<()> {
    let row = client.query_one(SIZES, &[]).await?;
    minute.tables = row.try_get(0)?;
    minute.indexes = row.try_get(1)?;
    minute.dead_rows = row.try_get(2)?;
    Ok(())
}

const HEAD: &str = "| minute | actions/s | p50 ms | p99 ms | server MB | tables MB | indexes MB | dead rows |\n\
                    | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

fn line(nth: usize, minute: &Minute) -> String {
    format!(
        "| {nth} | {:.0} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} | {} |",
        minute.per_second,
        minute.p50,
        minute.p99,
        minute.memory,
        minute.tables,
        minute.indexes,
        minute.dead_rows
    )
}

/// As a table.
pub fn markdown(soak: &Soak) -> anyhow::Result<String> {
    let mut text =
        format!("Open loop, {RATE} actions a second, {CALLERS} callers on one session.\n\n{HEAD}\n");
    for (nth, minute) in (1..).zip(&soak.minutes) {
        writeln!(text, "{}", line(nth, minute))?;
    }
    Ok(text)
}
