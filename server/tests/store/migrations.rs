//! From empty to this server's schema, by any number of servers.

use deed_server::store::{self, MigrateError, Reader};
use deed_server::sweeper::Upkeep;

use crate::fixture::{Fixture, claim, done};

#[tokio::test]
async fn three_servers_that_start_at_once_migrate_once() {
    let fixture = Fixture::empty().await;
    let starts = [(); 3].map(|()| store::migrate(&fixture.database));
    let mut applied = 0;
    for migrated in futures::future::join_all(starts).await {
        applied += migrated.unwrap().applied.len();
    }
    let listed: i64 = fixture
        .psql()
        .await
        .query_one("SELECT count(*) FROM refinery_schema_history", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(i64::try_from(applied).unwrap(), listed);
    assert_eq!(
        store::migrate(&fixture.database).await.unwrap().applied,
        Vec::<String>::new()
    );
    done(&mut fixture.session(), &claim("order-1", "w1")).await;
}

#[tokio::test]
async fn nothing_pending_takes_no_lock() {
    let fixture = Fixture::migrated().await;
    let psql = fixture.psql().await;
    psql.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(1684366692, 1)")
        .await
        .unwrap();
    assert_eq!(
        store::migrate(&fixture.database).await.unwrap().applied,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn what_is_pending_is_named_and_left_alone() {
    let fixture = Fixture::empty().await;
    let refused = store::up_to_date(&fixture.database).await.unwrap_err();
    let MigrateError::Pending { pending, .. } = refused else {
        panic!("{refused:?}")
    };
    let applied = store::migrate(&fixture.database).await.unwrap().applied;
    assert_eq!(pending, applied);
    store::up_to_date(&fixture.database).await.unwrap();

    let psql = fixture.psql().await;
    psql.batch_execute("UPDATE refinery_schema_history SET checksum = '1' WHERE version = 1")
        .await
        .unwrap();
    let refused = store::up_to_date(&fixture.database).await.unwrap_err();
    let MigrateError::Pending { pending, .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(pending, applied[..1], "applied in another form");
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_refused() {
    let fixture = Fixture::migrated().await;
    let psql = fixture.psql().await;
    psql.batch_execute("UPDATE refinery_schema_history SET checksum = '1'")
        .await
        .unwrap();
    let refused = store::migrate(&fixture.database).await.unwrap_err();
    assert!(matches!(refused, MigrateError::Refused { .. }), "{refused:?}");
}

#[tokio::test]
async fn history_lies_in_the_partition_of_its_day_and_coming_days_have_one() {
    let fixture = Fixture::migrated().await;
    done(&mut fixture.session(), &claim("order-1", "w1")).await;
    let psql = fixture.psql().await;
    let count = "SELECT (SELECT count(*) FROM events_default),
                        (SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass)";
    let row = psql.query_one(count, &[]).await.unwrap();
    let (strays, partitions): (i64, i64) = (row.get(0), row.get(1));
    assert_eq!(
        (strays, partitions),
        (0, 9),
        "the default one, today and a week ahead"
    );

    Reader::new(fixture.database.clone())
        .prepare_days()
        .await
        .unwrap();
    assert_eq!(
        psql.query_one(count, &[]).await.unwrap().get::<_, i64>(1),
        9,
        "none twice"
    );
}

#[tokio::test]
async fn a_day_without_a_partition_loses_nothing() {
    let fixture = Fixture::migrated().await;
    let psql = fixture.psql().await;
    let day: String = psql
        .query_one(
            "SELECT 'events_' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD')",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    psql.batch_execute(&format!("DROP TABLE {day}")).await.unwrap();
    done(&mut fixture.session(), &claim("order-1", "w1")).await;
    Reader::new(fixture.database.clone())
        .prepare_days()
        .await
        .unwrap();
    let strays: i64 = psql
        .query_one("SELECT count(*) FROM events_default", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(strays, 1);
}

#[tokio::test]
async fn the_database_says_how_durable_it_is() {
    let fixture = Fixture::empty().await;
    let found = store::durability(&fixture.database).await.unwrap();
    assert!(found.fsync && found.version_num >= 140_000, "{found:?}");
    assert_eq!(found.weaknesses(), [store::Weakness::NoSynchronousStandby]);
}
