//! What is measured: the cells, their names, and how long each runs.

use std::env;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::course::{Length, Pace};
use super::renewals::RENEWERS;

/// Each cell is run this often, all others in between: what the machine does meanwhile hits all alike.
const ROUNDS: usize = 3;

/// With this many seconds a cell, everything is done within some minutes.
const SECONDS: f64 = 2.0;

/// Connections, caches and lanes are warm after this share of the measured time.
const WARM_UP: f64 = 0.35;

/// Leases that are renewed, and sessions that do nothing: what a large fleet has.
const HELD: usize = 10_000;
const IDLE: usize = 10_000;

/// Actions a second in the open loop: one that every column keeps up with, and one near the end of what can be done by
/// hand.
pub const RATES: [u32; 2] = [2_000, 6_000];

/// Callers that reach for one key.
pub const PER_KEY: usize = 16;

/// Who does the work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Column {
    /// One transaction per step, without a service.
    Hand,
    /// Deed's statements set-based, so many actions a transaction, without a service.
    Limit { batch: usize },
    /// Deed by unary calls.
    Unary,
    /// Deed by sessions.
    Session,
    /// Deed by its client library.
    Perform,
    /// Redis with `appendfsync always`.
    Redis,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Work {
    /// Claim with begin, report completed.
    Actions,
    /// Claim what somebody else holds: each is refused.
    Refused,
    /// Prolong so many leases, over and over.
    Renewals { leases: usize },
    /// Nothing: sessions are open.
    Idle,
}

/// One cell of the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    pub column: Column,
    pub work: Work,
    /// Callers; connections for the limit, sessions for nothing.
    pub callers: usize,
    pub pace: Pace,
    /// Deed's servers on the one database.
    pub servers: usize,
}

impl Cell {
    pub fn new(column: Column, work: Work, callers: usize) -> Self {
        let pace = Pace::Closed;
        Self {
            column,
            work,
            callers,
            pace,
            servers: 1,
        }
    }

    fn at(self, rate: u32) -> Self {
        let pace = Pace::Open(rate);
        Self { pace, ..self }
    }

    /// As in `BENCH_ONLY` and in the files.
    pub fn name(&self) -> String {
        let column = match self.column {
            Column::Hand => "hand".to_owned(),
            Column::Limit { batch } => format!("limit-{batch}"),
            Column::Unary => "unary".to_owned(),
            Column::Session => "session".to_owned(),
            Column::Perform => "perform".to_owned(),
            Column::Redis => "redis".to_owned(),
        };
        let work = match self.work {
            Work::Actions => "",
            Work::Refused => "-refused",
            Work::Renewals { .. } => "-renewals",
            Work::Idle => "-idle",
        };
        let pace = match self.pace {
            Pace::Closed => String::new(),
            Pace::Open(rate) => format!("-at-{rate}"),
        };
        format!("{column}{work}/{}{pace}", self.callers)
    }
}

/// What is measured in one run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub rounds: usize,
    pub length: Length,
    pub cells: Vec<Cell>,
}

impl Plan {
    /// `BENCH_SECONDS`, `BENCH_ROUNDS` and `BENCH_ONLY` (parts of names, separated by commas) say otherwise.
    pub fn from_environment() -> anyhow::Result<Self> {
        let seconds = number("BENCH_SECONDS", SECONDS)?;
        ensure!(
            seconds >= 0.2,
            "BENCH_SECONDS={seconds} measures nothing; 0.2 is the least"
        );
        let rounds = number("BENCH_ROUNDS", ROUNDS as f64)?;
        let wanted = only();
        let mut cells = cells();
        cells.retain(|cell| wanted.is_empty() || wanted.iter().any(|part| cell.name().contains(part)));
        ensure!(!cells.is_empty(), "BENCH_ONLY={} names no row", wanted.join(","));
        Ok(Self {
            rounds: (rounds as usize).max(1),
            length: length(seconds),
            cells,
        })
    }
}

/// Parts of the names of the rows that are wanted; empty for all.
pub fn only() -> Vec<String> {
    let only = env::var("BENCH_ONLY").unwrap_or_default();
    only.split(',')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// With its warm-up.
pub fn length(seconds: f64) -> Length {
    Length {
        warm_up: Duration::from_secs_f64(seconds * WARM_UP),
        measured: Duration::from_secs_f64(seconds),
    }
}

/// A number in the environment.
pub fn number(name: &str, default: f64) -> anyhow::Result<f64> {
    match env::var(name) {
        Ok(text) if !text.is_empty() => text
            .parse()
            .with_context(|| format!("{name}={text} is no number")),
        Ok(_) | Err(_) => Ok(default),
    }
}

/// Everything that `make bench` measures.
pub fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |column, work, callers: &[usize]| {
        cells.extend(callers.iter().map(|callers| Cell::new(column, work, *callers)));
    };
    add(Column::Hand, Work::Actions, &[1, 16, 64]);
    add(Column::Limit { batch: 500 }, Work::Actions, &[1, 2, 4]);
    add(Column::Limit { batch: 1_000 }, Work::Actions, &[1, 2, 4]);
    add(Column::Redis, Work::Actions, &[64]);
    add(Column::Unary, Work::Actions, &[1, 16, 64, 256]);
    add(Column::Session, Work::Actions, &[1, 16, 64, 256, 1_024]);
    add(Column::Perform, Work::Actions, &[64]);
    add(Column::Hand, Work::Refused, &[64]);
    add(Column::Unary, Work::Refused, &[64]);
    add(Column::Session, Work::Refused, &[64, 256]);
    add(Column::Unary, Work::Renewals { leases: HELD }, &[RENEWERS]);
    add(Column::Session, Work::Idle, &[IDLE]);
    for rate in RATES {
        for column in [Column::Hand, Column::Unary, Column::Session] {
            cells.push(Cell::new(column, Work::Actions, 64).at(rate));
        }
    }
    cells
}
