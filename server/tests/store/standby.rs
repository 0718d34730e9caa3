//! COMMIT waits for a standby, and somebody ends the wait: what was committed here may not be anywhere else.

use std::time::Duration;

use deed_server::store::{Busy, Error, Transact, migrate};
use tokio_postgres::Client;

use crate::fixture::{Fixture, carry, claim, look, lookup};

/// Waits until a COMMIT of the store waits for the standby.
async fn waiting(psql: &Client) {
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'deed-server'";
    let seen = async {
        while psql.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.unwrap();
}

async fn standby(psql: &Client, names: &str) {
    psql.execute(
        &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"),
        &[],
    )
    .await
    .unwrap();
    psql.query("SELECT pg_reload_conf()", &[]).await.unwrap();
    let set = async {
        let shown = "SELECT current_setting('synchronous_standby_names')";
        while psql.query_one(shown, &[]).await.unwrap().get::<_, String>(0) != names {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), set).await.unwrap();
}

#[tokio::test]
async fn a_commit_whose_wait_for_the_standby_is_cut_off_is_indeterminate() {
    let fixture = Fixture::alone().await;
    migrate(&fixture.database).await.unwrap();
    let psql = fixture.psql().await;
    psql.batch_execute("SET synchronous_commit = local")
        .await
        .unwrap();
    for (id, cut) in [
        ("cancelled", "pg_cancel_backend(pid)"),
        ("terminated", "pg_terminate_backend(pid)"),
    ] {
        standby(&psql, "nobody").await;
        let mut session = fixture.session();
        let command = claim(id, "w1");
        let carrying = tokio::spawn(async move { carry(&mut session, &command).await.map(|_| ()) });
        waiting(&psql).await;
        psql.query(
            &format!("SELECT {cut} FROM pg_stat_activity WHERE wait_event = 'SyncRep'"),
            &[],
        )
        .await
        .unwrap();
        let failed = carrying.await.unwrap().unwrap_err();
        assert!(matches!(failed, Error::Indeterminate { .. }), "{id}: {failed:?}");

        standby(&psql, "").await;
        let (stored, _) = look(&mut fixture.session(), id).await;
        assert!(stored.is_some(), "{id}: it was committed here all the same");
    }
}

#[tokio::test]
async fn what_is_read_back_is_told_only_after_a_commit_that_waited_for_the_standby() {
    let fixture = Fixture::alone().await;
    migrate(&fixture.database).await.unwrap();
    let psql = fixture.psql().await;
    psql.batch_execute("SET synchronous_commit = local")
        .await
        .unwrap();
    standby(&psql, "nobody").await;
    let mut session = fixture.session();
    // A row that is not there takes no lock and writes nothing: its COMMIT by itself would wait for nobody.
    let lookups = [lookup(&claim("absent", "w1"))];
    session.read(&lookups, Busy::Skip).await.unwrap();
    session.write(&[], false).await.unwrap();

    session.read(&lookups, Busy::Skip).await.unwrap();
    let telling = tokio::spawn(async move { session.write(&[], true).await });
    waiting(&psql).await;
    assert!(!telling.is_finished());
    standby(&psql, "").await;
    telling.await.unwrap().unwrap();
}
