//! B34: batches over the same rows in every order, on two servers, with their sweepers in between. Nobody waits for
//! anybody in a circle.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use deed_client::{Contract, NotSentReason, Observation, Receipt, Retry};
use deed_proto::v1;
use deed_proto::v1::batch_result::Result as Entry;
use deed_proto::v1::next_step::Kind;
use deed_tests::support::server::Options;
use deed_tests::support::work::{Work, Worker, request_id};
use deed_tests::support::{database, psql};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tonic::Status;

use crate::shop::CLOCK_STEP;
use crate::{Field, PATIENCE, ms};

/// How long, in seconds; the scenario's own length is 60.
const SECONDS_VARIABLE: &str = "DEED_TEST_DEADLOCK_SECONDS";
const SECONDS: u64 = 8;

const WORKERS: usize = 50;
const ACTIONS: usize = 100;

/// The same hundred ids for everybody, and new ones so often.
const GENERATION: Duration = Duration::from_millis(700);

/// Others are new so often that nearly every batch inserts some: first claims meet as well.
const FRESH: Duration = Duration::from_millis(60);

/// What a worker saw, by name.
type Seen = BTreeMap<&'static str, usize>;

fn contract() -> Contract {
    let retry = Retry::default()
        .backoff(ms(1), 1.0, ms(1))
        .max_attempts(1_000)
        .max_verifications(1_000);
    // Short, so that leases lapse all the time and the sweepers have something to write.
    Contract::serialized(Duration::ZERO)
        .lease(ms(300))
        .send_timeout(ms(100))
        .retry(retry)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b34_batches_in_any_order_and_sweepers_on_two_servers_never_deadlock() -> anyhow::Result<()> {
    let seconds = std::env::var(SECONDS_VARIABLE)
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    let lasts = Duration::from_secs(seconds.unwrap_or(SECONDS));
    let mut field = Field {
        database: database().await,
        servers: Vec::new(),
    };
    let psql = psql(&field.database.url).await?;
    // SUBTLE: sooner than any wait for a lock is given up, or a circle would be broken before Postgres sees it.
    let seen_soon = format!(
        "ALTER DATABASE {} SET deadlock_timeout = '5ms'",
        field.database.name
    );
    psql.batch_execute(&seen_soon).await?;
    plant(&field).await?;
    for _ in 0..2 {
        // One lane: its transactions take many rows each, and last longest.
        let options = Options::default().with(&CLOCK_STEP).with(&["--lanes", "1"]);
        field.add(options).await?;
    }
    let begun = Instant::now();
    let workers = (0..WORKERS).map(|n| {
        let worker = Worker::at(&field.servers[n % 2].url(), &format!("w{n}"));
        tokio::spawn(async move { work(&worker?, StdRng::seed_from_u64(n as u64), begun, lasts).await })
    });
    let mut seen = Seen::new();
    for worker in futures::future::join_all(workers).await {
        for (name, count) in worker?? {
            *seen.entry(name).or_default() += count;
        }
    }
    eprintln!("{seen:?}");
    for name in ["Execute", "VerifyEffect", "Held"] {
        ensure!(
            seen.get(name).is_some_and(|count| *count > 100),
            "{name}: {seen:?}"
        );
    }
    // What a session has counted is told at its end at the latest.
    for server in &mut field.servers {
        server.terminate()?;
        server.ended().await?;
        ensure!(!server.said().contains("ERROR"), "{}", server.said());
    }
    let swept = "SELECT count(*) FROM events WHERE kind = 'LAPSED'";
    ensure!(
        psql.query_one(swept, &[]).await?.get::<_, i64>(0) > 100,
        "hardly anything lapsed"
    );
    let row = psql
        .query_one(
            "SELECT deadlocks, xact_commit FROM pg_stat_database WHERE datname = current_database()",
            &[],
        )
        .await?;
    let (deadlocks, commits): (i64, i64) = (row.get(0), row.get(1));
    ensure!(
        deadlocks == PLANTED && commits > 1_000,
        "{deadlocks} deadlocks in {commits} transactions"
    );
    Ok(())
}

/// What the counter shows where nobody else waits in a circle: a counter that stands still proves nothing.
const PLANTED: i64 = 1;

/// Two sessions that wait for each other, until Postgres ends one.
async fn plant(field: &Field) -> anyhow::Result<()> {
    let (one, two) = (field.psql().await?, field.psql().await?);
    one.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(1)")
        .await?;
    two.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(2)")
        .await?;
    let (first, second) = tokio::join!(
        one.batch_execute("SELECT pg_advisory_xact_lock(2); COMMIT"),
        two.batch_execute("SELECT pg_advisory_xact_lock(1); COMMIT"),
    );
    ensure!(first.is_err() != second.is_err(), "{first:?} {second:?}");
    Ok(())
}

/// Claims and reports in batches, each in an order of its own.
async fn work(worker: &Worker, mut rng: StdRng, begun: Instant, lasts: Duration) -> anyhow::Result<Seen> {
    let mut seen = Seen::new();
    while begun.elapsed() < lasts {
        let (name, lives) = if rng.random_bool(0.5) {
            ("order", GENERATION)
        } else {
            ("fresh", FRESH)
        };
        let generation = begun.elapsed().as_millis() / lives.as_millis();
        let mut works: Vec<Work> = (0..ACTIONS)
            .map(|n| Work::new(&format!("{name}-{n}-{generation}"), &contract()))
            .collect();
        works.shuffle(&mut rng);
        works.truncate(rng.random_range(2..=ACTIONS));
        let claims = works
            .iter()
            .map(|work| worker.claim_request(work, rng.random_bool(0.7)));
        let claims = v1::BatchClaimRequest {
            entries: claims.collect(),
        };
        let claimed = fair(tokio::time::timeout(PATIENCE, worker.ownership().batch_claim(claims)).await?)?;
        let mut reports = Vec::new();
        let mut leases = Vec::new();
        for (work, result) in works.iter().zip(claimed.into_inner().results) {
            match step(result)? {
                Kind::Execute(execute) => {
                    *seen.entry("Execute").or_default() += 1;
                    leases.push(v1::RenewEntry {
                        key: Some(work.key.clone()),
                        fencing_token: execute.fencing_token,
                    });
                    // Some reports never come: time decides.
                    match rng.random_range(0..3) {
                        0 => {}
                        1 => reports.push(worker.report_request(
                            work,
                            execute.fencing_token,
                            &Receipt::not_sent(NotSentReason::Other, "a test"),
                        )),
                        _ => reports.push(worker.report_request(
                            work,
                            execute.fencing_token,
                            &Receipt::unknown("a test").ended(),
                        )),
                    }
                }
                Kind::VerifyEffect(verify) => {
                    *seen.entry("VerifyEffect").or_default() += 1;
                    let absent = Observation::not_found();
                    fair(
                        worker
                            .verify(work, verify.fencing_token, &absent, v1::Then::Nothing)
                            .await,
                    )?;
                }
                Kind::Held(_) => *seen.entry("Held").or_default() += 1,
                _ => *seen.entry("other").or_default() += 1,
            }
        }
        leases.shuffle(&mut rng);
        if !leases.is_empty() {
            let renewals = v1::RenewRequest {
                owner: worker.owner.clone(),
                request_id: request_id(),
                leases,
            };
            fair(worker.ownership().renew(renewals).await)?;
        }
        reports.shuffle(&mut rng);
        if !reports.is_empty() {
            let reports = v1::BatchReportRequest { entries: reports };
            for result in fair(worker.ownership().batch_report(reports).await)?
                .into_inner()
                .results
            {
                step(result)?;
            }
        }
    }
    Ok(seen)
}

/// The database is there all the time: there is nothing to be refused, aborted or unavailable.
fn fair<T>(answer: Result<T, Status>) -> anyhow::Result<T> {
    answer.with_context(|| "a call was not judged")
}

fn step(result: v1::BatchResult) -> anyhow::Result<Kind> {
    match result.result.context("an entry without a result")? {
        Entry::Answer(answer) => answer
            .next_step
            .and_then(|step| step.kind)
            .context("an answer without a step"),
        Entry::Error(error) => bail!("an entry was not judged: {error:?}"),
    }
}
