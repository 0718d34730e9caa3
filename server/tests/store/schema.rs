//! The schema refuses broken transitions by itself, whoever writes them.

use deed_core::action::State;
use deed_core::command::Ask;
use deed_server::store::{Busy, Error, Row, Transact, Write};
use tokio_postgres::error::SqlState;

use crate::fixture::{Fixture, claim, command, completed, done, look, lookup, report};

#[tokio::test]
async fn broken_rows_are_refused() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    done(&mut session, &claim("sent", "w1")).await;
    let spec = Box::new(crate::fixture::specification());
    done(&mut session, &command("planned", "w1", Ask::Plan { spec })).await;
    let psql = fixture.psql().await;
    for (change, constraint) in [
        (
            "lease_ended = 'LAPSED' WHERE action_id = 'sent'",
            "actions_sent_has_sender",
        ),
        (
            "lease_begun_at = NULL WHERE action_id = 'sent'",
            "actions_sent_has_sender",
        ),
        (
            "state = 'SENT' WHERE action_id = 'planned'",
            "actions_sent_has_sender",
        ),
        (
            "state = 'PLANNED' WHERE action_id = 'sent'",
            "actions_executable_has_no_doubt",
        ),
        (
            "state = 'NOT_FOUND' WHERE action_id = 'sent'",
            "actions_executable_has_no_doubt",
        ),
        (
            "state = 'UNKNOWN' WHERE action_id = 'planned'",
            "actions_unknown_has_reason",
        ),
        (
            "state = 'CONFIRMED' WHERE action_id = 'planned'",
            "actions_confirmed_has_proof",
        ),
        (
            "state = 'REJECTED' WHERE action_id = 'planned'",
            "actions_closed_says_how",
        ),
        (
            "state = 'CONFIRMED', effect_id = gen_random_uuid() WHERE action_id = 'sent'",
            "actions_settled_is_free",
        ),
        (
            "state = 'AWAITING_APPROVAL' WHERE action_id = 'planned'",
            "actions_approval_awaited",
        ),
        (
            "state = 'DONE' WHERE action_id = 'planned'",
            "actions_state_known",
        ),
        ("token = 0 WHERE action_id = 'planned'", "actions_numbers_grow"),
        ("token = 5 WHERE action_id = 'sent'", "actions_numbers_grow"),
        (
            "attempts = 0 WHERE action_id = 'sent'",
            "actions_attempts_counted",
        ),
        (
            "lease_owner = NULL WHERE action_id = 'sent'",
            "actions_lease_whole",
        ),
        (
            "lease_kind = 'VERIFY' WHERE action_id = 'sent'",
            "actions_lookup_never_begins",
        ),
    ] {
        let error = psql
            .execute(&format!("UPDATE actions SET {change}"), &[])
            .await
            .unwrap_err();
        let refused = error.as_db_error().unwrap();
        assert_eq!(
            (refused.code(), refused.constraint()),
            (&SqlState::CHECK_VIOLATION, Some(constraint)),
            "{change}"
        );
    }
}

#[tokio::test]
async fn history_takes_no_second_grant_of_a_token_no_second_effect_of_a_request_and_no_second_place() {
    let fixture = Fixture::migrated().await;
    done(&mut fixture.session(), &claim("order-1", "w1")).await;
    let psql = fixture.psql().await;
    let copy = |sequence: &str, token: &str, request: &str| {
        format!(
            "INSERT INTO events SELECT created_day, created_at, namespace, action_id, {sequence}, at, kind, {token}, attempt,
                    by_owner, by_principal, {request}, fingerprint, granted, begun, state, body, result FROM events"
        )
    };
    for (statement, index) in [
        (copy("sequence", "token + 1", "gen_random_uuid()"), "_pkey"),
        (copy("sequence + 1", "token", "gen_random_uuid()"), "_token_"),
        (copy("sequence + 1", "token + 1", "request_id"), "_request_id_"),
    ] {
        let error = psql.execute(&statement, &[]).await.unwrap_err();
        let refused = error.as_db_error().unwrap();
        assert_eq!(refused.code(), &SqlState::UNIQUE_VIOLATION, "{statement}");
        assert!(refused.constraint().unwrap().contains(index), "{refused:?}");
    }
}

#[tokio::test]
async fn what_is_confirmed_is_left_by_no_write_and_tokens_never_fall() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let claimed = done(&mut session, &claim("order-1", "w1")).await;
    let token = claimed.grant.as_ref().unwrap().token;
    let settled = done(
        &mut session,
        &report("order-1", "w1", token, completed("INV-1", b"x")),
    )
    .await;

    let mut back = settled.clone();
    back.state = State::NotFound;
    let mut fallen = settled.clone();
    fallen.token = deed_core::id::Token::new(1).unwrap();
    fallen.grant = None;
    for broken in [back, fallen] {
        let reading = session
            .read(&[lookup(&claim("order-1", "w1"))], Busy::Skip)
            .await
            .unwrap();
        assert!(matches!(reading.rows[..], [Row::Found(..)]));
        let write = Write {
            previous: Some(settled.version),
            next: &broken,
            events: &[],
            registers: None,
        };
        assert_eq!(session.write(&[write], false).await.unwrap(), [false]);
    }
    assert_eq!(look(&mut session, "order-1").await.0, Some(settled));
}

#[tokio::test]
async fn a_write_judged_on_another_version_does_not_take_place() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let claimed = done(&mut session, &claim("order-1", "w1")).await;
    session
        .read(&[lookup(&claim("order-1", "w1"))], Busy::Skip)
        .await
        .unwrap();
    let write = Write {
        previous: Some(deed_core::id::Version(claimed.version.0 + 1)),
        next: &claimed,
        events: &[],
        registers: None,
    };
    assert_eq!(session.write(&[write], false).await.unwrap(), [false]);
}

#[tokio::test]
async fn a_row_that_a_newer_server_wrote_is_not_acted_on() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    done(&mut session, &claim("order-1", "w1")).await;
    let psql = fixture.psql().await;
    for change in [
        r#"progress = (progress::jsonb || '{"new_field": 1}')::json"#,
        r"progress = (progress::jsonb - 'budget_from')::json",
        r#"specification = jsonb_set(specification::jsonb, '{contract,lease}', '0')::json"#,
    ] {
        psql.batch_execute(&format!("BEGIN; UPDATE actions SET {change}; COMMIT"))
            .await
            .unwrap();
        let failed = session
            .read(&[lookup(&claim("order-1", "w1"))], Busy::Skip)
            .await
            .unwrap_err();
        let Error::Corrupt { key, .. } = &failed else {
            panic!("{failed:?}")
        };
        assert_eq!(key, "tests/order-1");
    }
}
