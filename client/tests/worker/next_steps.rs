//! Every next step, and what the loop does with it.

use std::cell::Cell;
use std::future::ready;
use std::time::Duration;

use deed_client::{
    BlockedReason, Contract, Error, GrantKind, Guarantee, Observation, Outcome, Pending, Receipt, Seen,
    State, hours, seconds, v1,
};
use v1::receipt::Kind;

use crate::fake::{Call, Fake};
use crate::steps::{
    blocked, charge, claimable, execute, granted, held, mail, settled, unbegun, verify, wait,
};

fn done(_: deed_client::Grant) -> std::future::Ready<Receipt> {
    ready(Receipt::completed("X").with_result("receipt"))
}

fn absent(_: deed_client::Lookup) -> std::future::Ready<Observation> {
    ready(Observation::not_found())
}

#[tokio::test]
async fn a7_the_common_case_is_two_calls_and_begins_with_the_claim() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(7)).step("Report", settled("X"));
    let deed = fake.deed();
    let outcome = charge(&deed, "a")
        .expected_effect("the card is charged", &["row_exists"])
        .label("run", "r1")
        .perform(done, absent)
        .await
        .unwrap();
    assert!(outcome.confirmed());
    let settled = outcome.settled().unwrap();
    assert_eq!(
        (settled.external_id.as_str(), settled.result.as_deref()),
        ("X", Some(&b"receipt"[..]))
    );
    assert_eq!(fake.order(), ["Claim", "Report"]);

    let claim = fake.claims(1).await.remove(0);
    let specification = claim.specification.unwrap();
    assert!(claim.begin);
    assert_eq!(
        (claim.owner.as_str(), specification.tool.as_str()),
        ("worker-1", "charge_card")
    );
    assert_eq!(specification.expected_effect.unwrap().facts, ["row_exists"]);
    assert_eq!(specification.labels[0].value, "r1");
    let report = fake.reports(1).await.remove(0);
    assert_eq!((report.fencing_token, report.then()), (7, v1::Then::BegunGrant));
    assert!(matches!(report.receipt.unwrap().kind, Some(Kind::Completed(_))));
    assert!(report.specification.is_none());
}

#[tokio::test]
async fn an_action_that_leaves_doubt_to_people_begins_right_before_the_send() {
    let fake = Fake::start().await;
    fake.step("Claim", unbegun(1)).step("Begin", execute(1));
    let deed = fake.deed();
    let outcome = mail(&deed, "a").perform_without_verify(done).await.unwrap();
    assert!(outcome.confirmed());
    assert_eq!(fake.order(), ["Claim", "Begin", "Report"]);
    assert!(!fake.claims(1).await[0].begin);
}

#[tokio::test]
async fn a_shut_gate_is_not_passed() {
    let fake = Fake::start().await;
    fake.step("Claim", unbegun(1)).step("Begin", blocked());
    let deed = fake.deed();
    let sent = Cell::new(false);
    let outcome = mail(&deed, "a")
        .perform_without_verify(|_| {
            sent.set(true);
            ready(Receipt::completed("X"))
        })
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::Blocked(blocked) if blocked.reason == BlockedReason::Unverifiable));
    assert!(!sent.get());
    assert_eq!(fake.order(), ["Claim", "Begin"]);
}

#[tokio::test]
async fn the_executor_is_told_what_the_receiver_needs() {
    let fake = Fake::start().await;
    let resume = v1::execute::Resume {
        missing_facts: vec!["mail_published".to_owned()],
    };
    fake.step(
        "Claim",
        v1::next_step::Kind::Execute(v1::Execute {
            attempt: 2,
            resend: true,
            resume: Some(resume),
            ..granted(u64::from(u32::MAX) << 22)
        }),
    );
    let deed = fake.deed();
    let _settled = charge(&deed, "a")
        .perform_without_verify(|grant| async move {
            assert_eq!(grant.token().to_string(), "18014398505287680");
            assert_eq!((grant.attempt(), grant.resend()), (2, true));
            assert_eq!(grant.outward_key(), "k".repeat(32));
            assert_eq!(grant.guarantee(), Guarantee::Deduplicated);
            assert_eq!(grant.resumes(), Some(&["mail_published".to_owned()][..]));
            assert!(grant.time_left() > seconds(1) && grant.time_left() <= seconds(3));
            Receipt::completed("X")
        })
        .await
        .unwrap();
    assert!(matches!(
        fake.reports(1).await[0].receipt.clone().unwrap().kind,
        Some(Kind::Completed(_))
    ));
}

#[tokio::test]
async fn a2_doubt_is_looked_up_before_anything_else() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(1))
        .step("Report", verify(2))
        .step("Verify", settled("X"));
    let deed = fake.deed();
    let outcome = charge(&deed, "a")
        .perform(
            |_| ready(Receipt::unknown("the answer was lost")),
            |lookup| async move {
                assert_eq!((lookup.token().number(), lookup.attempts()), (2, 1));
                assert_eq!(lookup.external_id(), Some("J1"));
                lookup.judge("X", [("row_exists", Seen::True)])
            },
        )
        .await
        .unwrap();
    assert!(outcome.confirmed());
    assert_eq!(fake.order(), ["Claim", "Report", "Verify"]);
    let Call::Verify(verify) = fake.calls("Verify").remove(0).1 else {
        panic!("no verify")
    };
    let observation = verify.observation.unwrap();
    assert!(matches!(
        observation.verdict,
        Some(v1::observation::Verdict::Confirmed(_))
    ));
    assert_eq!(observation.facts[0].name, "row_exists");
}

#[tokio::test]
async fn a3_the_answer_to_an_absence_may_be_the_next_grant() {
    let fake = Fake::start().await;
    fake.step("Claim", verify(1)).step("Verify", execute(2));
    let deed = fake.deed();
    let outcome = charge(&deed, "a").perform(done, absent).await.unwrap();
    assert!(outcome.confirmed());
    assert_eq!(fake.order(), ["Claim", "Verify", "Report"]);
    assert_eq!(fake.reports(1).await[0].fencing_token, 2);
}

#[tokio::test]
async fn a5_waits_and_held_leases_are_waited_out_with_a_new_request_each() {
    let fake = Fake::start().await;
    let short = Duration::from_millis(20);
    fake.step("Claim", held(short))
        .step("Claim", wait(short))
        .step("Claim", claimable(GrantKind::Execute))
        .step("Claim", settled("X"));
    let deed = fake.deed();
    assert!(
        charge(&deed, "a")
            .perform(done, absent)
            .await
            .unwrap()
            .confirmed()
    );
    let mut ids: Vec<String> = fake
        .claims(4)
        .await
        .into_iter()
        .map(|claim| claim.request_id)
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn a_wait_beyond_the_patience_is_pending_at_once() {
    let fake = Fake::start().await;
    fake.step("Claim", wait(hours(1)));
    let deed = fake.deed();
    let outcome = charge(&deed, "a").perform(done, absent).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Pending(Pending::Wait { retry_after, .. }) if retry_after == hours(1))
    );
}

#[tokio::test]
async fn a_held_lease_is_pending_when_the_patience_is_over() {
    let fake = Fake::start().await;
    fake.step("Claim", held(seconds(60)))
        .step("Claim", held(seconds(60)));
    let deed = fake.deed();
    let action = charge(&deed, "a").patience(Duration::from_millis(50));
    let outcome = action.perform(done, absent).await.unwrap();
    assert!(matches!(outcome, Outcome::Pending(Pending::Held { owner, .. }) if owner == "worker-2"));
    assert_eq!(fake.order(), ["Claim", "Claim"]);
}

#[tokio::test]
async fn who_cannot_look_up_gives_the_lookup_back() {
    let fake = Fake::start().await;
    fake.step("Claim", verify(1))
        .step("Release", claimable(GrantKind::Verify));
    let deed = fake.deed();
    let outcome = charge(&deed, "a").perform_without_verify(done).await.unwrap();
    assert_eq!(outcome, Outcome::Pending(Pending::Claimable(GrantKind::Verify)));
    assert_eq!(fake.order(), ["Claim", "Release"]);
}

#[tokio::test]
async fn a_reconciler_gives_an_execution_back_unbegun() {
    let fake = Fake::start().await;
    fake.step("Claim", unbegun(1))
        .step("Release", claimable(GrantKind::Execute));
    let deed = fake.deed();
    let outcome = charge(&deed, "a").reconcile(absent).await.unwrap();
    assert_eq!(outcome, Outcome::Pending(Pending::Claimable(GrantKind::Execute)));
    assert!(!fake.claims(1).await[0].begin);
    assert_eq!(fake.order(), ["Claim", "Release"]);
}

#[tokio::test]
async fn planning_records_and_grants_nothing() {
    let fake = Fake::start().await;
    fake.step("Plan", claimable(GrantKind::Execute));
    let deed = fake.deed();
    let outcome = charge(&deed, "a").plan().await.unwrap();
    assert_eq!(outcome, Outcome::Pending(Pending::Claimable(GrantKind::Execute)));
}

#[tokio::test]
async fn a_rejected_action_is_settled_and_not_confirmed() {
    let fake = Fake::start().await;
    let rejected = v1::Settled {
        state: State::Rejected.into(),
        ..v1::Settled::default()
    };
    fake.step("Claim", v1::next_step::Kind::Settled(rejected));
    let deed = fake.deed();
    let outcome = charge(&deed, "a").perform(done, absent).await.unwrap();
    assert!(!outcome.confirmed() && outcome.settled().is_some());
}

#[tokio::test]
async fn what_every_action_needs_is_asked_for_before_any_call() {
    let fake = Fake::start().await;
    let deed = fake.deed();
    let error = deed
        .action("a")
        .tool("t")
        .input_bytes(b"")
        .perform(done, absent)
        .await;
    assert!(matches!(
        error,
        Err(Error::Incomplete {
            missing: "contract",
            ..
        })
    ));
    let contract = Contract::at_most_once();
    let action = deed.action("a").tool("t").contract(contract);
    let action = action
        .input_json(r#"{"order":"1"}"#)
        .unwrap()
        .identity(&["amount"]);
    assert!(matches!(
        action.perform(done, absent).await,
        Err(Error::Input { .. })
    ));
    assert!(deed.action("a").input_json(r#"{"a":1,"a":2}"#).is_err());
    assert!(fake.order().is_empty());
}

#[tokio::test]
async fn a_key_is_sent_in_normal_form() {
    let fake = Fake::start().await;
    let deed = fake.deed();
    let _settled = charge(&deed, "cafe\u{301}").perform(done, absent).await.unwrap();
    assert_eq!(
        fake.claims(1).await[0].key.as_ref().unwrap().action_id,
        "caf\u{e9}"
    );
}
