//! Two transactions at once.

use std::time::Duration;

use deed_server::store::{Busy, Error, Row, Transact};

use crate::fixture::{Fixture, carry, claim, completed, done, judge, lookup, report, write};

#[tokio::test]
async fn of_two_first_claims_at_one_instant_one_is_judged_again() {
    let fixture = Fixture::migrated().await;
    let (mut one, mut two) = (fixture.session(), fixture.session());
    let (first, second) = (claim("order-1", "w1"), claim("order-1", "w2"));
    let seen_by_one = one.read(&[lookup(&first)], Busy::Skip).await.unwrap();
    let seen_by_two = two.read(&[lookup(&second)], Busy::Skip).await.unwrap();
    assert!(matches!(seen_by_two.rows[0], Row::Absent(_)));

    let judged = judge(&first, &seen_by_one.rows[0], seen_by_one.now);
    assert_eq!(
        one.write(&[write(&seen_by_one.rows[0], &judged)], false)
            .await
            .unwrap(),
        [true]
    );
    let judged = judge(&second, &seen_by_two.rows[0], seen_by_two.now);
    assert_eq!(
        two.write(&[write(&seen_by_two.rows[0], &judged)], false)
            .await
            .unwrap(),
        [false]
    );

    let events: i64 = fixture
        .psql()
        .await
        .query_one("SELECT count(*) FROM events", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(events, 1, "the loser left no history");
}

#[tokio::test]
async fn a_row_that_somebody_holds_is_busy_and_an_unknown_one_absent() {
    let fixture = Fixture::migrated().await;
    let (mut one, mut two) = (fixture.session(), fixture.session());
    let held = claim("held", "w1");
    done(&mut one, &held).await;
    let other = claim("other", "w1");
    done(&mut one, &other).await;
    one.read(&[lookup(&held)], Busy::Skip).await.unwrap();

    let lookups = [lookup(&held), lookup(&claim("new", "w2")), lookup(&other)];
    let reading = two.read(&lookups, Busy::Skip).await.unwrap();
    assert!(
        matches!(reading.rows[..], [Row::Busy, Row::Absent(_), Row::Found(..)]),
        "{:?}",
        reading.rows
    );
    two.write(&[], false).await.unwrap();

    let failed = two
        .read(&[lookup(&held)], Busy::Wait(Duration::from_millis(20)))
        .await
        .unwrap_err();
    assert!(matches!(failed, Error::Busy), "{failed:?}");

    drop(one);
    let reading = two
        .read(&[lookup(&held)], Busy::Wait(Duration::from_secs(5)))
        .await
        .unwrap();
    assert!(matches!(reading.rows[..], [Row::Found(..)]));
}

#[tokio::test]
async fn an_external_id_that_proves_another_action_fails_its_command_alone() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let mut tokens = Vec::new();
    for id in ["order-1", "order-2"] {
        let action = done(&mut session, &claim(id, "w1")).await;
        tokens.push(action.grant.unwrap().token);
    }
    let first = report("order-1", "w1", tokens[0], completed("INV-1", b"1"));
    let second = report("order-2", "w1", tokens[1], completed("INV-1", b"2"));

    let reading = session
        .read(&[lookup(&first), lookup(&second)], Busy::Skip)
        .await
        .unwrap();
    let judged = [
        judge(&first, &reading.rows[0], reading.now),
        judge(&second, &reading.rows[1], reading.now),
    ];
    let writes = [
        write(&reading.rows[0], &judged[0]),
        write(&reading.rows[1], &judged[1]),
    ];
    let failed = session.write(&writes, false).await.unwrap_err();
    let Error::Determinate { what, transient, .. } = failed else {
        panic!("{failed:?}")
    };
    assert_eq!((what.as_str(), transient), ("23505", false));

    done(&mut session, &first).await;
    let (judged, _) = carry(&mut session, &second).await.unwrap();
    assert_eq!(judged.contests.unwrap().0, first.key, "the second sees the first");
}
