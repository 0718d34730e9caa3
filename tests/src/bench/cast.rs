//! Who takes part in a cell: its callers, ready to run, and whoever serves them.

use std::sync::Arc;

use anyhow::ensure;
use deed_client::Deed;
use deed_server::store::{Database, migrate};
use futures::future::try_join_all;
use tonic::transport::{Channel, Endpoint};

use super::course::{Caller, Course, Running, running};
use super::hand::{self, Hand};
use super::limit::Limit;
use super::performing::Performing;
use super::plan::{Cell, Column, PER_KEY, Work};
use super::redis::Redis;
use super::renewals::{BATCH, Renewer};
use super::stream::Callers;
use super::unary::{self, Unary};
use super::work;
use crate::support::psql;
use crate::support::server::{Options, Server};

/// Callers that share a connection, and a session: a process of a fleet has about so many actions at a time.
const PER_CONNECTION: usize = 64;

/// Starts every caller on a course.
pub type Start = Box<dyn FnOnce(&Arc<Course>) -> Vec<Running> + Send>;

/// See the module.
pub struct Cast {
    pub servers: Vec<Server>,
    pub redis: Option<Redis>,
    pub callers: Start,
    /// Actions that the preparation claimed and nobody reports.
    pub prepared: u64,
}

impl Cast {
    pub async fn of(url: &str, cell: &Cell) -> anyhow::Result<Self> {
        match cell.column {
            Column::Hand => by_hand(url, cell).await,
            Column::Limit { batch } => at_the_limit(url, cell, batch).await,
            Column::Redis => in_redis(cell).await,
            Column::Unary | Column::Session | Column::Perform => {
                let mut servers = Vec::new();
                for _ in 0..cell.servers {
                    servers.push(serve(url).await?);
                }
                let urls: Vec<String> = servers.iter().map(Server::url).collect();
                let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
                let cast = by_deed(&urls, cell).await?;
                Ok(Self { servers, ..cast })
            }
        }
    }

    fn alone(callers: Start) -> Self {
        Self {
            servers: Vec::new(),
            redis: None,
            callers,
            prepared: 0,
        }
    }
}

/// A server as people run it, but for the log: one line for each call would be measured, too.
pub async fn serve(url: &str) -> anyhow::Result<Server> {
    Server::start_with(url, Options::default().with(&["--log", "warn"])).await
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
        prepared: keys.len() as u64,
        ..Cast::alone(together(try_join_all(callers).await?))
    })
}

async fn at_the_limit(url: &str, cell: &Cell, batch: usize) -> anyhow::Result<Cast> {
    migrate(&Database::parse(url)?).await?;
    let callers = (0..cell.callers).map(|number| Limit::connect(url, number, batch));
    Ok(Cast::alone(together(callers.collect::<anyhow::Result<_>>()?)))
}

async fn in_redis(cell: &Cell) -> anyhow::Result<Cast> {
    let redis = Redis::start().await?;
    let callers = together(redis.callers(cell.callers).await?);
    Ok(Cast {
        redis: Some(redis),
        ..Cast::alone(callers)
    })
}

/// Callers of servers that run; connections go round them.
pub async fn by_deed(urls: &[&str], cell: &Cell) -> anyhow::Result<Cast> {
    let channels = channels(urls, cell.callers.div_ceil(PER_CONNECTION)).await?;
    let keys = held_keys(cell);
    let mut holder = Unary::new(channels[0].clone(), cell.callers, None);
    for key in &keys {
        unary::token(holder.claim(key).await?)?;
    }
    let channel = |number: usize| channels[number / PER_CONNECTION].clone();
    let numbers = 0..cell.callers;
    let mut prepared = keys.len() as u64;
    let callers = match (cell.column, cell.work) {
        (_, Work::Renewals { leases }) => {
            prepared += leases as u64;
            let each = leases / cell.callers;
            let renewers = numbers.map(|number| Renewer::claim(channel(0), number, each, BATCH));
            together(try_join_all(renewers).await?)
        }
        (Column::Perform, _) => {
            let deeds = urls.iter().map(|url| Deed::connect(url));
            let deeds = deeds.collect::<Result<Vec<_>, _>>()?;
            let performing = |number: usize| Performing::new(deeds[number % deeds.len()].clone());
            together(numbers.map(performing).collect())
        }
        (Column::Session, _) => {
            let held = |number: usize| held(&keys, number);
            let sessions: Vec<_> = (0..channels.len())
                .map(|nth| {
                    let first = nth * PER_CONNECTION;
                    let last = (first + PER_CONNECTION).min(cell.callers);
                    Callers::new(channels[nth].clone(), first, (first..last).map(held).collect())
                })
                .collect();
            Box::new(move |course: &Arc<Course>| {
                sessions
                    .into_iter()
                    .map(|session| session.running(course))
                    .collect()
            })
        }
        _ => together(
            numbers
                .map(|number| Unary::new(channel(number), number, held(&keys, number)))
                .collect(),
        ),
    };
    Ok(Cast {
        prepared,
        ..Cast::alone(callers)
    })
}

async fn channels(urls: &[&str], count: usize) -> anyhow::Result<Vec<Channel>> {
    let connect = |url: &&str| {
        let endpoint = Endpoint::from_shared((*url).to_owned());
        async move { anyhow::Ok(endpoint?.tcp_nodelay(true).connect().await?) }
    };
    try_join_all(urls.iter().cycle().take(count.max(urls.len())).map(connect)).await
}

/// One task for each caller.
fn together<C: Caller>(callers: Vec<C>) -> Start {
    Box::new(move |course| {
        callers
            .into_iter()
            .map(|caller| running(course, caller))
            .collect()
    })
}

fn held_keys(cell: &Cell) -> Vec<String> {
    let keys = match cell.work {
        Work::Refused => cell.callers.div_ceil(PER_KEY),
        Work::Actions | Work::Renewals { .. } | Work::Idle => 0,
    };
    (0..keys).map(|_| work::fresh_id()).collect()
}

fn held(keys: &[String], number: usize) -> Option<String> {
    keys.get(number / PER_KEY).cloned()
}
