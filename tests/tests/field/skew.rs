//! B10: replicas and clients whose clocks are wrong. Every time that counts is the database's, or a length.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use deed_client::{Clock, Deed, Receipt, SystemClock, seconds};
use deed_tests::support::server::{Options, Server};
use deed_tests::support::work::{NAMESPACE, TOOL, Told, Work, Worker};
use deed_tests::support::{database, psql};

use crate::{deduplicated, length, ms, within};

const LEASE: Duration = Duration::from_secs(4);

/// Its wall clock is this many seconds off; the other only counts.
#[derive(Debug)]
struct Wrong {
    machine: SystemClock,
    ahead: i32,
}

impl Clock for Wrong {
    fn monotonic(&self) -> Duration {
        self.machine.monotonic()
    }

    fn wall(&self) -> Duration {
        let (now, off) = (
            self.machine.wall(),
            Duration::from_secs(u64::from(self.ahead.unsigned_abs())),
        );
        if self.ahead < 0 { now - off } else { now + off }
    }
}

/// What makes a process see another time of day. Debian puts it where no linker looks.
fn faketime() -> anyhow::Result<PathBuf> {
    let directories = [
        "/usr/lib/x86_64-linux-gnu/faketime",
        "/usr/lib/aarch64-linux-gnu/faketime",
        "/usr/lib64/faketime",
        "/usr/lib/faketime",
    ];
    let mut libraries = directories
        .iter()
        .map(|directory| PathBuf::from(directory).join("libfaketime.so.1"));
    libraries
        .find(|library| library.is_file())
        .with_context(|| format!("there is no libfaketime.so.1 in {directories:?}; `make setup` installs it"))
}

/// A server whose time of day is off by so many seconds. It proves it in its own log.
async fn server(url: &str, ahead: i32) -> anyhow::Result<Server> {
    let library = faketime()?;
    let options = Options::default()
        .in_environment("LD_PRELOAD", library.to_str().context("an odd path")?)
        .in_environment("FAKETIME", &format!("{ahead:+}s"))
        // Timers are not the time of day.
        .in_environment("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let server = Server::start_with(url, options).await?;
    let said = server.said();
    let stamp = said
        .split_whitespace()
        .next()
        .context("the server says nothing")?;
    let off = "SELECT extract(epoch FROM $1::text::timestamptz - clock_timestamp())::float8";
    let off: f64 = psql(url).await?.query_one(off, &[&stamp]).await?.get(0);
    ensure!(
        (off - f64::from(ahead)).abs() < 30.0,
        "its clock is {off} s ahead, not {ahead} s"
    );
    Ok(server)
}

#[tokio::test]
async fn b10_replicas_two_minutes_apart_and_clients_two_hours_apart_agree_about_every_lease()
-> anyhow::Result<()> {
    let database = database().await;
    let (behind, ahead) = (
        server(&database.url, -60).await?,
        server(&database.url, 60).await?,
    );
    let work = Work::new("order-1", &deduplicated().lease(LEASE));
    let (w1, w2) = (Worker::at(&behind.url(), "w1")?, Worker::at(&ahead.url(), "w2")?);
    let token = w1.claim(&work).await?.execute()?.fencing_token;
    tokio::time::sleep(seconds(1)).await;
    let held = length(w2.claim(&work).await?.held()?.lease_left);
    ensure!(held > LEASE - ms(2_500) && held < LEASE - ms(500), "{held:?}");
    tokio::time::sleep(held + ms(200)).await;
    ensure!(w2.claim(&work).await?.execute()?.fencing_token > token);

    let deed = |server: &Server, ahead| {
        let clock = Wrong {
            machine: SystemClock::default(),
            ahead,
        };
        Deed::builder()
            .namespace(NAMESPACE)
            .clock(Arc::new(clock))
            .connect(&server.url())
    };
    let (early, late) = (deed(&behind, -3_600)?, deed(&ahead, 3_600)?);
    let perform = async |deed: &Deed| {
        let action = deed.action("order-2").tool(TOOL).input_bytes(b"2");
        let performing = action
            .contract(deduplicated().lease(LEASE))
            .perform_without_verify(|grant| {
                let left = grant.time_left();
                async move {
                    // Long enough that it is renewed, and that the other one has to wait for it.
                    tokio::time::sleep(LEASE / 2).await;
                    if left > LEASE - seconds(2) {
                        Receipt::completed("ch-2")
                    } else {
                        Receipt::rejected(format!("{left:?} were left of the lease"))
                    }
                }
            });
        anyhow::Ok(within("the outcome", performing).await??)
    };
    let (one, other) = tokio::try_join!(perform(&early), perform(&late))?;
    for outcome in [one, other] {
        ensure!(outcome.confirmed(), "{outcome:?}");
    }
    let action = w1.screen().action(&Work::new("order-2", &deduplicated())).await?;
    ensure!(action.attempts == 1, "{action:?}");
    Ok(())
}
