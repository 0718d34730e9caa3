//! B41: what was acknowledged, and then lost or kept in a failover.

use std::time::Duration;

use anyhow::ensure;
use deed_client::{Observation, Receipt, seconds};
use deed_proto::v1;
use deed_tests::chaos::database::Database as Pair;
use deed_tests::support::directory::Directory;
use deed_tests::support::proxy::Proxy;
use deed_tests::support::server::{Options, Server};
use deed_tests::support::work::{Told, Work, Worker};
use deed_tests::support::{Database, database, psql, until};
use futures::future::try_join_all;
use tonic::Code;

use crate::refusals::{reason, retry_after};
use crate::shop::CLOCK_STEP;
use crate::{PATIENCE, deduplicated, ms, serialized};

/// A copy of the database as it is: what an asynchronous standby had got when its primary died.
struct Snapshot<'a> {
    database: &'a Database,
    admin: tokio_postgres::Client,
    copy: String,
}

impl<'a> Snapshot<'a> {
    async fn take(database: &'a Database) -> anyhow::Result<Self> {
        let postgres = database.url.replace(&format!("/{}", database.name), "/postgres");
        let snapshot = Self {
            database,
            admin: psql(&postgres).await?,
            copy: format!("{}_copy", database.name),
        };
        snapshot.alone().await?;
        let copy = format!("CREATE DATABASE {} TEMPLATE {}", snapshot.copy, database.name);
        snapshot.admin.batch_execute(&copy).await?;
        snapshot.connectable(&database.name).await?;
        Ok(snapshot)
    }

    /// In place of what has become of it since.
    async fn restore(self) -> anyhow::Result<()> {
        self.alone().await?;
        let name = &self.database.name;
        self.admin
            .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
            .await?;
        self.admin
            .batch_execute(&format!("ALTER DATABASE {} RENAME TO {name}", self.copy))
            .await?;
        self.connectable(name).await
    }

    /// Ends every session, and lets nobody in.
    async fn alone(&self) -> anyhow::Result<()> {
        let name = &self.database.name;
        let close = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false");
        self.admin.batch_execute(&close).await?;
        let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1";
        self.admin.query(end, &[name]).await?;
        Ok(())
    }

    async fn connectable(&self, name: &str) -> anyhow::Result<()> {
        let open = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true");
        Ok(self.admin.batch_execute(&open).await?)
    }
}

#[tokio::test]
async fn b41_a_grant_that_a_failover_lost_is_outgrown_and_its_report_is_kept_and_nobody_begins_on_top_of_it()
-> anyhow::Result<()> {
    let database = database().await;
    let server = Server::start_with(&database.url, Options::default().with(&CLOCK_STEP)).await?;
    let (w1, w2) = (Worker::at(&server.url(), "w1")?, Worker::at(&server.url(), "w2")?);
    for (id, report) in [
        ("completed", Receipt::completed("ch-1")),
        ("unknown", Receipt::unknown("the connection broke")),
    ] {
        let work = Work::new(id, &serialized().lease(ms(700)));
        w1.plan(&work).await?.claimable()?;
        let snapshot = Snapshot::take(&database).await?;
        let lost = w1.claim_begun(&work).await?.execute()?.fencing_token;
        snapshot.restore().await?;

        let taken = w2.claim(&work).await?.execute()?.fencing_token;
        ensure!(taken > lost, "{taken} is not above {lost}");
        let reported = w1.report(&work, lost, &report).await?;
        let refused = w2.begin(&work, taken).await?;
        ensure!(
            refused.execute().is_err() && !refused.safe_to_retry,
            "{refused:?}"
        );
        let events = w1.screen().events(&work).await?;
        let kept = events.iter().filter(|event| {
            event.fencing_token == lost && matches!(event.detail, Some(v1::event::Detail::Receipt(_)))
        });
        ensure!(kept.count() == 1, "{events:#?}");
        if id == "completed" {
            ensure!(reported.settled()?.external_id == "ch-1");
            continue;
        }
        // Only a lookup that counts lets anybody send again.
        until(seconds(20), "a lookup is due", async || {
            let claimed = w2.claim(&work).await?;
            ensure!(claimed.execute().is_err(), "{claimed:?}");
            let Ok(lookup) = claimed.verify_effect() else {
                return Ok(false);
            };
            let absent = Observation::not_found();
            let verified = w2
                .verify(&work, lookup.fencing_token, &absent, v1::Then::BegunGrant)
                .await?;
            Ok(verified.execute().is_ok_and(|again| again.attempt == 2))
        })
        .await?;
    }
    Ok(())
}

/// A primary with its synchronous standby, and a server that finds whichever is there.
struct Stage {
    pair: Pair,
    server: Server,
    _ways: Vec<Proxy>,
    _directory: Directory,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let directory = Directory::make("deed-failover-", None)?;
        let mut pair = Pair::new(directory.path()).await?;
        pair.start().await?;
        let ways = try_join_all(pair.addresses().map(Proxy::start)).await?;
        // Any of them will do: a standby answers that it only reads.
        let url = pair.url_through(&ways)?;
        let url = url.split_once('?').map_or(url.as_str(), |(url, _)| url);
        let server = Server::start(url).await?;
        Ok(Self {
            pair,
            server,
            _ways: ways,
            _directory: directory,
        })
    }

    fn worker(&self, owner: &str) -> anyhow::Result<Worker> {
        Worker::at(&self.server.url(), owner)
    }

    /// Asks until the database is there again.
    async fn claim(&self, worker: &Worker, work: &Work) -> anyhow::Result<v1::Answer> {
        let request = worker.claim_request(work, true);
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            match worker.send_claim(request.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(status) => unavailable(&status)?,
            }
            ensure!(tokio::time::Instant::now() < until, "no primary is found");
        }
    }
}

fn unavailable(status: &tonic::Status) -> anyhow::Result<()> {
    ensure!(
        (status.code(), reason(status)?.as_str()) == (Code::Unavailable, "STORE_UNAVAILABLE"),
        "{status:?}"
    );
    let after = retry_after(status)?;
    ensure!(!after.is_zero() && after < seconds(60), "{after:?}");
    Ok(())
}

#[tokio::test]
async fn b41_what_was_answered_before_the_primary_was_killed_is_on_the_promoted_standby() -> anyhow::Result<()>
{
    let mut stage = Stage::set().await?;
    let (w1, w2) = (stage.worker("w1")?, stage.worker("w2")?);
    let work = Work::new("order-1", &deduplicated().lease(seconds(60)));
    let granted = w1.claim_begun(&work).await?.execute()?;
    stage.pair.fail_over(Duration::ZERO).await?;

    stage.claim(&w2, &work).await?.held()?;
    let stored = w2.screen().action(&work).await?;
    ensure!(
        stored.fencing_token == granted.fencing_token && stored.state() == v1::State::Sent,
        "{stored:?}"
    );
    w1.report(&work, granted.fencing_token, &Receipt::completed("ch-1"))
        .await?
        .settled()?;
    stage.pair.stop().await
}

/// From the scenario.
const READ_ONLY: Duration = Duration::from_secs(5);

#[tokio::test]
async fn b41_while_the_database_only_reads_calls_are_unavailable_and_then_all_is_normal() -> anyhow::Result<()>
{
    let mut stage = Stage::set().await?;
    let worker = stage.worker("w1")?;
    let work = Work::new("order-1", &deduplicated().lease(seconds(60)));
    let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
    stage.pair.lose_primary(Duration::ZERO).await?;

    let report = worker.report_request(&work, token, &Receipt::completed("ch-1"));
    let promoted = tokio::time::Instant::now() + READ_ONLY;
    let mut refused = 0;
    while tokio::time::Instant::now() < promoted {
        let fresh = Work::fresh(&deduplicated());
        let (claimed, reported) = tokio::join!(worker.claim(&fresh), worker.send_report(report.clone()));
        for answer in [claimed, reported] {
            match answer {
                Ok(answer) => anyhow::bail!("judged without a primary: {answer:?}"),
                Err(status) => unavailable(&status)?,
            }
            refused += 1;
        }
    }
    ensure!(refused > 2, "only {refused} calls were refused");
    // What is there can be read meanwhile.
    ensure!(worker.screen().action(&work).await?.state() == v1::State::Sent);
    stage.pair.promote().await?;
    stage
        .claim(&worker, &Work::fresh(&deduplicated()))
        .await?
        .execute()?;
    worker.send_report(report).await?.settled()?;
    stage.pair.stop().await
}
