//! Many claims for one action at one instant: one is granted, the others are told who holds it.

use std::time::Instant;

use anyhow::{Context, ensure};
use deed_proto::v1::next_step::Kind;
use deed_tests::support::psql;
use deed_tests::support::work::{Told, Work, Worker};
use futures::stream::{self, TryStreamExt};
use rand::RngExt;

use crate::{Field, deduplicated, ms, within};

/// What a claim was told, as far as these tests tell answers apart.
#[derive(Default, Debug, PartialEq, Eq)]
struct Tally {
    execute: usize,
    held: usize,
}

async fn at_once(workers: impl Iterator<Item = &Worker>, work: &Work) -> anyhow::Result<Tally> {
    let claims = workers.map(|worker| async move { worker.claim(work).await });
    let mut tally = Tally::default();
    for answer in futures::future::join_all(claims).await {
        match answer?.next_step.and_then(|step| step.kind) {
            Some(Kind::Execute(_)) => tally.execute += 1,
            Some(Kind::Held(_)) => tally.held += 1,
            other => anyhow::bail!("neither granted nor held: {other:?}"),
        }
    }
    Ok(tally)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b24_of_50_claims_of_one_owner_at_two_servers_one_is_granted_in_each_of_200_rounds()
-> anyhow::Result<()> {
    const CLAIMS: usize = 50;
    let field = Field::with_servers(2).await?;
    let workers = [
        Worker::at(&field.servers[0].url(), "crew")?,
        Worker::at(&field.servers[1].url(), "crew")?,
    ];
    let contract = deduplicated();
    stream::iter((0..200).map(anyhow::Ok))
        // Two thousand calls in the air: more would reach their deadlines on a busy machine.
        .try_for_each_concurrent(40, |round| {
            let (workers, contract) = (&workers, &contract);
            async move {
                let work = Work::new(&format!("round-{round}"), contract);
                let tally = at_once(workers.iter().cycle().take(CLAIMS), &work).await?;
                let one = Tally {
                    execute: 1,
                    held: CLAIMS - 1,
                };
                ensure!(tally == one, "round {round}: {tally:?}");
                Ok(())
            }
        })
        .await
}

/// Copies a row and its history under another action id, as a server in the middle of its transaction would have written
/// them. The claim that made the template is live for a day.
struct Template {
    insert: String,
}

const TEMPLATE: &str = "template";

impl Template {
    async fn make(field: &Field, client: &tokio_postgres::Client) -> anyhow::Result<Self> {
        let contract = deduplicated().lease(ms(60_000 * 60));
        let work = Work::new(TEMPLATE, &contract);
        field.worker("holder")?.claim(&work).await?.execute()?;
        let mut insert = String::new();
        for table in ["actions", "events"] {
            let columns = client
                .query_one(
                    "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns \
                     WHERE table_name = $1 AND is_generated = 'NEVER' AND column_name <> 'action_id'",
                    &[&table],
                )
                .await?
                .get::<_, String>(0);
            insert += &format!(
                "INSERT INTO {table} (action_id, {columns}) SELECT 'NEW', {columns} FROM {table} \
                 WHERE action_id = '{TEMPLATE}';"
            );
        }
        Ok(Self { insert })
    }

    async fn insert(&self, client: &tokio_postgres::Client, action_id: &str) -> anyhow::Result<()> {
        let statement = self.insert.replace("'NEW'", &format!("'{action_id}'"));
        Ok(client.batch_execute(&statement).await?)
    }
}

#[tokio::test]
async fn b32_a_claim_beside_an_insert_held_open_is_held_after_its_commit_and_granted_after_its_rollback()
-> anyhow::Result<()> {
    let field = Field::start().await?;
    let client = field.psql().await?;
    let template = Template::make(&field, &client).await?;
    let second = field.worker("second")?;
    for end in ["COMMIT", "ROLLBACK"] {
        let work = Work::new(&format!("held-open-{end}"), &deduplicated());
        client.batch_execute("BEGIN").await?;
        template.insert(&client, work.id()).await?;
        let asked = Instant::now();
        let claim = async {
            tokio::time::sleep(ms(50)).await;
            second.claim(&work).await
        };
        let release = async {
            tokio::time::sleep(ms(500)).await;
            client.batch_execute(end).await
        };
        let (answer, released) = within("the claim", async { tokio::join!(claim, release) }).await?;
        released?;
        let answer = answer?;
        ensure!(asked.elapsed() >= ms(500), "answered before the insert was over");
        match end {
            "COMMIT" => ensure!(answer.held()?.owner == "holder"),
            _ => ensure!(answer.execute()?.attempt == 1),
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b32_first_claims_at_random_instants_are_granted_to_one_and_held_for_the_other() -> anyhow::Result<()>
{
    const ROUNDS: usize = 10_000;
    let field = Field::with_servers(2).await?;
    let first = Worker::at(&field.servers[0].url(), "first")?;
    let second = Worker::at(&field.servers[1].url(), "second")?;
    let contract = deduplicated();
    stream::iter((0..ROUNDS).map(anyhow::Ok))
        .try_for_each_concurrent(512, |round| {
            let (first, second, contract) = (&first, &second, &contract);
            async move {
                let work = Work::new(&format!("round-{round}"), contract);
                // Up to the length of a transaction apart, in either order.
                let (one, other) = (rand::rng().random_range(0..5), rand::rng().random_range(0..5));
                let late = |worker: &'static str, pause: u64, answering: &Worker| {
                    let (answering, work) = (answering.clone(), work.clone());
                    async move {
                        if pause > 0 {
                            tokio::time::sleep(ms(pause)).await;
                        }
                        answering.claim(&work).await.context(worker)
                    }
                };
                let (first, second) = tokio::join!(late("first", one, first), late("second", other, second));
                let (first, second) = (first?, second?);
                match (first.execute(), second.execute()) {
                    (Ok(_), Err(_)) => ensure!(second.held()?.owner == "first"),
                    (Err(_), Ok(_)) => ensure!(first.held()?.owner == "second"),
                    (Ok(_), Ok(_)) => anyhow::bail!("round {round}: both were granted"),
                    (Err(error), Err(_)) => return Err(error.context(format!("round {round}: nobody"))),
                }
                Ok(())
            }
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b32_claims_beside_inserts_that_end_either_way_always_get_an_answer() -> anyhow::Result<()> {
    const ROUNDS: usize = 300;
    let field = Field::start().await?;
    let template = Template::make(&field, &field.psql().await?).await?;
    let worker = field.worker("second")?;
    let contract = deduplicated();
    stream::iter((0..6).map(anyhow::Ok))
        .try_for_each_concurrent(None, |stranger| {
            let (url, template, worker, contract) = (&field.database.url, &template, &worker, &contract);
            async move {
                let client = psql(url).await?;
                for round in 0..ROUNDS / 6 {
                    let work = Work::new(&format!("round-{stranger}-{round}"), contract);
                    let (pause, commits) = {
                        let mut rng = rand::rng();
                        (ms(rng.random_range(0..30)), rng.random_bool(0.5))
                    };
                    client.batch_execute("BEGIN").await?;
                    template.insert(&client, work.id()).await?;
                    let end = async {
                        tokio::time::sleep(pause).await;
                        client
                            .batch_execute(if commits { "COMMIT" } else { "ROLLBACK" })
                            .await
                    };
                    let (answer, ended) = tokio::join!(worker.claim(&work), end);
                    ended?;
                    if commits {
                        ensure!(answer?.held()?.owner == "holder");
                    } else {
                        answer?.execute()?;
                    }
                }
                Ok(())
            }
        })
        .await
}
