//! A held xmin (B53): leases are renewed for minutes beside a transaction that reads an old snapshot, so that nothing may be
//! cleaned up. Do claims stay fast, are renewals HOT, and are the dead rows gone soon after its end?

use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_postgres::Client;

use super::cast::{self, Cast};
use super::course::{self, Caller, Length, Pace};
use super::meter;
use super::plan::{self, Cell, Column, Work};
use super::renewals::Renewer;
use super::results::machine;
use super::stage::Stage;
use crate::support::work::channel;
use crate::support::{psql, until};

/// Name for `BENCH_ONLY`; too long for a run of everything.
pub const NAME: &str = "held-xmin";

/// How long the snapshot is held.
const SECONDS: f64 = 180.0;

/// Leases that are held, how many of them are renewed in one call, and how often: 500 a second.
const LEASES: usize = 1_000;
const AT_ONCE: usize = 50;
const EVERY: Duration = Duration::from_millis(100);

/// Claims (and reports) beside them, a second: enough for a p99, far from a load.
const RATE: u32 = 100;

/// Dead rows must have fallen by then.
const CLEANED: Duration = Duration::from_secs(60);

const DATABASE: &str = "held";

/// Keeps everything that is there now from being cleaned up.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM actions";

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    pub machine: String,
    pub seconds: f64,
    /// Of an action, in milliseconds: without the snapshot and without renewals; and beside both.
    pub idle_p99: f64,
    pub held_p99: f64,
    /// Updates since the snapshot was taken, and how many of them were HOT.
    pub updates: i64,
    pub hot: i64,
    pub dead_at_end: i64,
    /// After the end; the seconds until fewer than a tenth were left, if within a minute.
    pub dead_after: i64,
    pub cleaned_after: Option<f64>,
}

impl Held {
    pub fn hot_share(&self) -> f64 {
        self.hot as f64 / self.updates.max(1) as f64
    }
}

/// How long, unless `BENCH_XMIN_SECONDS` says otherwise.
pub fn seconds() -> anyhow::Result<f64> {
    plan::number("BENCH_XMIN_SECONDS", SECONDS)
}

/// On a Postgres of its own.
pub async fn measure(seconds: f64) -> anyhow::Result<Held> {
    let stage = Stage::start().await?;
    let measured = async {
        stage.database(DATABASE).await?;
        let mut held = on(&stage.url(DATABASE), seconds, CLEANED).await?;
        held.machine = machine(&stage.version().await?);
        anyhow::Ok(held)
    };
    let measured = measured.await;
    let stopped = stage.stop().await;
    let held = measured?;
    stopped?;
    Ok(held)
}

/// On an empty database; waits `cleaned` for the dead rows to go.
pub async fn on(url: &str, seconds: f64, cleaned: Duration) -> anyhow::Result<Held> {
    let mut server = cast::serve(url).await?;
    let address = server.url();
    let client = psql(url).await?;
    let snapshot = psql(url).await?;
    let idle_p99 = claims(&address, seconds / 4.0).await?;

    let renewer = Renewer::claim(channel(&address)?, 0, LEASES, AT_ONCE).await?;
    snapshot.batch_execute(SNAPSHOT).await?;
    let before = Updates::read(&client).await?;
    let renewing = tokio::spawn(renew(renewer));
    let held_p99 = claims(&address, seconds).await?;
    if renewing.is_finished() {
        renewing.await?.context("the renewals ended before their time")?;
    } else {
        renewing.abort();
    }
    server.terminate()?;
    server.ended().await?;
    let after = Updates::handed_in(&client).await?;
    snapshot.batch_execute("COMMIT").await?;
    let ended = Instant::now();
    let few = after.dead / 10;
    let falling = timeout(cleaned, async {
        while Updates::read(&client).await?.dead > few {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        anyhow::Ok(ended.elapsed().as_secs_f64())
    });
    let cleaned_after = falling.await.ok().transpose()?;
    let dead_after = Updates::read(&client).await?.dead;
    Ok(Held {
        machine: String::new(),
        seconds,
        idle_p99,
        held_p99,
        updates: after.all - before.all,
        hot: after.hot - before.hot,
        dead_at_end: after.dead,
        dead_after,
        cleaned_after,
    })
}

/// p99 of actions at a steady rate.
async fn claims(address: &str, seconds: f64) -> anyhow::Result<f64> {
    let cell = Cell {
        pace: Pace::Open(RATE),
        ..Cell::new(Column::Session, Work::Actions, 16)
    };
    let Cast { callers, .. } = cast::by_deed(&[address], &cell).await?;
    let length = Length {
        warm_up: Duration::from_millis(200),
        measured: Duration::from_secs_f64(seconds),
    };
    let (tally, ..) = course::run(length, cell.pace, callers, async |_| Ok(()), || Ok(())).await?;
    Ok(tally.latencies.value_at_quantile(0.99) as f64 / 1e3)
}

/// Renews one group after the other, for ever.
async fn renew(mut renewer: Renewer) -> anyhow::Result<()> {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        ticks.tick().await;
        renewer.act().await?;
    }
}

/// What Postgres counted on the table that renewals change, whichever it is: all of Deed's together.
#[derive(Clone, Copy)]
struct Updates {
    all: i64,
    hot: i64,
    dead: i64,
}

impl Updates {
    async fn read(client: &Client) -> anyhow::Result<Self> {
        let row = client
            .query_one(
                "SELECT sum(n_tup_upd)::int8, sum(n_tup_hot_upd)::int8, sum(n_dead_tup)::int8 FROM pg_stat_user_tables",
                &[],
            )
            .await?;
        Ok(Self {
            all: row.try_get(0)?,
            hot: row.try_get(1)?,
            dead: row.try_get(2)?,
        })
    }

    /// Once the server's sessions have ended: until then they keep some counts to themselves.
    async fn handed_in(client: &Client) -> anyhow::Result<Self> {
        let left = || async {
            let sessions = "SELECT count(*) FROM pg_stat_activity
                             WHERE datname = current_database() AND application_name = 'deed-server'";
            Ok(client.query_one(sessions, &[]).await?.try_get::<_, i64>(0)? == 0)
        };
        until(meter::GOODBYE, "the server's sessions have ended", left).await?;
        Self::read(client).await
    }
}

/// The share of HOT updates among those that so many renewals of each of so many leases make beside an old snapshot, without
/// any hurry.
pub async fn hot_share(url: &str, leases: usize, renewals: usize) -> anyhow::Result<f64> {
    let mut server = cast::serve(url).await?;
    let client = psql(url).await?;
    let mut renewer = Renewer::claim(channel(&server.url())?, 0, leases, leases).await?;
    let snapshot = psql(url).await?;
    snapshot.batch_execute(SNAPSHOT).await?;
    for _ in 0..renewals {
        renewer.act().await?;
    }
    server.terminate()?;
    server.ended().await?;
    let counted = Updates::handed_in(&client).await?;
    let (made, wanted) = (counted.all, leases * renewals);
    ensure!(
        made >= i64::try_from(wanted)?,
        "{made} updates are no {wanted} renewals"
    );
    drop(snapshot);
    Ok(counted.hot as f64 / counted.all as f64)
}

/// As a table.
pub fn markdown(held: &Held) -> String {
    let verdict = |met: bool| if met { "met" } else { "**missed**" };
    let hot = held.hot_share();
    let ratio = held.held_p99 / held.idle_p99.max(0.001);
    let cleaned = held.cleaned_after.map_or_else(
        || format!("{} left after a minute", held.dead_after),
        |seconds| format!("below a tenth after {seconds:.0} s"),
    );
    format!(
        "{LEASES} leases held, 500 renewals/s for {:.0} s beside an open REPEATABLE READ transaction; {RATE} actions/s all the while.\n\n\
         | figure | goal | measured | |\n| --- | ---: | ---: | --- |\n\
         | p99 of an action ÷ without both | ≤ 3 | {ratio:.2} ({:.2} ms and {:.2} ms) | {} |\n\
         | HOT updates | ≥ 90 % | {:.1} % of {} | {} |\n\
         | dead rows after its end ({} then) | gone within a minute | {cleaned} | {} |\n",
        held.seconds,
        held.held_p99,
        held.idle_p99,
        verdict(ratio <= 3.0),
        hot * 100.0,
        held.updates,
        verdict(hot >= 0.9),
        held.dead_at_end,
        verdict(held.cleaned_after.is_some()),
    )
}
