//! Plans are kept for the life of a session, so none may depend on what the tables looked like when it was made: on empty
//! ones a planner would rather read a whole table than look a key up.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};

use deed_core::command::Command;
use deed_server::store::{Busy, Session, Transact};
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::fixture::{Fixture, claim, completed, done, judge, lookup, report, write};

/// Every look-up of a transaction, for one key that exists and one that does not; and, once there is a row, its update.
const STATEMENTS: [&str; 7] = [
    "SELECT count(*) FROM deed_lock_free(ARRAY['tests', 'tests'], ARRAY['order-1', 'none'])",
    "SELECT count(*) FROM deed_lock(ARRAY['tests', 'tests'], ARRAY['order-1', 'none'])",
    "SELECT count(*) FROM deed_results(ARRAY['tests', 'tests'], ARRAY['order-1', 'none'])",
    "SELECT count(*) FROM deed_proven(
        ARRAY['tests', 'tests'], ARRAY['order-1', 'none'], ARRAY['t', 't'], ARRAY['INV-1', 'none'])",
    "SELECT count(*) FROM deed_remembered(
        ARRAY[coalesce((SELECT created_at FROM actions WHERE namespace = 'tests' AND action_id = 'order-1'), now())],
        ARRAY['tests'], ARRAY['order-1'], ARRAY[gen_random_uuid()], ARRAY[7])",
    "SELECT deed_register(ARRAY['tests'], ARRAY['t'], ARRAY['none'], ARRAY['none']),
            deed_keep_results(ARRAY['tests'], ARRAY['none'], ARRAY[gen_random_uuid()], ARRAY['x'::bytea])",
    "SELECT deed_update(
        ARRAY[ctid], ARRAY[namespace], ARRAY[action_id], ARRAY[version],
        ARRAY[state], ARRAY[state_since], ARRAY[doubt], ARRAY[stop], ARRAY[closure], ARRAY[reason],
        ARRAY[version], ARRAY[sequence], ARRAY[token], ARRAY[lease_token], ARRAY[lease_owner],
        ARRAY[lease_principal], ARRAY[lease_kind], ARRAY[lease_granted_at], ARRAY[lease_expires_at],
        ARRAY[lease_begun_at], ARRAY[lease_ended], ARRAY[lease_terms], ARRAY[approval_expires_at], ARRAY[attempts],
        ARRAY[undisproved], ARRAY[external_id], ARRAY[effect_id], ARRAY[duplicate_suspected], ARRAY[contradicted],
        ARRAY[ungated], ARRAY[assignee], ARRAY[progress], ARRAY[NULL::uuid],
        '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')
       FROM (SELECT a.*, a.ctid FROM actions AS a WHERE namespace = 'tests' AND action_id = 'order-1') AS a",
];

/// A session that tells the plan of whatever it runs, also within functions.
struct Explained {
    client: Client,
    told: Arc<Mutex<Vec<String>>>,
}

impl Explained {
    async fn connect(url: &str) -> Self {
        let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notice(notice) = message {
                    heard.lock().unwrap().push(notice.message().to_owned());
                }
            }
        });
        client
            .batch_execute(
                "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;
                 SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = notice",
            )
            .await
            .unwrap();
        Self { client, told }
    }

    /// The nodes that read a table of ours, of all plans: what each is, and whether it looks keys up.
    async fn run(&self) -> Vec<(String, bool)> {
        self.told.lock().unwrap().clear();
        for statement in STATEMENTS {
            self.client.batch_execute(statement).await.unwrap();
        }
        let plans = self.told.lock().unwrap().clone();
        plans.iter().flat_map(|plan| scans(plan)).collect()
    }
}

fn scans(plan: &str) -> Vec<(String, bool)> {
    let mut found: Vec<(String, bool)> = Vec::new();
    let mut inside = false;
    for line in plan.lines() {
        let line = line.trim_start().trim_start_matches("->").trim_start();
        if line.contains("(cost=") {
            let table = ["actions", "events", "external_ids", "results"]
                .iter()
                .any(|table| line.contains(&format!(" on {table}")));
            inside = line.contains(" Scan ") && table;
            if inside {
                found.push((line.split("  (cost=").next().unwrap().to_owned(), false));
            }
        } else if inside && (line.starts_with("Index Cond:") || line.starts_with("TID Cond:")) {
            found.last_mut().unwrap().1 = true;
        }
    }
    found
}

async fn carry_all(session: &mut Session, commands: &[Command]) {
    let lookups: Vec<_> = commands.iter().map(lookup).collect();
    let reading = session.read(&lookups, Busy::Skip).await.unwrap();
    let judged: Vec<_> = commands
        .iter()
        .zip(&reading.rows)
        .map(|(command, row)| judge(command, row, reading.now))
        .collect();
    let writes: Vec<_> = reading
        .rows
        .iter()
        .zip(&judged)
        .map(|(row, judged)| write(row, judged))
        .collect();
    let written = session.write(&writes, false).await.unwrap();
    assert!(written.iter().all(|written| *written));
}

/// An order with an external id and a result.
async fn settle_one(session: &mut Session) {
    let claimed = done(session, &claim("order-1", "w1")).await;
    let receipt = completed("INV-1", b"x");
    done(session, &report("order-1", "w1", claimed.token, receipt)).await;
}

async fn claim_many(session: &mut Session, orders: std::ops::Range<u32>) {
    let ids: Vec<_> = orders.map(|n| format!("order-{n:06}")).collect();
    for batch in ids.chunks(1_000) {
        let claims: Vec<_> = batch.iter().map(|id| claim(id, "w1")).collect();
        carry_all(session, &claims).await;
    }
}

#[tokio::test]
async fn every_statement_looks_keys_up_on_empty_small_and_large_tables_with_kept_plans_and_with_fresh_ones() {
    let fixture = Fixture::alone().await;
    deed_server::store::migrate(&fixture.database).await.unwrap();
    let oldest = Explained::connect(&fixture.url).await;
    let empty = oldest.run().await;

    let mut session = fixture.session();
    settle_one(&mut session).await;
    claim_many(&mut session, 0..20).await;
    let small = Explained::connect(&fixture.url).await.run().await;
    claim_many(&mut session, 20..20_000).await;
    let kept = oldest.run().await;
    let unanalysed = Explained::connect(&fixture.url).await.run().await;
    fixture.psql().await.batch_execute("ANALYZE").await.unwrap();
    let analysed = Explained::connect(&fixture.url).await.run().await;

    for (when, scans) in [
        ("empty", &empty),
        ("small", &small),
        ("large, plans kept since it was empty", &kept),
        ("large, never analysed", &unanalysed),
        ("large, analysed", &analysed),
    ] {
        for (node, by_key) in scans {
            // The test's own sub-selects read `actions`, by key too.
            assert!(by_key, "{when}: {node} reads a whole table: {scans:#?}");
        }
        for table in ["actions", "results", "external_ids"] {
            let read = scans
                .iter()
                .any(|(node, _)| node.contains(&format!(" on {table}")));
            assert!(read, "{when}: no plan reads {table}: {scans:#?}");
        }
    }
    for scans in [small, kept, unanalysed, analysed] {
        let by_place = |(node, _): &(String, bool)| node.starts_with("Tid Scan");
        assert!(
            scans.iter().any(by_place),
            "no row was updated at its place: {scans:#?}"
        );
        let history = |(node, _): &(String, bool)| node.contains(" on events_");
        assert!(scans.iter().any(history), "no history was read: {scans:#?}");
    }
}
