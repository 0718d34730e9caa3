//! What the database does beneath: cheap renewals, raised settings, connections that come back.

use std::time::Duration;

use deed_core::command::Ask;
use deed_server::store::{Busy, Error, Row, Transact};

use crate::fixture::{Fixture, claim, command, done, look, lookup};

#[tokio::test]
async fn renewals_are_hot_updates() {
    let fixture = Fixture::alone().await;
    deed_server::store::migrate(&fixture.database).await.unwrap();
    let mut session = fixture.session();
    let mut tokens = Vec::new();
    for n in 0..20 {
        let action = done(&mut session, &claim(&format!("order-{n}"), "w1")).await;
        tokens.push(action.grant.unwrap().token);
    }
    for _ in 0..10 {
        for (n, token) in tokens.iter().enumerate() {
            let renew = command(&format!("order-{n}"), "w1", Ask::Renew { token: *token });
            done(&mut session, &renew).await;
        }
    }
    let psql = fixture.psql().await;
    drop(session);
    // Statistics of a session are told at its end at the latest.
    let counted = async {
        loop {
            let row = psql
                .query_one(
                    "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'actions'",
                    &[],
                )
                .await
                .unwrap();
            let (updates, hot): (i64, i64) = (row.get(0), row.get(1));
            if updates >= 200 {
                return (updates, hot);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (updates, hot) = tokio::time::timeout(Duration::from_secs(20), counted)
        .await
        .unwrap();
    assert!(hot * 10 >= updates * 9, "{hot} of {updates}");
}

#[tokio::test]
async fn a_weak_default_is_raised_and_a_strong_one_is_left() {
    let fixture = Fixture::migrated().await;
    let psql = fixture.psql().await;
    // A trigger tells from inside of the store's own transactions.
    psql.batch_execute(
        "CREATE TABLE seen (setting text);
         CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
         CREATE TRIGGER see AFTER INSERT ON actions FOR EACH ROW EXECUTE FUNCTION see()",
    )
    .await
    .unwrap();
    let name: String = psql
        .query_one("SELECT current_database()", &[])
        .await
        .unwrap()
        .get(0);
    for (n, (default, seen)) in [
        ("off", "on"),
        ("local", "on"),
        ("remote_write", "on"),
        ("remote_apply", "remote_apply"),
    ]
    .into_iter()
    .enumerate()
    {
        psql.batch_execute(&format!(
            "ALTER DATABASE {name} SET synchronous_commit = {default}; TRUNCATE seen"
        ))
        .await
        .unwrap();
        done(&mut fixture.session(), &claim(&format!("order-{n}"), "w1")).await;
        let found: String = psql
            .query_one("SELECT setting FROM seen", &[])
            .await
            .unwrap()
            .get(0);
        assert_eq!(found, seen, "default {default}");
    }
}

#[tokio::test]
async fn a_killed_connection_fails_once_and_is_made_anew() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    done(&mut session, &claim("order-1", "w1")).await;
    let psql = fixture.psql().await;
    let kill = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE application_name = 'deed-server' AND datname = current_database()";

    let again = claim("order-2", "w1");
    let reading = session.read(&[lookup(&again)], Busy::Skip).await.unwrap();
    psql.query(kill, &[]).await.unwrap();
    let judged = crate::fixture::judge(&again, &reading.rows[0], reading.now);
    let failed = session
        .write(&[crate::fixture::write(&reading.rows[0], &judged)], false)
        .await
        .unwrap_err();
    assert!(
        matches!(
            failed,
            Error::Determinate { transient: true, .. } | Error::Indeterminate { .. }
        ),
        "{failed:?}"
    );
    assert!(!format!("{failed:?} {failed}").contains("password"));

    assert!(look(&mut session, "order-2").await.0.is_none());
    done(&mut session, &again).await;
}

#[tokio::test]
async fn a_half_that_is_given_up_leaves_no_lock_and_no_transaction() {
    let fixture = Fixture::migrated().await;
    let (mut one, mut two) = (fixture.session(), fixture.session());
    let held = claim("order-1", "w1");
    done(&mut one, &held).await;
    one.read(&[lookup(&held)], Busy::Skip).await.unwrap();

    // Given up while it waits for the lock.
    let lookups = [lookup(&held)];
    let waiting = two.read(&lookups, Busy::Wait(Duration::from_secs(60)));
    assert!(
        tokio::time::timeout(Duration::from_millis(50), waiting)
            .await
            .is_err()
    );
    assert!(look(&mut two, "order-2").await.0.is_none(), "the session goes on");

    // Read, and never written.
    let reading = one
        .read(&[lookup(&held)], Busy::Wait(Duration::from_secs(5)))
        .await
        .unwrap();
    assert!(matches!(reading.rows[..], [Row::Found(..)]));
    one.write(&[], false).await.unwrap();
    let idle = "SELECT count(*) FROM pg_stat_activity
                WHERE application_name = 'deed-server' AND datname = current_database()
                  AND state = 'idle in transaction'";
    let idle: i64 = fixture.psql().await.query_one(idle, &[]).await.unwrap().get(0);
    assert_eq!(idle, 0);
}

#[tokio::test]
async fn time_is_read_after_the_lock_and_the_wait_is_told() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let held = claim("order-1", "w1");
    done(&mut session, &held).await;
    let mut psql = fixture.psql().await;
    let holding = psql.transaction().await.unwrap();
    holding
        .execute("SELECT FROM actions FOR UPDATE", &[])
        .await
        .unwrap();
    let lookups = [lookup(&held)];
    let reading = session.read(&lookups, Busy::Wait(Duration::from_secs(10)));
    let release = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let row = holding
            .query_one(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
                &[],
            )
            .await;
        holding.commit().await.unwrap();
        row.unwrap().get::<_, i64>(0)
    };
    let (reading, released) = tokio::join!(reading, release);
    let reading = reading.unwrap();
    assert!(
        reading.now.micros() >= released,
        "the time is from before the wait"
    );
    assert!(reading.waited.micros() >= 200_000, "{}", reading.waited);
}
