//! A database that fails, and callers that go away.

use std::time::Instant;

use anyhow::ensure;
use deed_client::seconds;
use deed_proto::v1;
use deed_tests::support::server::Options;
use deed_tests::support::until;
use deed_tests::support::work::{Told, Work, Worker};
use rand::RngExt;
use tonic::Code;

use crate::refusals::{reason, retry_after};
use crate::{Field, deduplicated, ms};

/// More in a row than a command that breaks a constraint is tried.
const FAILURES: u32 = 5;

/// Makes the database fail writes about `faulty…` with this SQLSTATE: the first `count` of them, since a sequence does
/// not roll back.
async fn fail_writes(
    client: &tokio_postgres::Client,
    table: &str,
    sqlstate: &str,
    count: u32,
) -> anyhow::Result<()> {
    let statement = format!(
        "DROP SEQUENCE IF EXISTS faults; CREATE SEQUENCE faults;
         CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF NEW.action_id LIKE 'faulty%' AND nextval('faults') <= {count} THEN
                 RAISE EXCEPTION 'injected' USING ERRCODE = '{sqlstate}';
             END IF;
             RETURN NEW;
         END $$;
         DROP TRIGGER IF EXISTS fail ON {table};
         CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION fail();"
    );
    Ok(client.batch_execute(&statement).await?)
}

#[tokio::test]
async fn b35_serialization_failures_and_deadlocks_are_absorbed_and_a_lasting_one_is_unavailable_and_changes_nothing()
-> anyhow::Result<()> {
    let field = Field::start().await?;
    let client = field.psql().await?;
    let worker = field.worker("w1")?;
    let faulty = Work::new("faulty", &deduplicated());
    let screen = worker.screen();
    for sqlstate in ["40001", "40P01"] {
        fail_writes(&client, "actions", sqlstate, FAILURES).await?;
        let work = Work::new(&format!("faulty-{sqlstate}"), &deduplicated());
        worker.claim_begun(&work).await?.execute()?;
        let raised: i64 = client
            .query_one("SELECT last_value FROM faults", &[])
            .await?
            .get(0);
        ensure!(raised > i64::from(FAILURES), "nothing was raised");

        fail_writes(&client, "actions", sqlstate, u32::MAX).await?;
        // A neighbour is not held up, nor failed with it.
        let neighbour = Work::fresh(&deduplicated());
        let (failed, sound) = tokio::join!(worker.claim(&faulty), worker.claim(&neighbour));
        sound?.execute()?;
        let Err(failed) = failed else {
            anyhow::bail!("{failed:?}")
        };
        ensure!(
            (failed.code(), reason(&failed)?.as_str()) == (Code::Unavailable, "STORE_UNAVAILABLE"),
            "{failed:?}"
        );
        ensure!(retry_after(&failed)? > ms(0));
        let unknown = screen.action(&faulty).await;
        ensure!(unknown.is_err_and(|status| status.code() == Code::NotFound));
    }
    // An action that is there is left as it was, row and history.
    client.batch_execute("DROP TRIGGER fail ON actions").await?;
    let token = worker.claim_begun(&faulty).await?.execute()?.fencing_token;
    let before = (
        screen.action(&faulty).await?.version,
        screen.events(&faulty).await?,
    );
    fail_writes(&client, "events", "40001", u32::MAX).await?;
    let receipt = deed_client::Receipt::completed("ch-1");
    let failed = worker.report(&faulty, token, &receipt).await;
    ensure!(failed.is_err_and(|status| status.code() == Code::Unavailable));
    let after = (
        screen.action(&faulty).await?.version,
        screen.events(&faulty).await?,
    );
    ensure!(before == after, "{before:?} {after:?}");
    client.batch_execute("DROP TRIGGER fail ON events").await?;
    worker.report(&faulty, token, &receipt).await?.settled()?;
    Ok(())
}

/// So many claims at once, each dropped after 0 to 5 ms; says how many of them got no answer.
async fn give_up(worker: &Worker, count: usize) -> anyhow::Result<usize> {
    let contract = deduplicated();
    let calls = (0..count).map(|_| {
        let (worker, work) = (worker.clone(), Work::fresh(&contract));
        let patience = ms(rand::rng().random_range(0..=5));
        tokio::spawn(async move { tokio::time::timeout(patience, worker.claim(&work)).await })
    });
    let calls: Vec<_> = calls.collect();
    let mut given_up = 0;
    for call in calls {
        given_up += usize::from(call.await?.is_err());
    }
    Ok(given_up)
}

#[tokio::test]
async fn b36_calls_that_are_given_up_leave_the_one_lane_as_it_was() -> anyhow::Result<()> {
    let field = Field::with(Options::default().with(&["--lanes", "1"])).await?;
    let worker = field.worker("w1")?;
    let contract = deduplicated();
    worker.claim(&Work::fresh(&contract)).await?.execute()?;
    let given_up = give_up(&worker, 500).await?;
    ensure!(given_up > 100, "only {given_up} calls were given up");
    let asked = Instant::now();
    worker.claim(&Work::fresh(&contract)).await?.execute()?;
    ensure!(
        asked.elapsed() < seconds(1),
        "answered after {:?}",
        asked.elapsed()
    );

    let client = field.psql().await?;
    let idle = || async {
        let row = client
            .query_one(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'",
                &[],
            )
            .await?;
        Ok(row.get::<_, i64>(0) == 0)
    };
    until(seconds(2), "nothing is idle in transaction", idle).await?;
    // Whatever became of each: none of them is half done.
    let listed = v1::ListActionsRequest {
        page_size: 1_000,
        ..v1::ListActionsRequest::default()
    };
    for action in worker
        .screen()
        .ledger()
        .list_actions(listed)
        .await?
        .into_inner()
        .actions
    {
        ensure!(
            action.lease.is_some() && action.state() == v1::State::Planned,
            "{action:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn regression_calls_that_are_given_up_do_not_end_the_connection_for_the_others() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let worker = field.worker("w1")?;
    let work = Work::fresh(&deduplicated());
    let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
    let settled = v1::WaitActionRequest {
        key: Some(work.key.clone()),
        timeout: Some(prost_types::Duration {
            seconds: 30,
            nanos: 0,
        }),
        ..v1::WaitActionRequest::default()
    };
    let waiting = {
        let mut ledger = worker.screen().ledger();
        tokio::spawn(async move { ledger.wait_action(settled).await })
    };
    for _ in 0..4 {
        give_up(&worker, 250).await?;
    }
    let receipt = deed_client::Receipt::completed("ch-1");
    worker.report(&work, token, &receipt).await?.settled()?;
    let waited = waiting.await??.into_inner();
    ensure!(!waited.timed_out && waited.action.is_some_and(|action| action.external_id == "ch-1"));
    Ok(())
}
