//! Runs one cell: makes its database, starts who serves it, drives the load, asks the database what it knows, and says what
//! it cost.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use deed_server::store::{Database, migrate};
use futures::future::try_join_all;
use tonic::transport::{Channel, Endpoint};

use super::course::{self, Course, Length, Running, running};
use super::hand::{self, Hand};
use super::limit::Limit;
use super::meter::{self, Processes, Written};
use super::plan::{Cell, Column, PER_KEY, Work};
use super::stage::Stage;
use super::unary::Unary;
use super::work;
use crate::support::psql;
use crate::support::server::{Options, Server};

/// Callers that share a connection: one process of a fleet has about so many leases.
const PER_CHANNEL: usize = 64;

/// One run of a cell.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Sample {
    /// Units a second: actions, or refused claims.
    pub per_second: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// Processor microseconds per unit.
    pub client: f64,
    pub server: f64,
    pub postgres: f64,
    /// Per unit.
    pub wal_bytes: f64,
    pub transactions: f64,
    pub syncs: f64,
    /// The server's peak, in megabytes.
    pub server_memory: Option<f64>,
}

/// The callers of a cell, ready to run, and who serves them.
struct Cast {
    server: Option<Server>,
    callers: Box<dyn FnOnce(&Arc<Course>) -> Vec<Running> + Send>,
    /// Of the actions that were confirmed, and of all rows of history.
    count: &'static str,
    /// Actions and rows of history that the preparation made.
    prepared: u64,
}

const COUNT: &str =
    "SELECT (SELECT count(*) FROM actions WHERE state = 'CONFIRMED'), (SELECT count(*) FROM events)";

pub async fn cell(stage: &Stage, cell: &Cell, length: Length) -> anyhow::Result<Sample> {
    const NAME: &str = "bench";
    stage.database(NAME).await?;
    let sample = on(stage, NAME, cell, length).await;
    let dropped = stage.drop_database(NAME).await;
    let sample = sample.with_context(|| format!("the cell {}", cell.name()))?;
    dropped?;
    Ok(sample)
}

async fn on(stage: &Stage, name: &str, cell: &Cell, length: Length) -> anyhow::Result<Sample> {
    let url = stage.url(name);
    let Cast {
        mut server,
        callers,
        count,
        prepared,
    } = cast(&url, cell).await?;
    let processes = Processes {
        servers: server.iter().filter_map(Server::pid).collect(),
        postmaster: stage.postmaster(),
    };
    let before = Written::read(&stage.admin, name).await?;
    let look = || processes.processor();
    let (tally, took, [started, ended]) = course::run(length, cell.pace, callers, look).await?;
    let memory = match processes.servers.first() {
        Some(pid) => Some(meter::memory(*pid, "VmHWM")? as f64 / 1e6),
        None => None,
    };
    if let Some(server) = &mut server {
        server.terminate()?;
        let status = server.ended().await?;
        ensure!(
            status.success(),
            "the server ended with {status}: {}",
            server.said()
        );
    }
    meter::left(&stage.admin, name).await?;
    let written = Written::read(&stage.admin, name).await?.since(before);

    let client = psql(&url).await?;
    match cell.work {
        Work::Actions => meter::settled(&client, count, tally.total).await?,
        Work::Refused => meter::untouched(&client, prepared).await?,
    }
    ensure!(tally.measured > 0, "nothing was done within the measured time");
    let processor = ended.since(started);
    let each = |cost: Duration| cost.as_secs_f64() * 1e6 / tally.measured as f64;
    let of_all = |count: i64| count as f64 / tally.total as f64;
    let percentile = |quantile| tally.latencies.value_at_quantile(quantile) as f64 / 1e3;
    Ok(Sample {
        per_second: tally.measured as f64 / took.as_secs_f64(),
        p50: percentile(0.5),
        p99: percentile(0.99),
        p999: percentile(0.999),
        client: each(processor.client),
        server: each(processor.server),
        postgres: each(processor.postgres),
        wal_bytes: of_all(written.wal_bytes),
        transactions: of_all(written.transactions),
        syncs: of_all(written.syncs),
        server_memory: memory,
    })
}

async fn cast(url: &str, cell: &Cell) -> anyhow::Result<Cast> {
    match cell.column {
        Column::Hand => by_hand(url, cell).await,
        Column::Limit { batch } => {
            migrate(&Database::parse(url)?).await?;
            let callers = (0..cell.callers).map(|number| Limit::connect(url, number, batch));
            let callers = callers.collect::<anyhow::Result<Vec<_>>>()?;
            Ok(Cast {
                server: None,
                callers: together(callers),
                count: COUNT,
                prepared: 0,
            })
        }
        Column::Unary => by_unary_calls(url, cell).await,
    }
}

async fn by_hand(url: &str, cell: &Cell) -> anyhow::Result<Cast> {
    psql(url).await?.batch_execute(hand::SCHEMA).await?;
    let keys = held_keys(cell);
    let holder = Hand::connect(url, cell.callers, None).await?;
    for key in &keys {
        ensure!(holder.claim(key).await?.is_some(), "the holder got nothing");
    }
    let callers = (0..cell.callers).map(|number| Hand::connect(url, number, held(&keys, number)));
    Ok(Cast {
        server: None,
        callers: together(try_join_all(callers).await?),
        count: COUNT,
        prepared: keys.len() as u64,
    })
}

async fn by_unary_calls(url: &str, cell: &Cell) -> anyhow::Result<Cast> {
    let server = Server::start_with(url, Options::default().with(&["--log", "warn"])).await?;
    let channels = channels(&server.url(), cell.callers.div_ceil(PER_CHANNEL)).await?;
    let keys = held_keys(cell);
    let mut holder = Unary::new(channels[0].clone(), cell.callers, None);
    for key in &keys {
        super::unary::token(holder.claim(key).await?)?;
    }
    let caller = |number: usize| {
        let channel = channels[number / PER_CHANNEL].clone();
        Unary::new(channel, number, held(&keys, number))
    };
    Ok(Cast {
        callers: together((0..cell.callers).map(caller).collect()),
        server: Some(server),
        count: COUNT,
        prepared: keys.len() as u64,
    })
}

async fn channels(url: &str, count: usize) -> anyhow::Result<Vec<Channel>> {
    let endpoint = Endpoint::from_shared(url.to_owned())?.tcp_nodelay(true);
    Ok(try_join_all((0..count).map(|_| endpoint.connect())).await?)
}

/// One task for each caller.
fn together<C: course::Caller>(callers: Vec<C>) -> Box<dyn FnOnce(&Arc<Course>) -> Vec<Running> + Send> {
    Box::new(move |course| {
        callers
            .into_iter()
            .map(|caller| running(course, caller))
            .collect()
    })
}

fn held_keys(cell: &Cell) -> Vec<String> {
    match cell.work {
        Work::Actions => Vec::new(),
        Work::Refused => (0..cell.callers.div_ceil(PER_KEY))
            .map(|_| work::fresh_id())
            .collect(),
    }
}

fn held(keys: &[String], number: usize) -> Option<String> {
    keys.get(number / PER_KEY).cloned()
}
