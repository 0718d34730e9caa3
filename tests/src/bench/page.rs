//! The page: everything that is kept, as tables, with what people have written about it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::kept::{FILE, Kept};
use super::{goals, growth, plot, soak, table, xmin};

/// The page and, beside it, its plot.
pub const PAGE: &str = "performance.md";
pub const PLOT: &str = "performance.svg";

/// Where the time goes, and what was tried and did not help: written by hand, and taken over as it is.
pub const NOTES: &str = "performance-notes.md";

const HOW: &str = "\
An **action** here is *claim with begin* and *report completed*: durable before each answer, two rows of history, no external \
id, no result. Everything runs on one machine, over the loopback, and shares its processors: the load generator, the server and \
Postgres (`fsync` and `synchronous_commit` on, `shared_buffers` 512 MB, the same for all rows). Every cell runs on an empty \
database just after a checkpoint, so that page images hit all alike, and is followed by a count in the database: an action that \
the database does not know as confirmed, with two rows of history, fails the run. Rounds are interleaved; figures are medians, \
with the least and the most where two numbers follow.

- `hand/N`: tokio-postgres, one transaction per step, N connections, prepared statements, BEGIN sent with the read and COMMIT \
with the writes, the same guards and unique constraints. `hand-refused`: 16 callers on each key, read under the row lock.
- `limit-B/N`: Deed's own statements and its core without a service, B actions a transaction on N connections, random keys.
- `unary/N`, `session/N`: a `deed-server serve`, N callers, 64 to a connection and to a session. The callers of a session share \
one task that does nothing else.
- `perform/N`: N callers of the client library's `perform` in one process.
- `redis/N`: Lua scripts, `appendfsync always`, one multiplexed connection; no history.
- `unary-renewals/N`: 10,000 leases held, N callers renew 1,000 in each call; a unit is a lease.
- `session-idle/N`: N open sessions, each on a connection of its own.
- `…-at-R`: open loop. R actions a second are due whether or not a caller is free, and latency counts from when they were due. \
All others are closed loops, where a caller starts as soon as its last action is over.

Processor time is from `/proc` (of the measured time; ended backends included). WAL bytes, transactions and fsyncs are from \
Postgres's counters over the whole cell, warm-up included; statements are those at top level, BEGIN and COMMIT included, counted \
by `pg_stat_statements` during the warm-up only.
";

/// Writes what is kept, the plot and the page.
pub fn write(into: &Path, kept: &Kept) -> anyhow::Result<()> {
    let context = || format!("cannot write into {}", into.display());
    fs::create_dir_all(into).with_context(context)?;
    kept.write(into)?;
    if let Some(bench) = &kept.bench {
        fs::write(into.join(PLOT), plot::svg(bench)?).with_context(context)?;
    }
    let notes = fs::read_to_string(into.join(NOTES)).unwrap_or_default();
    fs::write(into.join(PAGE), page(kept, &notes)?).with_context(context)
}

/// The whole page.
pub fn page(kept: &Kept, notes: &str) -> anyhow::Result<String> {
    let mut page = format!(
        "# What it costs\n\n*Written by `make bench`, `make bench-growth` and `make soak` from `{FILE}` and `{NOTES}`; do not \
         edit.*\n\n{HOW}"
    );
    if let Some(bench) = &kept.bench {
        write!(
            page,
            "\nMeasured on {}; {} s a cell, {} rounds.\n\n![Throughput, latency and processor time by callers]({PLOT})\n",
            bench.machine,
            bench.seconds,
            bench
                .rows
                .iter()
                .map(|row| row.rounds.len())
                .max()
                .unwrap_or_default()
        )?;
        write!(page, "\n## Goals\n\n{}", goals::markdown(&goals::all(kept))?)?;
        write!(page, "\n## All rows\n\n{}", table::markdown(bench)?)?;
    }
    if let Some(growth) = &kept.growth {
        let machine = &growth.machine;
        write!(
            page,
            "\n## Growth\n\nMeasured on {machine}.\n\n{}",
            growth::markdown(growth)?
        )?;
    }
    if let Some(held) = &kept.held {
        let machine = &held.machine;
        write!(
            page,
            "\n## A held snapshot\n\nMeasured on {machine}. {}",
            xmin::markdown(held)
        )?;
    }
    if let Some(soaked) = &kept.soak {
        let machine = &soaked.machine;
        write!(
            page,
            "\n## Over time\n\nMeasured on {machine}. {}",
            soak::markdown(soaked)?
        )?;
    }
    if !notes.is_empty() {
        write!(page, "\n{notes}")?;
    }
    Ok(page)
}
