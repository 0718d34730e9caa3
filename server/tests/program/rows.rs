//! Rows that somebody else holds, callers that go, replicas that race: the committer on a real Postgres.

use std::time::{Duration, Instant};

use deed_proto::v1::next_step::Kind;
use tokio_postgres::Client;

use crate::database::Database;
use crate::process::Server;
use crate::worker::Worker;

/// Holds the row until the session is dropped.
pub async fn hold(database: &Database, action_id: &str) -> Client {
    let psql = database.psql().await;
    let lock = format!("BEGIN; SELECT FROM actions WHERE action_id = '{action_id}' FOR UPDATE");
    psql.batch_execute(&lock).await.unwrap();
    psql
}

/// Waits until so many sessions wait for a lock.
pub async fn waiting_for_locks(database: &Database, sessions: i64) {
    let psql = database.psql().await;
    let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    loop {
        let waiting: i64 = psql.query_one(count, &[]).await.unwrap().get(0);
        if waiting >= sessions {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn b08_a_grant_that_waited_for_its_row_counts_from_the_grant() {
    let database = Database::empty().await;
    let server = Server::on(&database.url).await;
    let worker = Worker::at(&server).await;
    let token = worker.execute("slow").await.fencing_token;
    let held = hold(&database, "slow").await;
    let reporting = tokio::spawn({
        let worker = worker.clone();
        async move { worker.complete("slow", token).await }
    });
    waiting_for_locks(&database, 1).await;
    // Longer than transient failures are mended: being held is none.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let neighbours = Instant::now();
    for n in 0..20 {
        worker.execute(&format!("free-{n}")).await;
    }
    assert!(neighbours.elapsed() < Duration::from_secs(2));
    drop(held);
    let settled = reporting.await.unwrap().unwrap();
    assert!(matches!(settled, Kind::Settled(_)), "{settled:?}");
}

#[tokio::test]
async fn b32_a_first_insert_that_is_held_open_holds_up_only_its_own_claim() {
    for end in ["COMMIT", "ROLLBACK"] {
        let database = Database::empty().await;
        let server = Server::on(&database.url).await;
        let worker = Worker::at(&server).await;
        worker.execute("model").await;
        let psql = database.psql().await;
        // Somebody's first claim of the same key, not committed yet. Its history matters to nobody here.
        let columns = "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
            WHERE attrelid = 'actions'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
              AND attname <> 'action_id'";
        let columns: String = psql.query_one(columns, &[]).await.unwrap().get(0);
        let insert = format!(
            "BEGIN; INSERT INTO actions (action_id, {columns}) SELECT 'raced', {columns} FROM actions WHERE action_id = 'model'"
        );
        psql.batch_execute(&insert).await.unwrap();
        let second = tokio::spawn({
            let worker = worker.named("w2");
            async move { worker.claim("raced").await }
        });
        waiting_for_locks(&database, 1).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        worker.execute("neighbour").await;
        psql.batch_execute(end).await.unwrap();
        let told = second.await.unwrap().unwrap();
        match end {
            "COMMIT" => assert!(matches!(told, Kind::Held(_)), "{told:?}"),
            _ => assert!(matches!(told, Kind::Execute(_)), "{told:?}"),
        }
    }
}

#[tokio::test]
async fn b36_cancelled_claims_leave_no_transaction_open() {
    let database = Database::empty().await;
    let server = Server::start(&["serve", "--database-url", &database.url, "--lanes", "1"]).await;
    let worker = Worker::at(&server).await;
    let claims: Vec<_> = (0..500_u64)
        .map(|n| {
            let worker = worker.clone();
            tokio::spawn(async move {
                let patience = Duration::from_millis(n % 6);
                tokio::time::timeout(patience, worker.claim(&format!("gone-{n}"))).await
            })
        })
        .collect();
    for claim in claims {
        let _given_up = claim.await.unwrap();
    }
    let asked = Instant::now();
    worker.execute("last").await;
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    let idle = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND now() - state_change > '100 ms'";
    let psql = database.psql().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let idle: i64 = psql.query_one(idle, &[]).await.unwrap().get(0);
    assert_eq!(idle, 0);
}

#[tokio::test]
async fn b24_of_many_claims_over_two_servers_one_gets_the_grant() {
    let database = Database::empty().await;
    // Both start with migrations pending.
    let (one, two) = tokio::join!(Server::on(&database.url), Server::on(&database.url));
    let workers = [Worker::at(&one).await, Worker::at(&two).await];
    for round in 0..20 {
        let claims: Vec<_> = (0..50)
            .map(|n| {
                let worker = workers[n % 2].clone();
                tokio::spawn(async move { worker.claim(&format!("round-{round}")).await.unwrap() })
            })
            .collect();
        let mut granted = 0;
        for claim in claims {
            match claim.await.unwrap() {
                Kind::Execute(_) => granted += 1,
                Kind::Held(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(granted, 1);
    }
}

#[tokio::test]
async fn a_server_whose_database_sessions_are_killed_goes_on() {
    let database = Database::empty().await;
    let server = Server::on(&database.url).await;
    let worker = Worker::at(&server).await;
    worker.execute("before").await;
    let psql = database.psql().await;
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'deed-server'";
    for n in 0..10 {
        psql.batch_execute(kill).await.unwrap();
        worker.execute(&format!("after-{n}")).await;
    }
}
