//! Part C: traps of the protocol, each of which once led to a duplicate, a lost fact or a dead end.

use deed_core::action::{GrantKind, State};
use deed_core::command::{Ask, Resolution, Then};
use deed_core::contract::{ConfirmBy, Deduplication, Terms, Verification};
use deed_core::evidence::{Seen, Verdict};
use deed_core::id::Token;
use deed_core::reply::{BlockReason, Refusal, WaitReason};
use deed_core::time::Span;

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";
const W3: &str = "w3";

/// Attempt 1 took effect and its holder lapsed; attempt 2 is a re-send.
fn resent() -> (World, Token, Token) {
    let mut w = World::new(deduplicated());
    let first = w.sends(W1);
    let second = w.at(10.0).claim_begun(W2).executes();
    assert!(second.resend);
    (w, first, second.token)
}

#[test]
fn c1_a_resend_answered_in_progress_leaves_the_first_attempt_undisproved() {
    for receipt in [not_applied(1), not_sent()] {
        let (mut w, _, second) = resent();
        let told = w.at(11.0).report(W2, second, receipt);
        assert_eq!(told.answer().state, State::Unknown);
        w.at(101.0)
            .claim(W3)
            .blocked(BlockReason::DeduplicationWindowPassed);
        assert_eq!(w.state(), State::Unknown);
    }
}

#[test]
fn c1_already_exists_as_the_answer_of_a_resend_is_not_final() {
    let (mut w, _, second) = resent();
    let told = w.at(11.0).report(W2, second, rejected("already exists"));
    assert_eq!(told.answer().state, State::Unknown);
    let refusal = w.decide(reopen_with_new_key()).refused();
    assert!(
        matches!(refusal, Refusal::DecisionNotAllowed { .. }),
        "{refusal:?}"
    );
    let refusal = w.at(101.0).decide(reopen_with_new_key()).refused();
    assert!(
        matches!(refusal, Refusal::DecisionNotAllowed { .. }),
        "{refusal:?}"
    );
}

/// Attempt 1's job J1 failed and was retried; attempt 2 is begun at 20.
fn retried() -> (World, Token) {
    let mut w = World::new(asynchronous());
    let first = w.sends(W1);
    w.at(1.0).report(W1, first, accepted("J1", 1));
    let lookup = w.at(2.0).claim(W1).verifies();
    assert_eq!(lookup.external_id, Some(external("J1")));
    w.at(3.0).verify(W1, lookup.token, failed_id("J1"));
    assert_eq!(w.state(), State::NotFound);
    let second = w.at(20.0).sends(W2);
    (w, second)
}

#[test]
fn c2_a_lookup_that_still_shows_the_first_job_as_failed_is_evidence_only() {
    for verdict in [failed_id("J1"), failed_attempt(1)] {
        let (mut w, _) = retried();
        let lookup = w.at(26.0).claim(W3).verifies();
        let told = w
            .at(27.0)
            .verify_then(W3, lookup.token, verdict, Then::BegunGrant);
        assert!(!told.lets_execute(), "{told:?}");
        assert_eq!(w.state(), State::Unknown);
        assert!(!w.at(3_000.0).claim_begun(W3).lets_execute());
    }
}

#[test]
fn c2_a_redelivered_failure_under_a_live_holder_is_evidence_only() {
    let (mut w, second) = retried();
    w.at(21.0).observe(failed_id("J1")).held();
    assert_eq!(w.state(), State::Sent);
    w.at(22.0).renew(W2, second).renewed();
    w.at(23.0).report(W2, second, accepted("J2", 1));
    assert_eq!(w.state(), State::Accepted);
}

#[test]
fn c3_a_lease_counts_from_the_grant_however_late_its_answer_comes() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(true);
    let claim = w.command(W1, claim);
    let granted = w.send(&claim).executes();
    // The commit waited three seconds; the caller repeats.
    let again = w.at(3.0).send(&claim).executes();
    assert_eq!(again.expires_at, granted.expires_at);
    assert_eq!(again.lease_left, secs(2));
    assert!(!w.at(5.0).send(&claim).lets_execute());
}

#[test]
fn c4_and_c20_a_grant_that_is_read_back_is_marked_for_a_commit_of_its_own() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(true);
    let claim = w.command(W1, claim);
    let row = Row::default();
    let first = w
        .protocol
        .decide(None, &row.remembered(&claim, &w.registry), &claim, w.now);
    assert!(!first.reads_back, "the first answer follows its own commit");
    let granted = w.send(&claim).executes();
    let row = w.rows[&w.key].clone();
    let remembered = row.remembered(&claim, &w.registry);
    let again = w.protocol.decide(row.action.as_ref(), &remembered, &claim, w.now);
    assert!(
        again.reads_back,
        "the repeat writes nothing, so nothing says that what was read is safe"
    );
    assert!(again.next.is_none() && again.events.is_empty());
    assert_eq!(w.send(&claim).executes(), granted);
}

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
fn c9_a_repeat_after_the_lapse_gets_no_grant_and_no_stale_time() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(false);
    let claim = w.command(W1, claim);
    w.send(&claim).executes();
    w.at(6.0).send(&claim).claimable(GrantKind::Execute);
}

#[test]
fn c9_a_repeat_after_somebody_elses_grant_is_held_off() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(false);
    let claim = w.command(W1, claim);
    w.send(&claim).executes();
    w.at(6.0).claim(W2).executes();
    assert_eq!(w.at(7.0).send(&claim).held().0, W2);
    w.at(30.0).send(&claim).claimable(GrantKind::Execute);
}

#[test]
fn c10_a_completed_report_under_a_lost_grant_is_kept_and_confirms() {
    let mut w = World::new(serialized());
    w.plan(W1);
    let lost = Token::new(w.action().token.number() + 40_000).unwrap();
    let told = w.at(10.0).report(W1, lost, completed("X"));
    assert_eq!(told.settled(State::Confirmed).external_id, Some(external("X")));
    assert!(
        w.action().token >= lost,
        "the floor is raised past the lost grant"
    );
    assert_eq!(w.evidence(), 1);
}

#[test]
fn c10_a_completed_report_under_a_lost_grant_is_flagged_where_another_has_begun() {
    for lapses in [false, true] {
        let mut w = World::new(serialized());
        let begun = w.sends(W2);
        let lost = Token::new(begun.number() + 40_000).unwrap();
        let told = w
            .at(if lapses { 8.0 } else { 2.0 })
            .report(W1, lost, completed("X"));
        told.settled(State::Confirmed);
        assert!(told.flags().duplicate_suspected, "lapsed: {lapses}");
        assert!(w.action().token >= lost);
    }
}

#[test]
fn c10_nobody_begins_unverified_on_top_of_a_lost_grants_doubt() {
    let mut w = World::new(serialized());
    let unbegun = w.claim(W2).executes().token;
    let lost = Token::new(unbegun.number() + 40_000).unwrap();
    w.at(1.0).report(W1, lost, unknown());
    assert_eq!(w.state(), State::Unknown);
    assert!(!w.begin(W2, unbegun).lets_execute());
    // Its lease end is the report's time and a lease: 1 + 5 + 5 + 10 + 1.
    let early = w.at(2.0).claim(W2).verifies();
    w.at(3.0)
        .verify(W2, early.token, absent())
        .waits(WaitReason::SettleWindow);
    let due = w.at(22.0).claim(W2).verifies();
    w.verify_then(W2, due.token, absent(), Then::BegunGrant)
        .executes();
}

#[test]
fn c10_what_a_lookup_of_a_lost_grant_found_is_doubt_too() {
    let mut w = World::new(serialized());
    w.plan(W1);
    let lost = Token::new(w.action().token.number() + 40_000).unwrap();
    // The lookup was granted because somebody had sent: that send was lost with it.
    w.at(10.0).verify(W1, lost, unclear());
    assert_eq!(w.state(), State::Unknown);
    assert!(w.action().token >= lost);
    assert!(!w.claim_begun(W2).lets_execute());
    w.at(11.0).verify(W1, lost, unclear());
    assert_eq!(w.action().undisproved.len(), 1, "one lost token is one attempt");
}

#[test]
fn c11_a_resend_ends_inside_the_receivers_window_however_often_it_is_renewed() {
    let mut w = World::new(deduplicated());
    w.sends(W1);
    let grant = w.at(85.0).claim(W2).executes();
    assert!(grant.resend);
    // Window 100 - send timeout 5 - settle window 0 - clock step 1.
    assert_eq!(w.at(89.0).renew(W2, grant.token).renewed(), 5.0);
    assert_eq!(w.at(93.0).renew(W2, grant.token).renewed(), 1.0);
    assert!(!w.at(94.0).begin(W2, grant.token).lets_execute());
    w.claim(W3).blocked(BlockReason::DeduplicationWindowPassed);
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
fn c15_a_delayed_copy_of_a_begun_claim_begins_nothing() {
    let mut w = World::new(serialized());
    let claim = w.claim_ask(true);
    let claim = w.command(W1, claim);
    w.send(&claim).executes();
    w.at(6.0).send(&claim).claimable(GrantKind::Verify);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.verify(W2, lookup.token, absent()).claimable(GrantKind::Execute);
    // The absence is there for the taking, but not for a copy.
    w.at(60.0).send(&claim).claimable(GrantKind::Execute);
    assert_eq!((w.state(), w.action().attempts), (State::NotFound, 1));
}

#[test]
fn c16_an_operator_is_not_refused_for_the_holders_renewals() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let looked_at = w.action().version;
    for second in 1..4 {
        w.at(f64::from(second)).renew(W1, token).renewed();
    }
    let ask = Ask::Decide {
        version: looked_at,
        note: note("seen on the statement"),
        decision: resolve_confirmed("CH-1"),
    };
    w.call("operator", ask).settled(State::Confirmed);
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

#[test]
fn c21_a_late_completed_before_the_retry_begins_fences_it() {
    for confirm_by in [ConfirmBy::Postcondition, ConfirmBy::Receipt] {
        let mut w = World::new(Terms {
            confirm_by,
            ..serialized()
        });
        let first = w.sends(W1);
        let lookup = w.at(21.0).claim(W2).verifies();
        let retry = w.verify_then(W2, lookup.token, absent(), Then::Grant).executes();
        let told = w.at(22.0).report(W1, first, completed("X"));
        match confirm_by {
            ConfirmBy::Postcondition => {
                told.blocked(BlockReason::Contradiction);
            }
            ConfirmBy::Receipt => {
                told.settled(State::Confirmed);
                assert!(told.flags().contradicted);
            }
        }
        assert!(!w.at(23.0).begin(W2, retry.token).lets_execute());
        assert!(!w.at(90.0).claim_begun(W3).lets_execute());
    }
}

#[test]
fn c21_a_late_completed_after_the_retry_has_begun_is_flagged() {
    for (confirm_by, state) in [
        (ConfirmBy::Postcondition, State::Sent),
        (ConfirmBy::Receipt, State::Confirmed),
    ] {
        let mut w = World::new(Terms {
            confirm_by,
            deduplication: Deduplication::None,
            ..serialized()
        });
        let first = w.sends(W1);
        let lookup = w.at(21.0).claim(W2).verifies();
        w.verify_then(W2, lookup.token, absent(), Then::BegunGrant)
            .executes();
        let told = w.at(22.0).report(W1, first, completed("X"));
        assert_eq!(told.answer().state, state);
        assert!(told.flags().duplicate_suspected);
        assert!(!w.at(90.0).claim_begun(W3).lets_execute());
    }
}
