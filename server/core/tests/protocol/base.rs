//! Part A: the base table, as far as it is pure protocol.

mod approval;

use deed_core::action::{GrantKind, State};
use deed_core::command::Then;
use deed_core::contract::{OnPartial, Retry, Terms, Verification};
use deed_core::evidence::{Seen, Verdict};
use deed_core::reply::{BlockReason, Refusal, WaitReason};
use deed_core::time::Span;

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";

#[test]
fn a1_a_failure_before_the_send_is_executed_again_under_the_next_token() {
    let mut w = World::new(at_most_once());
    let first = w.claim_begun(W1).executes();
    assert_eq!(
        w.report(W1, first.token, not_sent()).waits(WaitReason::Backoff),
        1.0
    );
    let second = w.at(1.0).claim_begun(W2).executes();
    assert!(second.token > first.token);
    assert!(!second.resend);
    assert_eq!((second.attempt, w.action().attempts_counted), (2, 1));
    assert_eq!(second.outward_key, first.outward_key);
}

#[test]
fn a1_a_holder_that_dies_before_begin_leaves_the_action_executable() {
    let mut w = World::new(at_most_once());
    let first = w.claim(W1).executes();
    let second = w.at(5.0).claim_begun(W2).executes();
    assert!(second.token > first.token);
    assert_eq!(second.attempt, 1, "nothing passed the gate");
}

#[test]
fn a2_an_effect_without_a_receipt_is_looked_up_before_any_retry() {
    let mut w = World::new(serialized());
    w.sends(W1);
    let lookup = w.at(6.0).claim_begun(W2).verifies();
    assert_eq!((lookup.attempts, lookup.first_sent_at.is_some()), (1, true));
    let settled = w.verify(W2, lookup.token, seen("CH-1")).settled(State::Confirmed);
    assert_eq!(settled.external_id, Some(external("CH-1")));
    assert!(!w.flags_set(), "one attempt, one effect");
}

#[test]
fn a3_a_lookup_that_misses_the_effect_waits_for_the_settle_window() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.at(1.0).report(W1, token, unknown_ended());
    let early = w.at(2.0).claim(W2).verifies();
    // Over at 1, + settle window 10 + clock step 1.
    assert_eq!(
        w.verify(W2, early.token, absent())
            .waits(WaitReason::SettleWindow),
        10.0
    );
    assert_eq!(w.state(), State::Unknown);
    w.at(11.9).claim(W1).waits(WaitReason::SettleWindow);
    let due = w.at(12.0).claim(W1).verifies();
    w.verify(W1, due.token, seen("CH-1")).settled(State::Confirmed);
    assert_eq!(w.action().attempts, 1);
}

fn half() -> deed_core::evidence::Observation {
    found_with(Verdict::Partial, &[("row", Seen::True), ("mail", Seen::False)])
}

#[test]
fn a4_a_partial_effect_stops_or_is_resumed_once() {
    for on_partial in [OnPartial::Stop, OnPartial::Resume] {
        let terms = Terms {
            on_partial,
            ..serialized()
        };
        let mut w = World::with_facts(terms, &["row", "mail"]);
        let token = w.sends(W1);
        w.at(1.0).report(W1, token, unknown_ended());
        let lookup = w.at(12.0).claim(W2).verifies();
        let told = w.verify(W2, lookup.token, half());
        assert_eq!(w.state(), State::Partial);
        if on_partial == OnPartial::Stop {
            assert_eq!(told.blocked(BlockReason::Partial), [fact("mail")]);
            continue;
        }
        told.claimable(GrantKind::Execute);
        let resumed = w.at(20.0).claim_begun(W2).executes();
        assert_eq!(resumed.resumes, [fact("mail")]);
        w.at(21.0)
            .report(W2, resumed.token, not_applied(1))
            .blocked(BlockReason::Partial);
        assert_eq!(
            w.state(),
            State::Partial,
            "the first attempt's part is still there"
        );
        w.at(900.0).claim(W1).blocked(BlockReason::Partial);
    }
}

#[test]
fn a4_a_resumption_that_was_never_sent_is_not_spent() {
    let mut w = World::with_facts(resuming(), &["row", "mail"]);
    let token = w.sends(W1);
    w.at(1.0).report(W1, token, unknown_ended());
    let lookup = w.at(12.0).claim(W2).verifies();
    let resumed = w
        .verify_then(W2, lookup.token, half(), Then::BegunGrant)
        .executes();
    w.report(W2, resumed.token, not_sent()).waits(WaitReason::Backoff);
    let again = w.at(60.0).claim_begun(W1).executes();
    assert_eq!(again.resumes, [fact("mail")]);
    w.report(W1, again.token, completed("CH-1"))
        .settled(State::Confirmed);
    assert!(!w.flags_set(), "both parts make one effect");
}

#[test]
fn a5_of_two_workers_one_owns_and_the_other_gets_the_stored_result() {
    let mut w = World::new(at_most_once());
    let token = w.sends(W1);
    let (owner, left) = w.at(1.0).claim_begun(W2).held();
    assert_eq!((owner.as_str(), left), (W1, 4.0));
    w.at(2.0).report(W1, token, completed("CH-1"));
    let settled = w.claim_begun(W2).settled(State::Confirmed);
    assert_eq!(
        (settled.external_id, settled.result),
        (Some(external("CH-1")), Some(b"CH-1".to_vec()))
    );
}

#[test]
fn a6_another_input_or_tool_under_one_id_is_refused_without_a_word_about_the_first() {
    let mut w = World::new(at_most_once());
    w.claim(W1).executes();
    let mut other = w.spec.clone();
    other.input = input(2);
    w.spec = other;
    assert_eq!(w.claim(W2).refused(), Refusal::InputMismatch);
    assert_eq!(w.plan(W2).refused(), Refusal::InputMismatch);
    let mut tool = spec(at_most_once(), &[]);
    tool.tool = deed_core::text::Tool::new("refund_card").unwrap();
    w.spec = tool;
    assert_eq!(w.claim(W2).refused(), Refusal::InputMismatch);
}

#[test]
fn a6_other_terms_are_told_and_the_stored_ones_hold() {
    let mut w = World::new(at_most_once());
    w.claim(W1).executes();
    w.spec = spec(serialized(), &[]);
    let told = w.claim(W2);
    assert!(told.answer().terms_differ);
    assert_eq!(
        told.answer().guarantee,
        deed_core::contract::Guarantee::AtMostOnce
    );
}

#[test]
fn a7_an_immediate_success_settles_and_every_repeat_gets_its_result() {
    let mut w = World::new(at_most_once());
    let token = w.sends(W1);
    let first = w.report(W1, token, completed("CH-1")).settled(State::Confirmed);
    assert_eq!(w.at(90_000.0).claim_begun(W2).settled(State::Confirmed), first);
}

#[test]
fn a8_the_receivers_limit_is_waited_for_and_the_attempts_end_with_the_diagnosis() {
    let mut w = World::new(at_most_once());
    for (nth, at) in [(1, 0.0), (2, 60.0), (3, 120.0)] {
        let grant = w.at(at).claim_begun(W1).executes();
        assert_eq!(grant.attempt, nth);
        let told = w.report(W1, grant.token, not_applied(60));
        if nth < 3 {
            assert_eq!(told.waits(WaitReason::Backoff), 60.0);
            w.at(at + 59.9).claim(W2).waits(WaitReason::Backoff);
        } else {
            told.blocked(BlockReason::AttemptsExhausted);
        }
    }
    w.at(9_000.0).claim(W2).blocked(BlockReason::AttemptsExhausted);
    assert_eq!(w.action().reason, note("429"));
}

#[test]
fn a8_the_receivers_wait_outlives_the_doubt_about_an_earlier_attempt() {
    let mut w = World::new(Terms {
        deduplication: deed_core::contract::Deduplication::IdempotencyKey {
            window: Span::from_hours(24),
        },
        ..at_most_once()
    });
    w.sends(W1);
    let resend = w.at(10.0).claim_begun(W2).executes();
    let told = w.report(W2, resend.token, not_applied(600));
    assert_eq!(told.waits(WaitReason::Backoff), 600.0);
    assert_eq!(told.answer().state, State::Unknown);
    w.at(609.0).claim(W1).waits(WaitReason::Backoff);
    assert!(w.at(610.0).claim(W1).executes().resend);
}

#[test]
fn a8_a_late_absence_does_not_shorten_the_receivers_wait() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.at(27.0)
        .report(W1, token, not_applied(600))
        .waits(WaitReason::Backoff);
    w.at(28.0).verify(W2, lookup.token, absent());
    assert_eq!(
        w.state(),
        State::Planned,
        "the sender's word is newer than the lookup"
    );
    w.at(626.0).claim_begun(W2).waits(WaitReason::Backoff);
    w.at(627.0).claim_begun(W2).executes();
}

#[test]
fn a9_acceptance_never_confirms() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    let told = w.at(1.0).report(W1, token, accepted("J1", 30));
    assert_eq!(told.waits(WaitReason::Pending), 30.0);
    assert_eq!(w.state(), State::Accepted);
    let lookup = w.at(31.0).claim(W2).verifies();
    assert_eq!(lookup.external_id, Some(external("J1")));
    w.verify(W2, lookup.token, seen("J1")).settled(State::Confirmed);
}

#[test]
fn a9_a_completed_receipt_is_no_proof_where_a_lookup_must_prove_it() {
    let mut w = World::new(by_lookup());
    let token = w.sends(W1);
    w.report(W1, token, completed("X")).claimable(GrantKind::Verify);
    assert_eq!(w.state(), State::Accepted);
}

#[test]
fn a12_a_right_effect_in_the_wrong_place_is_never_confirmed() {
    let mut w = World::with_facts(by_lookup(), &["ticket_exists", "in_project_x"]);
    let token = w.sends(W1);
    w.at(1.0).report(W1, token, completed("T-1"));
    let lookup = w.at(13.0).claim(W2).verifies();
    let misplaced = [("ticket_exists", Seen::True), ("in_project_x", Seen::False)];
    let confirmed = Verdict::Confirmed {
        external_id: None,
        result: None,
    };
    let refusal = w
        .verify(W2, lookup.token, found_with(confirmed, &misplaced))
        .refused();
    assert!(matches!(
        refusal,
        Refusal::InvalidField {
            field: "observation.facts",
            ..
        }
    ));
    let told = w.verify(W2, lookup.token, found_with(Verdict::Partial, &misplaced));
    assert_eq!(told.blocked(BlockReason::Partial), [fact("in_project_x")]);
    assert!(!w.at(9_000.0).claim_begun(W1).lets_execute());
}

#[test]
fn a13_a_long_job_is_pending_without_counting_and_retried_after_it_failed() {
    let terms = Terms {
        retry: Retry {
            max_verifications: 2,
            ..Terms::DEFAULT_RETRY
        },
        verification: Verification::Postcondition {
            settle_window: secs(10),
            effect_deadline: Span::from_hours(2),
        },
        ..asynchronous()
    };
    let mut w = World::new(terms);
    let token = w.sends(W1);
    w.report(W1, token, accepted("J1", 60));
    for minute in 1..=60 {
        let lookup = w.at(f64::from(minute) * 60.0).claim(W2).verifies();
        assert_eq!(
            w.verify(W2, lookup.token, pending(60)).waits(WaitReason::Pending),
            60.0
        );
    }
    assert_eq!((w.state(), w.action().lookups.inconclusive), (State::Accepted, 0));
    let lookup = w.at(3_660.0).claim(W2).verifies();
    assert_eq!(
        w.verify(W2, lookup.token, failed_id("J1"))
            .waits(WaitReason::Backoff),
        1.0
    );
    assert_eq!(w.state(), State::NotFound);
    let retry = w.at(3_661.0).sends(W2);
    w.report(W2, retry, accepted("J2", 1));
    let lookup = w.at(3_663.0).claim(W1).verifies();
    w.verify(W1, lookup.token, seen("J2")).settled(State::Confirmed);
    assert!(!w.flags_set(), "the failed job's id is no second effect");
}

#[test]
fn a13_pending_beyond_the_effect_deadline_asks_a_person() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    w.report(W1, token, accepted("J1", 60));
    let lookup = w.at(3_599.0).claim(W2).verifies();
    w.verify(W2, lookup.token, pending(1)).waits(WaitReason::Pending);
    let lookup = w.at(3_600.0).claim(W2).verifies();
    w.verify(W2, lookup.token, pending(1))
        .blocked(BlockReason::EffectDeadlinePassed);
    w.at(9_000.0).claim(W2).blocked(BlockReason::EffectDeadlinePassed);
    w.observe(seen("J1")).settled(State::Confirmed);
}

#[test]
fn a14_a_webhook_before_the_workers_report_settles_and_the_report_changes_nothing() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    w.at(1.0).observe(seen("J1")).settled(State::Confirmed);
    let effect = w.action().effect.clone();
    w.at(2.0)
        .report(W1, token, accepted("J1", 1))
        .settled(State::Confirmed);
    assert_eq!(w.action().effect, effect);
    assert_eq!(w.evidence(), 2);
    assert!(!w.flags_set());
}

#[test]
fn a14_a_webhook_after_the_workers_report_settles() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    w.at(1.0).report(W1, token, accepted("J1", 1));
    w.at(2.0).observe(seen("J1")).settled(State::Confirmed);
}

#[test]
fn a14_a_witness_of_nothing_known_or_of_what_needs_a_lookup_is_refused() {
    let mut w = World::new(asynchronous());
    assert_eq!(w.observe(seen("J1")).refused(), Refusal::ActionNotFound);
    w.sends(W1);
    for other in [absent(), unclear(), found(Verdict::Partial)] {
        let refusal = w.observe(other).refused();
        assert!(matches!(
            refusal,
            Refusal::InvalidField {
                field: "observation",
                ..
            }
        ));
    }
}
