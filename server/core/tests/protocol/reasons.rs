//! Every refusal, and the reasons to wait or to stop that no other story tells.

use deed_core::action::{GrantKind, State};
use deed_core::command::{Ask, Resolution, Then};
use deed_core::contract::{Retry, Terms};
use deed_core::evidence::{Seen, Verdict};
use deed_core::id::Token;
use deed_core::reply::{BlockReason, Refusal, WaitReason};

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";

#[test]
fn every_call_but_claim_plan_and_a_report_with_its_specification_needs_an_action() {
    let mut w = World::new(serialized());
    let token = Token::new(w.now.millis()).unwrap();
    let unknown_action = [
        w.begin(W1, token),
        w.report(W1, token, unknown()),
        w.verify(W1, token, absent()),
        w.renew(W1, token),
        w.release(W1, token),
        w.observe(pending(1)),
        w.sweep(),
    ];
    for told in unknown_action {
        assert_eq!(told.refused(), Refusal::ActionNotFound);
    }
    let ask = Ask::Report {
        token,
        receipt: completed("X"),
        then: Then::Nothing,
        spec: Some(Box::new(w.spec.clone())),
    };
    w.call(W1, ask).settled(State::Confirmed);
}

#[test]
fn a_token_is_believed_up_to_a_minute_ahead_of_the_database() {
    let mut w = World::new(serialized());
    w.plan(W1);
    let now = w.now.millis();
    let never = Token::new(now + 60_001).unwrap();
    let lost = Token::new(now + 60_000).unwrap();
    assert_eq!(
        w.report(W1, never, unknown()).refused(),
        Refusal::TokenNeverIssued
    );
    assert_eq!(w.begin(W1, never).refused(), Refusal::TokenNeverIssued);
    assert_eq!(w.renew(W1, never).refused(), Refusal::TokenNeverIssued);
    assert!(!w.begin(W1, lost).lets_execute());
    w.report(W1, lost, unknown());
    assert_eq!(w.action().token, lost);
    let next = w.at(1.0).claim(W2).verifies();
    assert!(next.token > lost);
}

#[test]
fn a_token_that_a_decision_took_is_not_refused_as_never_issued() {
    let mut w = World::new(serialized());
    w.plan(W1);
    let lost = Token::new(w.now.millis() + 60_000).unwrap();
    w.report(W1, lost, not_sent());
    w.decide(resolve(Resolution::Abandoned));
    let decided = w.action().token;
    assert_eq!(
        decided.number(),
        lost.number() + 1,
        "beyond the reach of the clock"
    );
    w.report(W1, decided, not_sent()).settled(State::Abandoned);
}

#[test]
fn nobody_speaks_under_anothers_grant() {
    let mut w = World::new(serialized());
    let first = w.sends(W1);
    for told in [
        w.begin(W2, first),
        w.renew(W2, first),
        w.release(W2, first),
        w.report(W2, first, accepted("X", 1)),
        w.report(W2, first, rejected("no")),
        w.report(W2, first, not_applied(0)),
        w.report(W2, first, not_sent()),
        w.report(W2, first, unknown_ended()),
        w.verify(W2, first, absent()),
        w.verify(W2, first, pending(1)),
        w.verify(W2, first, unclear()),
        w.verify(W2, first, failed_id("X")),
    ] {
        assert_eq!(told.refused(), Refusal::NotYourGrant);
    }
    assert_eq!(
        (w.state(), w.evidence()),
        (State::Sent, 0),
        "nothing of it is kept"
    );
    w.at(6.0).claim(W2).verifies();
    assert_eq!(
        w.report(W2, first, unknown()).refused(),
        Refusal::NotYourGrant,
        "also when it is over"
    );
}

#[test]
fn a_lookups_token_brings_no_receipt() {
    let mut w = World::new(serialized());
    w.sends(W1);
    let lookup = w.at(6.0).claim(W2).verifies();
    let refusal = w.report(W2, lookup.token, completed("X")).refused();
    assert!(matches!(
        refusal,
        Refusal::InvalidField {
            field: "fencing_token",
            ..
        }
    ));
}

#[test]
fn a_verdict_that_its_facts_contradict_is_refused() {
    let confirmed = || Verdict::Confirmed {
        external_id: None,
        result: None,
    };
    let unknown = || Verdict::Unknown { reason: note("") };
    let wrong = [
        found_with(confirmed(), &[("a", Seen::True)]),
        found_with(confirmed(), &[("a", Seen::True), ("b", Seen::NotSeen)]),
        found_with(confirmed(), &[("a", Seen::True), ("b", Seen::False)]),
        found_with(Verdict::NotFound, &[("a", Seen::True), ("b", Seen::False)]),
        found_with(Verdict::Partial, &[("a", Seen::True), ("b", Seen::True)]),
        found_with(Verdict::Partial, &[("a", Seen::False), ("b", Seen::False)]),
        found_with(Verdict::Partial, &[("a", Seen::True)]),
        found_with(unknown(), &[("a", Seen::True), ("b", Seen::True)]),
        found_with(unknown(), &[("elsewhere", Seen::True)]),
    ];
    for observation in wrong {
        let mut w = World::with_facts(serialized(), &["a", "b"]);
        w.sends(W1);
        let lookup = w.at(21.0).claim(W2).verifies();
        let refusal = w.verify(W2, lookup.token, observation.clone()).refused();
        let field = "observation.facts";
        assert!(
            matches!(refusal, Refusal::InvalidField { field: named, .. } if named == field),
            "{observation:?}"
        );
        assert!(
            w.action().live_grant(w.now).is_some(),
            "the lookup may still be brought"
        );
    }
}

#[test]
fn facts_seen_by_several_lookups_confirm_together() {
    let mut w = World::with_facts(serialized(), &["a", "b"]);
    w.sends(W1);
    let first = w.at(21.0).claim(W2).verifies();
    let unknown = Verdict::Unknown { reason: note("") };
    w.verify(W2, first.token, found_with(unknown, &[("a", Seen::True)]));
    let second = w.at(30.0).claim(W2).verifies();
    let confirmed = Verdict::Confirmed {
        external_id: None,
        result: None,
    };
    w.verify(W2, second.token, found_with(confirmed, &[("b", Seen::True)]))
        .settled(State::Confirmed);
}

#[test]
fn absence_against_a_fact_seen_true_is_a_contradiction_in_either_order() {
    let a = found_with(Verdict::Unknown { reason: note("") }, &[("a", Seen::True)]);
    let mut w = World::with_facts(serialized(), &["a", "b"]);
    w.sends(W1);
    let first = w.at(21.0).claim(W2).verifies();
    w.verify(W2, first.token, a.clone());
    let second = w.at(30.0).claim(W2).verifies();
    w.verify_then(W2, second.token, absent(), Then::BegunGrant)
        .blocked(BlockReason::Contradiction);

    let mut w = World::with_facts(serialized(), &["a", "b"]);
    w.sends(W1);
    let early = w.at(6.0).claim(W1).verifies();
    let due = w.at(21.0).claim(W2).verifies();
    let retry = w.verify_then(W2, due.token, absent(), Then::Grant).executes();
    w.verify(W1, early.token, a).blocked(BlockReason::Contradiction);
    assert!(!w.begin(W2, retry.token).lets_execute());
}

#[test]
fn doubt_that_nothing_can_lift_goes_to_a_person() {
    let mut w = World::new(at_most_once());
    w.sends(W1);
    w.at(6.0).claim_begun(W2).blocked(BlockReason::Unverifiable);
    assert_eq!(w.state(), State::Unknown);
    let refusal = w.at(10.9).decide(resolve(Resolution::Absent)).refused();
    assert!(matches!(
        refusal,
        Refusal::DecisionNotAllowed {
            allowed_from: Some(_),
            ..
        }
    ));
    w.at(11.0)
        .decide(resolve(Resolution::Absent))
        .claimable(GrantKind::Execute);
    assert_eq!(w.claim_begun(W2).executes().attempt, 2);
}

#[test]
fn lookups_end_at_their_limit_and_a_reopened_action_has_them_again() {
    let mut w = World::new(Terms {
        retry: Retry {
            max_verifications: 2,
            ..Terms::DEFAULT_RETRY
        },
        ..serialized()
    });
    w.sends(W1);
    // The first lapses, which counts as well.
    w.at(21.0).claim(W2).verifies();
    let second = w.at(30.0).claim(W2).verifies();
    w.verify(W2, second.token, unclear())
        .blocked(BlockReason::VerificationsExhausted);
    assert_eq!(w.action().lookups.inconclusive, 2);
    w.at(90_000.0).decide(reopen()).claimable(GrantKind::Verify);
}

#[test]
fn lookups_back_off() {
    let mut w = World::new(serialized());
    w.sends(W1);
    w.at(21.0);
    for wait in [1.0, 2.0, 4.0, 8.0] {
        let lookup = w.claim(W2).verifies();
        assert_eq!(
            w.verify(W2, lookup.token, unclear())
                .waits(WaitReason::VerifyBackoff),
            wait
        );
        w.now = w.now.plus(secs(8));
    }
}

#[test]
fn when_lookups_are_exhausted_a_receiver_that_deduplicates_is_sent_to_again() {
    let mut w = World::new(Terms {
        deduplication: deduplicated().deduplication,
        retry: Retry {
            max_verifications: 1,
            ..Terms::DEFAULT_RETRY
        },
        ..serialized()
    });
    w.sends(W1);
    let lookup = w.at(6.0).claim(W2).verifies();
    w.verify(W2, lookup.token, unclear())
        .claimable(GrantKind::Execute);
    assert!(w.claim_begun(W2).executes().resend);
    // Lookups count anew from each begin; accepted work is never sent again.
    let token = w.action().token;
    w.report(W2, token, accepted("J1", 0));
    let lookup = w.claim(W1).verifies();
    w.verify(W1, lookup.token, unclear())
        .blocked(BlockReason::VerificationsExhausted);
}

#[test]
fn the_total_budget_stops_executions_never_lookups() {
    let mut w = World::new(Terms {
        retry: Retry {
            total_budget: secs(60),
            ..Terms::DEFAULT_RETRY
        },
        ..serialized()
    });
    let unbegun = w.at(0.0).claim(W1).executes().token;
    w.release(W1, unbegun);
    let late = w.at(58.0).claim(W1).executes().token;
    w.at(60.0).begin(W1, late).blocked(BlockReason::BudgetExhausted);
    w.claim_begun(W2).blocked(BlockReason::BudgetExhausted);
    w.decide(reopen()).claimable(GrantKind::Execute);
    w.sends(W2);
    w.at(90.0).claim(W1).verifies();
}

#[test]
fn what_only_reads_is_run_again_without_a_lookup() {
    let mut w = World::new(reading());
    w.sends(W1);
    let again = w.at(6.0).claim_begun(W2).executes();
    assert!(again.resend);
    w.report(W2, again.token, unknown()).waits(WaitReason::Backoff);
    let third = w.at(60.0).sends(W1);
    w.report(W1, third, completed("R")).settled(State::Confirmed);
    assert!(!w.flags_set());
}

#[test]
fn renewals_end_at_max_hold() {
    let mut w = World::new(Terms {
        max_hold: secs(12),
        ..serialized()
    });
    let token = w.sends(W1);
    w.at(4.0).renew(W1, token).renewed();
    assert_eq!(w.at(8.0).renew(W1, token).renewed(), 4.0);
    assert_eq!(w.at(11.0).renew(W1, token).renewed(), 1.0);
    w.at(12.0).renew(W1, token).claimable(GrantKind::Verify);
}

#[test]
fn two_external_ids_for_one_action_are_suspected() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.report(W1, token, completed("X")).settled(State::Confirmed);
    let told = w.observe(seen("Y"));
    assert_eq!(told.settled(State::Confirmed).external_id, Some(external("X")));
    assert!(told.flags().duplicate_suspected);
}

#[test]
fn the_sweeper_writes_down_what_time_has_decided() {
    let mut w = World::new(serialized());
    w.sends(W1);
    w.at(4.0).sweep().held();
    w.at(6.0).sweep().claimable(GrantKind::Verify);
    assert_eq!(w.state(), State::Unknown);
    assert_eq!(
        w.action().since,
        w.now.minus(secs(1)),
        "since the lapse, not since the sweep"
    );
    let version = w.action().version;
    w.at(7.0).sweep();
    assert_eq!(w.action().version, version);
}

#[test]
fn a_released_lookup_leaves_the_early_one_to_others() {
    let mut w = World::new(serialized());
    w.sends(W1);
    let early = w.at(6.0).claim(W2).verifies();
    w.release(W2, early.token).claimable(GrantKind::Verify);
    assert_eq!(w.action().lookups.inconclusive, 0);
}

#[test]
fn a_released_lease_that_has_not_begun_is_executable_at_once() {
    let mut w = World::new(serialized());
    let token = w.claim(W1).executes().token;
    w.at(1.0).release(W1, token).claimable(GrantKind::Execute);
    w.claim_begun(W2).executes();
}

#[test]
fn nobody_sends_on_top_of_an_earlier_attempt_that_turns_out_to_be_accepted() {
    let mut w = World::new(deduplicated());
    let first = w.sends(W1);
    w.at(10.0).sends(W2);
    assert_eq!(
        w.at(11.0).report(W1, first, accepted("J1", 1)).answer().state,
        State::Sent
    );
    w.at(20.0).claim_begun(W1).blocked(BlockReason::Unverifiable);
    assert_eq!(w.state(), State::Accepted);
}

#[test]
fn lookups_are_counted_over_the_actions_life() {
    let mut w = World::new(serialized());
    w.sends(W1);
    for (nth, at) in [(1, 21.0), (2, 40.0), (3, 60.0)] {
        let lookup = w.at(at).claim(W2).verifies();
        w.verify(W2, lookup.token, unclear());
        assert_eq!(
            (w.action().lookups.granted, w.action().lookups.inconclusive),
            (nth, nth)
        );
    }
}
