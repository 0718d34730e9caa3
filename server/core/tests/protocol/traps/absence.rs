//! Traps of absence: when nothing seen means nothing done (C5 to C8, C12 to C14, C17 to C19).

use deed_core::action::{GrantKind, State};
use deed_core::command::{Ask, Resolution, Then};
use deed_core::contract::{Terms, Verification};
use deed_core::evidence::{Seen, Verdict};
use deed_core::reply::{BlockReason, Refusal, WaitReason};
use deed_core::time::Span;

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";
const W3: &str = "w3";

#[test]
fn c5_an_early_absence_repeated_late_never_counts() {
    let mut w = World::new(serialized());
    w.sends(W1);
    let early = w.at(6.0).claim(W2).verifies();
    let absence = Ask::Verify {
        token: early.token,
        observation: absent(),
        then: Then::BegunGrant,
    };
    let absence = w.command(W2, absence);
    // Lease end 5 + send timeout 5 + settle window 10 + clock step 1.
    assert_eq!(w.at(7.0).send(&absence).waits(WaitReason::SettleWindow), 14.0);
    assert_eq!(w.action().lookups.inconclusive, 0);
    w.at(30.0).send(&absence).claimable(GrantKind::Verify);
    assert_eq!(w.state(), State::Unknown);
    assert!(
        w.action().live_grant(w.now).is_none(),
        "a repeat starts no lookup"
    );
}

#[test]
fn c5_an_early_absence_that_first_arrives_late_does_not_count_either() {
    let mut w = World::new(serialized());
    w.sends(W1);
    let early = w.at(6.0).claim(W2).verifies();
    let told = w.at(30.0).verify(W2, early.token, absent());
    told.claimable(GrantKind::Verify);
    assert_eq!(w.state(), State::Unknown);
}

#[test]
fn c6_a_lookup_under_fencing_carries_a_token_above_the_frozen_owner() {
    let mut w = World::new(fenced());
    let frozen = w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    assert!(
        lookup.token > frozen,
        "the lookup raises the receiver's floor past W1"
    );
    let retry = w
        .at(22.0)
        .verify_then(W2, lookup.token, absent(), Then::BegunGrant)
        .executes();
    assert!(retry.token > lookup.token);
    assert!(!w.begin(W1, frozen).lets_execute());
}

#[test]
fn c6_fencing_without_a_lookup_is_no_contract() {
    let terms = Terms {
        verification: Verification::None,
        ..fenced()
    };
    assert!(deed_core::contract::Contract::new(terms).is_err());
}

#[test]
fn c7_absence_by_an_operators_word_waits_for_lease_and_quiet_time() {
    let mut w = World::new(serialized());
    let quiet = w.now.plus(secs(21));
    w.sends(W1);
    for time in [1.0, 6.0, 20.9] {
        let refusal = w.at(time).decide(resolve(Resolution::Absent)).refused();
        let Refusal::DecisionNotAllowed { allowed_from, .. } = refusal else {
            panic!("{refusal:?}")
        };
        assert_eq!(allowed_from, Some(quiet));
    }
    w.at(21.0)
        .decide(resolve(Resolution::Absent))
        .claimable(GrantKind::Execute);
    assert_eq!(w.state(), State::NotFound);
}

#[test]
fn c8_a_partial_effect_seen_before_the_quiet_time_decides_nothing() {
    let mut w = World::with_facts(resuming(), &["a", "b"]);
    w.sends(W1);
    let early = w.at(6.0).claim(W2).verifies();
    let half = found_with(Verdict::Partial, &[("a", Seen::True), ("b", Seen::False)]);
    let told = w
        .at(7.0)
        .verify_then(W2, early.token, half.clone(), Then::BegunGrant);
    told.waits(WaitReason::SettleWindow);
    assert_eq!(w.state(), State::Unknown);
    let late = w.at(21.0).claim(W2).verifies();
    let told = w.at(22.0).verify_then(W2, late.token, half, Then::BegunGrant);
    assert_eq!(told.executes().resumes, [fact("b")]);
}

#[test]
fn c12_absence_against_a_completed_receipt_is_a_contradiction() {
    let mut w = World::new(by_lookup());
    let token = w.sends(W1);
    let told = w.at(1.0).report(W1, token, completed("X"));
    assert_eq!(told.answer().state, State::Accepted);
    let lookup = w.at(12.0).claim(W2).verifies();
    let told = w
        .at(13.0)
        .verify_then(W2, lookup.token, absent(), Then::BegunGrant);
    told.blocked(BlockReason::Contradiction);
    w.at(500.0).claim_begun(W3).blocked(BlockReason::Contradiction);
}

#[test]
fn c13_a_lookup_in_the_middle_of_a_send_proves_nothing() {
    let terms = Terms {
        send_timeout: secs(30),
        verification: Verification::Postcondition {
            settle_window: Span::ZERO,
            effect_deadline: Span::from_hours(1),
        },
        ..serialized()
    };
    let mut w = World::new(terms);
    w.sends(W1);
    let early = w.at(6.0).claim(W2).verifies();
    // Lease end 5 + send timeout 30 + clock step 1.
    assert_eq!(
        w.verify(W2, early.token, absent())
            .waits(WaitReason::SettleWindow),
        30.0
    );
    let due = w.at(36.0).claim(W2).verifies();
    w.verify_then(W2, due.token, absent(), Then::Grant).executes();

    let mut w = World::new(terms);
    let token = w.sends(W1);
    w.at(2.0).report(W1, token, unknown_ended());
    let due = w.at(3.0).claim(W2).verifies();
    w.verify_then(W2, due.token, absent(), Then::Grant).executes();
}

#[test]
fn c14_the_second_action_with_one_external_id_is_blocked_and_both_are_flagged() {
    let mut w = World::new(at_most_once());
    let wrong = w.sends(W1);
    w.report(W1, wrong, completed("CH-7")).settled(State::Confirmed);
    w.turn_to(key("order-2"));
    let right = w.at(1.0).sends(W2);
    let told = w.report(W2, right, completed("CH-7"));
    told.blocked(BlockReason::Contradiction);
    assert!(told.flags().contradicted);
    assert!(w.turn_to(key("order-1")).action().flags.contradicted);
    w.turn_to(key("order-2"));
    let settled = w.decide(resolve_confirmed("CH-7")).settled(State::Confirmed);
    assert_eq!(settled.external_id, Some(external("CH-7")));
}

#[test]
fn c17_absence_of_an_accepted_command_waits_for_the_effect_deadline() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    w.at(2.0).report(W1, token, accepted("J1", 1));
    let early = w.at(30.0).claim(W2).verifies();
    // Accepted at 2 + deadline 3600 + settle window 10 + clock step 1.
    let wait = w
        .verify_then(W2, early.token, absent(), Then::BegunGrant)
        .waits(WaitReason::SettleWindow);
    assert_eq!(wait, 3583.0);
    assert_eq!(w.state(), State::Accepted);
    let due = w.at(3613.0).claim(W2).verifies();
    w.verify_then(W2, due.token, absent(), Then::BegunGrant)
        .executes();
}

#[test]
fn c17_the_effect_deadline_runs_from_the_acceptance() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    w.at(1.0).report(W1, token, unknown_ended());
    w.at(100.0).report(W1, token, accepted("J1", 1));
    let lookup = w.at(102.0).claim(W2).verifies();
    assert_eq!(lookup.absence_counts_from, w.now.plus(secs(3600 + 10 + 1 - 2)));
}

#[test]
fn c18_the_quiet_time_counts_from_the_lease_end_that_was_told() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.at(4.0).renew(W1, token).renewed();
    w.at(4.5).report(W1, token, unknown());
    // Told until 9, + 5 + 10 + 1, although the lease ended with the report.
    let early = w.at(20.0).claim(W2).verifies();
    let told = w.verify(W2, early.token, absent());
    assert_eq!(told.waits(WaitReason::SettleWindow), 5.0);
}

#[test]
fn c19_doubt_reported_without_begin_is_an_attempt_that_absence_waits_for() {
    let mut w = World::new(serialized());
    let token = w.claim(W1).executes().token;
    let told = w.at(1.0).report(W1, token, unknown());
    assert_eq!(told.answer().state, State::Unknown);
    assert!(told.flags().ungated);
    let early = w.at(6.0).claim(W2).verifies();
    assert_eq!(
        w.verify(W2, early.token, absent())
            .waits(WaitReason::SettleWindow),
        15.0
    );
}

#[test]
fn c19_doubt_reported_without_begin_long_after_fences_who_has_not_begun() {
    let mut w = World::new(serialized());
    let token = w.claim(W1).executes().token;
    let unbegun = w.at(60.0).claim(W2).executes().token;
    w.at(61.0).report(W1, token, unknown());
    assert_eq!(w.state(), State::Unknown);
    assert!(!w.at(62.0).begin(W2, unbegun).lets_execute());
    // Lease end 5, so quiet since 21: one lookup may prove it.
    let due = w.claim(W2).verifies();
    w.verify_then(W2, due.token, absent(), Then::BegunGrant)
        .executes();
}

#[test]
fn c19_doubt_reported_without_begin_counts_even_where_the_action_is_closed() {
    for closing in [Resolution::Rejected, Resolution::Abandoned] {
        let mut w = World::new(serialized());
        let token = w.claim(W1).executes().token;
        w.at(1.0).decide(resolve(closing));
        w.at(2.0).report(W1, token, unknown());
        assert!(w.state().settled());
        let refusal = w.at(3.0).decide(reopen()).refused();
        assert!(
            matches!(refusal, Refusal::DecisionNotAllowed { .. }),
            "{refusal:?}"
        );
        let refusal = w.at(100.0).decide(reopen_with_new_key()).refused();
        assert!(
            matches!(refusal, Refusal::DecisionNotAllowed { .. }),
            "{refusal:?}"
        );
        w.decide(reopen()).claimable(GrantKind::Verify);
        assert_eq!(w.state(), State::Unknown);
    }
}
