//! What a load costs: processor time by process, and what Postgres says that it wrote.
//!
//! Processor time is of the measured time alone. Postgres's own counters are exact only once the sessions that did the
//! work have ended, so they are of the whole cell, warm-up included, and are divided by all of its actions.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio_postgres::Client;

use crate::support::until;

/// The kernel counts processor time in hundredths of a second, on every architecture that Linux runs on.
const TICK: Duration = Duration::from_millis(10);

/// How long backends may take to go once their sessions have ended.
pub const GOODBYE: Duration = Duration::from_secs(10);

/// Processor time since each process started.
#[derive(Clone, Copy, Default, Debug)]
pub struct Processor {
    pub client: Duration,
    pub server: Duration,
    pub postgres: Duration,
}

/// Which processes belong to a cell.
#[derive(Clone, Debug)]
pub struct Processes {
    pub servers: Vec<u32>,
    pub postmaster: u32,
}

impl Processes {
    pub fn processor(&self) -> anyhow::Result<Processor> {
        let server = |pid: &u32| Ok(Usage::of(*pid)?.own);
        let servers: anyhow::Result<Vec<Duration>> = self.servers.iter().map(server).collect();
        Ok(Processor {
            client: Usage::of(std::process::id())?.own,
            server: servers?.iter().sum(),
            postgres: family(self.postmaster)?,
        })
    }
}

impl Processor {
    pub fn since(self, earlier: Self) -> Self {
        Self {
            client: self.client.saturating_sub(earlier.client),
            server: self.server.saturating_sub(earlier.server),
            postgres: self.postgres.saturating_sub(earlier.postgres),
        }
    }
}

/// One line of `/proc/PID/stat`.
struct Usage {
    parent: u32,
    own: Duration,
    /// Of children that have ended and been waited for.
    reaped: Duration,
}

impl Usage {
    fn of(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        Self::parse(&text).with_context(|| format!("{path} reads otherwise than expected: {text}"))
    }

    fn parse(text: &str) -> Option<Self> {
        // The name, in parentheses, may contain anything; behind it, the state is the first field.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u32>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: TICK * (ticks(11)? + ticks(12)?),
            reaped: TICK * (ticks(13)? + ticks(14)?),
        })
    }
}

/// The postmaster, its children, and those of them that have ended.
fn family(postmaster: u32) -> anyhow::Result<Duration> {
    let head = Usage::of(postmaster)?;
    let mut sum = head.own + head.reaped;
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // One that has just ended is counted with its parent the next time.
        if let Ok(usage) = Usage::of(pid)
            && usage.parent == postmaster
        {
            sum += usage.own;
        }
    }
    Ok(sum)
}

/// A line of `/proc/PID/status`, in bytes.
pub fn memory(pid: u32, line: &str) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let kilobytes = text
        .lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(':'))
        .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .with_context(|| format!("{path} has no {line}"))?;
    Ok(kilobytes * 1024)
}

/// What Postgres has counted since it was started; transactions, of one database.
#[derive(Clone, Copy, Default, Debug)]
pub struct Written {
    pub wal_bytes: i64,
    pub syncs: i64,
    pub transactions: i64,
}

impl Written {
    /// `admin` is a session on another database.
    pub async fn read(admin: &Client, database: &str) -> anyhow::Result<Self> {
        let row = admin
            .query_one(
                "SELECT (pg_current_wal_insert_lsn() - '0/0')::int8, w.wal_sync, d.xact_commit + d.xact_rollback
                   FROM pg_stat_wal AS w, pg_stat_database AS d WHERE d.datname = $1",
                &[&database],
            )
            .await?;
        Ok(Self {
            wal_bytes: row.try_get(0)?,
            syncs: row.try_get(1)?,
            transactions: row.try_get(2)?,
        })
    }

    pub fn since(self, earlier: Self) -> Self {
        Self {
            wal_bytes: self.wal_bytes - earlier.wal_bytes,
            syncs: self.syncs - earlier.syncs,
            transactions: self.transactions - earlier.transactions,
        }
    }
}

/// Waits until nobody is connected to the database: their counters have been handed in by then.
pub async fn left(admin: &Client, database: &str) -> anyhow::Result<()> {
    let nobody = || async {
        let row = admin
            .query_one(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
                &[&database],
            )
            .await?;
        Ok(row.try_get::<_, i64>(0)? == 0)
    };
    until(GOODBYE, "the sessions on the database have ended", nobody).await
}

/// Fails where the database knows fewer or more confirmed actions, or other history, than the callers were told.
/// `before` were there already.
pub async fn settled(client: &Client, told: u64, before: u64) -> anyhow::Result<()> {
    let (confirmed, history) = counts(client, SETTLED).await?;
    ensure!(
        confirmed == before + told && history == 2 * confirmed,
        "callers were told of {told} actions, {before} were there before, and the database has {confirmed} confirmed ones \
         with {history} rows of history"
    );
    Ok(())
}

/// Confirmed actions that are there.
pub async fn confirmed(client: &Client) -> anyhow::Result<u64> {
    Ok(counts(client, SETTLED).await?.0)
}

const SETTLED: &str =
    "SELECT (SELECT count(*) FROM actions WHERE state = 'CONFIRMED'), (SELECT count(*) FROM events)";

/// Fails where refused claims and renewals have left anything but the grants of those who hold.
pub async fn untouched(client: &Client, held: u64) -> anyhow::Result<()> {
    let statement =
        "SELECT (SELECT count(*) FROM actions WHERE state = 'SENT'), (SELECT count(*) FROM events)";
    let (actions, history) = counts(client, statement).await?;
    ensure!(
        actions == held && history == held,
        "{held} actions were held, but now there are {actions} with {history} rows of history"
    );
    Ok(())
}

async fn counts(client: &Client, statement: &str) -> anyhow::Result<(u64, u64)> {
    let row = client.query_one(statement, &[]).await?;
    let (one, other): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok((u64::try_from(one)?, u64::try_from(other)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_contain_anything() {
        let text = "7 (a) b ( c) S 3 7 7 0 -1 0 0 0 0 0 120 30 5 6 20 0 1 0 9";
        let usage = Usage::parse(text).unwrap();
        assert_eq!(usage.parent, 3);
        assert_eq!(usage.own, Duration::from_millis(1_500));
        assert_eq!(usage.reaped, Duration::from_millis(110));
    }
}
