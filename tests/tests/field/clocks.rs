//! Whose time counts, and from when: the database's, read after the lock is held.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use deed_client::{Deed, Observation, Receipt};
use deed_proto::v1;
use deed_tests::support::work::{NAMESPACE, TOOL, Told, Work};

use crate::{Field, deduplicated, length, ms, serialized, within};

/// Holds the row of an action in a transaction of its own.
pub struct Holder(tokio_postgres::Client);

impl Holder {
    pub async fn take(field: &Field, work: &Work) -> anyhow::Result<Self> {
        let client = field.psql().await?;
        client.batch_execute("BEGIN").await?;
        let statement = "SELECT 1 FROM actions WHERE namespace = $1 AND action_id = $2 FOR UPDATE";
        client
            .query_one(statement, &[&work.key.namespace, &work.key.action_id])
            .await?;
        Ok(Self(client))
    }

    /// As soon as the lease has ended by the database's clock.
    async fn let_go_after_the_lapse(self, work: Work) -> anyhow::Result<()> {
        let statement = "SELECT pg_sleep(extract(epoch FROM lease_expires_at - clock_timestamp()) + 0.01) \
                         FROM actions WHERE namespace = $1 AND action_id = $2";
        self.0
            .query_one(statement, &[&work.key.namespace, &work.key.action_id])
            .await?;
        Ok(self.0.batch_execute("COMMIT").await?)
    }

    async fn let_go_after(self, pause: Duration) -> anyhow::Result<()> {
        tokio::time::sleep(pause).await;
        self.let_go().await
    }

    pub async fn let_go(self) -> anyhow::Result<()> {
        Ok(self.0.batch_execute("COMMIT").await?)
    }
}

#[tokio::test]
async fn b08_a_claim_that_waited_for_the_row_is_granted_with_its_whole_lease() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let worker = field.worker("w1")?;
    let work = Work::new("order-1", &deduplicated().lease(ms(2_000)));
    worker.plan(&work).await?.claimable()?;

    let holder = Holder::take(&field, &work).await?;
    let (answer, freed) = tokio::join!(worker.claim(&work), holder.let_go_after(ms(4_000)));
    freed?;
    let granted = answer?.execute()?;
    let (left, waited) = (length(granted.lease_left), length(granted.waited));
    ensure!(left >= ms(1_800), "{left:?} of the lease is left");
    ensure!(waited >= ms(3_800), "the service says that it waited {waited:?}");

    // The grant is as long as it says: another owner is kept out until then, and no longer.
    let other = field.worker("w2")?;
    let held = other.claim(&work).await?.held()?;
    ensure!(length(held.lease_left) >= ms(1_500), "{held:?}");
    Ok(())
}

#[tokio::test]
async fn b08_the_client_does_not_count_the_time_that_the_service_waited() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let deed = Deed::builder()
        .namespace(NAMESPACE)
        .connect(&field.server().url())?;
    let action = || {
        let action = deed.action("order-1").tool(TOOL).input_bytes(b"1");
        action.contract(deduplicated().lease(ms(2_000)))
    };
    let _planned = action().plan().await?;
    let work = Work::new("order-1", &deduplicated());
    let holder = Holder::take(&field, &work).await?;
    let left = Arc::new(Mutex::new(None));
    let asked = Instant::now();
    let performing = action().perform(
        |grant| {
            *left.lock().unwrap() = Some((grant.time_left(), asked.elapsed()));
            async { Receipt::completed("ch-1") }
        },
        |_lookup| async { Observation::unknown("not asked for") },
    );
    let (outcome, freed) = tokio::join!(performing, holder.let_go_after(ms(3_000)));
    freed?;
    ensure!(outcome?.confirmed());
    // The grant that waited was used, not a second one in its place.
    let events = field.worker("screen")?.screen().events(&work).await?;
    let grants = events
        .iter()
        .filter(|event| event.kind() == v1::EventKind::Granted);
    ensure!(grants.count() == 1, "{events:#?}");
    let (left, after) = left.lock().unwrap().context("nothing was executed")?;
    ensure!(after >= ms(3_000), "granted after {after:?}");
    ensure!(
        left >= ms(1_500),
        "the client believes in {left:?} of a lease of 2 s"
    );
    Ok(())
}

#[tokio::test]
async fn b09_a_lease_that_lapses_while_the_row_is_held_has_lapsed_for_the_claim_that_waited()
-> anyhow::Result<()> {
    let field = Field::start().await?;
    let (first, second) = (field.worker("w1")?, field.worker("w2")?);
    // The waits for a row are short and many, and only the last of them spans the lapse: some rounds make it surely seen.
    for round in 0..4 {
        let work = Work::new(&format!("order-{round}"), &serialized().lease(ms(700)));
        let token = first.claim(&work).await?.execute()?.fencing_token;
        let holder = Holder::take(&field, &work).await?;
        let freeing = tokio::spawn(holder.let_go_after_the_lapse(work.clone()));
        let granted = within("the claim", second.claim(&work)).await??.execute()?;
        freeing.await??;
        ensure!(granted.fencing_token > token);
        let left = length(granted.lease_left);
        ensure!(left > ms(650), "{left:?}");
    }
    Ok(())
}

#[test]
fn b09_no_statement_reads_the_frozen_clock_of_its_transaction() -> anyhow::Result<()> {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src/store/sql");
    let frozen = [
        "now()",
        "current_timestamp",
        "transaction_timestamp",
        "statement_timestamp",
        "localtimestamp",
    ];
    let mut read = 0;
    for entry in fs::read_dir(store)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let code = text
            .lines()
            .map(|line| line.split("--").next().unwrap_or_default());
        for line in code {
            let line = line.to_lowercase();
            ensure!(
                !frozen.iter().any(|clock| line.contains(clock)),
                "{}: {line}",
                path.display()
            );
        }
        read += 1;
    }
    ensure!(read > 5, "only {read} statements were read");
    Ok(())
}
