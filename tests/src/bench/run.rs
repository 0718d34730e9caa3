//! Runs one cell: makes its database, drives the load, asks the database what it knows, and says what it cost.

use std::time::Duration;

use anyhow::{Context, ensure};

use super::cast::{self, Cast};
use super::course::{self, Length, Tally};
use super::idle;
use super::meter::{self, Processes, Processor, Written};
use super::plan::{Cell, Column, Work};
use super::results::{DatabaseCost, Sample};
use super::stage::Stage;
use crate::support::psql;
use crate::support::server::Server;

/// The one database of a cell.
const NAME: &str = "bench";

pub async fn cell(stage: &Stage, cell: &Cell, length: Length) -> anyhow::Result<Sample> {
    stage.database(NAME).await?;
    let sample = match cell.work {
        Work::Idle => sleeping(stage, cell.callers).await,
        Work::Actions | Work::Refused | Work::Renewals { .. } => on(stage, NAME, cell, length).await,
    };
    let dropped = stage.drop_database(NAME).await;
    let sample = sample.with_context(|| format!("the cell {}", cell.name()))?;
    dropped?;
    Ok(sample)
}

/// On a database that is there, and may have actions in it.
pub async fn on(stage: &Stage, name: &str, cell: &Cell, length: Length) -> anyhow::Result<Sample> {
    let url = stage.url(name);
    stage.counter.start(&stage.admin).await?;
    let cast = Cast::of(&url, cell).await?;
    let Cast {
        servers,
        redis,
        callers,
        prepared,
    } = cast;
    let pids = servers.iter().filter_map(Server::pid);
    let processes = Processes {
        servers: pids
            .chain(redis.iter().filter_map(super::redis::Redis::pid))
            .collect(),
        postmaster: stage.postmaster(),
    };
    let client = psql(&url).await?;
    let already = match redis {
        None => meter::confirmed(&client).await?,
        Some(_) => 0,
    };
    drop(client);
    let before = Written::read(&stage.admin, name).await?;
    let uncounted = stage.counter.read(&stage.admin, name).await?;
    let mut statements = None;
    let warm = async |done: u64| {
        let counted = stage.counter.read(&stage.admin, name).await?;
        statements = counted
            .zip(uncounted)
            .map(|(now, before)| (now - before) as f64 / done.max(1) as f64);
        stage.counter.stop(&stage.admin).await
    };
    let look = || processes.processor();
    let (tally, took, [started, ended]) = course::run(length, cell.pace, callers, warm, look).await?;
    let memory = processes.servers.first().map(|pid| meter::memory(*pid, "VmHWM"));
    let memory = memory.transpose()?.map(|bytes| bytes as f64 / 1e6);
    stop(servers).await?;
    ensure!(tally.measured > 0, "nothing was done within the measured time");

    let mut sample = sample(&tally, took, ended.since(started));
    sample.server_memory = memory;
    if let Some(redis) = redis {
        redis.settled(tally.total).await?;
        return Ok(sample);
    }
    meter::left(&stage.admin, name).await?;
    let written = Written::read(&stage.admin, name).await?.since(before);
    let of_all = |count: i64| count as f64 / tally.total as f64;
    sample.database = Some(DatabaseCost {
        wal_bytes: of_all(written.wal_bytes),
        transactions: of_all(written.transactions),
        syncs: of_all(written.syncs),
        statements,
    });
    let client = psql(&url).await?;
    match cell.work {
        Work::Actions => meter::settled(&client, tally.total, already).await?,
        Work::Refused | Work::Renewals { .. } | Work::Idle => meter::untouched(&client, prepared).await?,
    }
    Ok(sample)
}

fn sample(tally: &Tally, took: Duration, processor: Processor) -> Sample {
    let each = |cost: Duration| cost.as_secs_f64() * 1e6 / tally.measured as f64;
    let percentile = |quantile| tally.latencies.value_at_quantile(quantile) as f64 / 1e3;
    Sample {
        per_second: tally.measured as f64 / took.as_secs_f64(),
        p50: percentile(0.5),
        p99: percentile(0.99),
        p999: percentile(0.999),
        client: each(processor.client),
        server: each(processor.server),
        postgres: each(processor.postgres),
        database: None,
        server_memory: None,
    }
}

/// What a server takes for sessions that do nothing.
async fn sleeping(stage: &Stage, sessions: usize) -> anyhow::Result<Sample> {
    idle::make_room(sessions)?;
    let server = cast::serve(&stage.url(NAME)).await?;
    let open = idle::open(&server.url(), sessions).await?;
    let pid = server.pid().context("the server is gone")?;
    let memory = meter::memory(pid, "VmHWM")?;
    ensure!(
        open.len() == sessions,
        "{} of {sessions} sessions are open",
        open.len()
    );
    drop(open);
    stop(vec![server]).await?;
    Ok(Sample {
        server_memory: Some(memory as f64 / 1e6),
        ..Sample::default()
    })
}

async fn stop(servers: Vec<Server>) -> anyhow::Result<()> {
    for mut server in servers {
        server.terminate()?;
        let status = server.ended().await?;
        ensure!(
            status.success(),
            "the server ended with {status}: {}",
            server.said()
        );
    }
    Ok(())
}

/// Whether the machine can run it; else why not.
pub fn possible(cell: &Cell) -> Result<(), &'static str> {
    match cell.column {
        Column::Redis if super::redis::installed().is_none() => Err("redis-server is not installed"),
        _ => Ok(()),
    }
}
