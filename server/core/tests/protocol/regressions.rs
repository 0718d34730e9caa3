//! One story for every bug that was found in the rules and that no scenario names.

use deed_core::action::{Flag, GrantKind, State};
use deed_core::command::{Ask, Decision, Resolution, Then};
use deed_core::contract::{ApprovalNeed, Deduplication, ExternalIdMeaning, Terms};
use deed_core::evidence::{Seen, Verdict};
use deed_core::id::Token;
use deed_core::reply::{BlockReason, Refusal, WaitReason};

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";
const W3: &str = "w3";

/// A token that a failover lost: above all tokens here, within reach of the database's time.
fn lost_token(w: &World) -> Token {
    Token::new(w.now.millis() + 40_000).unwrap()
}

#[test]
fn regression_a_holder_whose_number_went_to_a_lost_attempt_speaks_for_its_own() {
    let mut w = World::new(serialized());
    let told = w.claim(W2).executes();
    assert_eq!(told.attempt, 1);
    let lost = lost_token(&w);
    w.report(W1, lost, unknown());
    w.at(1.0).report(W2, told.token, unknown());
    w.at(2.0).report(W2, told.token, not_applied(1));
    let left: Vec<_> = w
        .action()
        .undisproved
        .iter()
        .map(|attempt| attempt.token)
        .collect();
    assert_eq!(left, [lost], "W2's word disproves W2's attempt, not the lost one");
    assert_eq!(w.state(), State::Unknown);
}

#[test]
fn regression_what_only_reads_is_granted_beyond_the_receivers_window() {
    let mut w = World::new(Terms {
        deduplication: Deduplication::IdempotencyKey { window: secs(100) },
        ..reading()
    });
    w.sends(W1);
    let again = w.at(500.0).claim_begun(W2).executes();
    assert_eq!(again.lease_left, secs(5));
}

#[test]
fn regression_a_partial_effect_without_declared_facts_is_not_undone_by_a_receipt_or_a_failure() {
    for by_receipt in [true, false] {
        let mut w = World::new(serialized());
        let token = w.sends(W1);
        w.at(1.0).report(W1, token, unknown_ended());
        let lookup = w.at(12.0).claim(W2).verifies();
        w.verify(W2, lookup.token, found(Verdict::Partial))
            .blocked(BlockReason::Partial);
        let told = if by_receipt {
            w.report(W1, token, not_applied(1))
        } else {
            w.observe(failed_attempt(1))
        };
        told.blocked(BlockReason::Contradiction);
        assert!(!w.at(90.0).claim_begun(W3).lets_execute());
    }
}

#[test]
fn regression_a_fact_seen_after_its_sender_denied_it_stops_the_retry() {
    let mut w = World::with_facts(serialized(), &["row", "mail"]);
    let token = w.sends(W1);
    let lookup = w.at(6.0).claim(W2).verifies();
    w.at(7.0)
        .report(W1, token, not_applied(1))
        .waits(WaitReason::Backoff);
    let half = found_with(
        Verdict::Unknown {
            reason: note("mail store away"),
        },
        &[("row", Seen::True), ("mail", Seen::NotSeen)],
    );
    w.verify(W2, lookup.token, half)
        .blocked(BlockReason::Contradiction);
    assert!(!w.at(90.0).claim_begun(W3).lets_execute());
}

#[test]
fn regression_a_lookup_that_saw_nothing_may_say_so_after_others_saw_everything() {
    let mut w = World::with_facts(serialized(), &["row", "mail"]);
    w.sends(W1);
    let pending = |name| {
        let verdict = Verdict::Pending { retry_after: None };
        found_with(verdict, &[(name, Seen::True)])
    };
    w.observe(pending("row"));
    // All hold now: that is a confirmation, and the witness must say so.
    let refusal = w.observe(pending("mail")).refused();
    assert!(matches!(
        refusal,
        Refusal::InvalidField {
            field: "observation.facts",
            ..
        }
    ));
    let lookup = w.at(6.0).claim(W2).verifies();
    let other_half = found_with(Verdict::Partial, &[("row", Seen::False), ("mail", Seen::True)]);
    w.verify(W2, lookup.token, other_half)
        .waits(WaitReason::SettleWindow);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.verify(W2, lookup.token, unclear())
        .waits(WaitReason::VerifyBackoff);
    let lookup = w.at(30.0).claim(W2).verifies();
    let rest = found_with(
        Verdict::Confirmed {
            external_id: None,
            result: None,
        },
        &[("mail", Seen::True)],
    );
    w.verify(W2, lookup.token, rest).settled(State::Confirmed);
}

#[test]
fn regression_two_sends_that_name_one_object_are_not_one_effect() {
    for (meaning, suspected) in [
        (ExternalIdMeaning::IdentifiesEffect, false),
        (ExternalIdMeaning::IdentifiesObject, true),
    ] {
        let mut w = World::new(Terms {
            external_id: meaning,
            ..serialized()
        });
        let first = w.sends(W1);
        let lookup = w.at(21.0).claim(W2).verifies();
        let retry = w
            .verify_then(W2, lookup.token, absent(), Then::BegunGrant)
            .executes();
        w.report(W2, retry.token, completed("T-1"))
            .settled(State::Confirmed);
        let told = w.report(W1, first, completed("T-1"));
        assert_eq!(told.flags().duplicate_suspected, suspected, "{meaning:?}");
    }
}

#[test]
fn regression_a_send_beside_the_gate_after_the_confirmation_is_flagged() {
    let mut w = World::new(serialized());
    let unbegun = w.claim(W1).executes().token;
    let second = w.at(6.0).sends(W2);
    w.report(W2, second, completed("CH-1")).settled(State::Confirmed);
    let told = w.report(W1, unbegun, completed_without_id());
    told.settled(State::Confirmed);
    assert!(told.flags().ungated && told.flags().duplicate_suspected);
}

#[test]
fn regression_an_earlier_attempts_proof_flags_a_later_one_that_lapsed() {
    let mut w = World::new(serialized());
    let first = w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.verify_then(W2, lookup.token, absent(), Then::BegunGrant)
        .executes();
    let told = w.at(60.0).report(W1, first, completed_without_id());
    told.settled(State::Confirmed);
    assert!(told.flags().duplicate_suspected, "W2 has sent too");
}

#[test]
fn regression_an_unapproved_action_beyond_awaiting_approval_still_expires() {
    let mut w = World::new(Terms {
        approval: ApprovalNeed::Required,
        ..serialized()
    });
    w.plan(W1);
    let lost = lost_token(&w);
    w.report(W1, lost, unknown_ended());
    let lookup = w.at(12.0).claim(W2).verifies();
    w.verify_then(W2, lookup.token, absent(), Then::BegunGrant)
        .waits(WaitReason::Approval);
    assert_eq!(w.state(), State::NotFound);
    w.at(90_000.0).claim_begun(W2).settled(State::Rejected);
}

#[test]
fn regression_a_failed_job_that_was_accepted_leaves_the_other_attempt_in_doubt() {
    let mut w = World::new(Terms {
        deduplication: Deduplication::IdempotencyKey { window: secs(1_000) },
        ..at_most_once()
    });
    let first = w.sends(W1);
    let second = w.at(10.0).sends(W2);
    w.report(W2, second, accepted("J2", 1));
    assert_eq!(w.state(), State::Accepted);
    w.observe(failed_id("J2"));
    assert_eq!(w.state(), State::Unknown);
    assert!(
        w.action()
            .undisproved
            .iter()
            .all(|attempt| attempt.token == first)
    );
}

#[test]
fn regression_evidence_into_a_contradiction_leaves_it_unknown() {
    let mut w = World::new(by_lookup());
    let token = w.sends(W1);
    w.report(W1, token, completed("X"));
    let lookup = w.at(12.0).claim(W2).verifies();
    w.verify(W2, lookup.token, absent())
        .blocked(BlockReason::Contradiction);
    let lost = lost_token(&w);
    w.report(W3, lost, unknown()).blocked(BlockReason::Contradiction);
    assert_eq!(w.state(), State::Unknown);
}

#[test]
fn regression_renewals_of_a_lease_that_ended_unbegun_are_not_forgotten() {
    let mut w = World::new(serialized());
    let token = w.claim(W1).executes().token;
    w.at(4.0).renew(W1, token).renewed();
    w.at(5.0).report(W1, token, not_sent());
    let other = w.at(6.0).claim(W2).executes().token;
    // Another thread of W1 did send, within the lease it was told until 9.
    w.at(6.5).report(W1, token, unknown());
    assert!(!w.begin(W2, other).lets_execute());
    let early = w.claim(W2).verifies();
    // 9 + send timeout 5 + settle window 10 + clock step 1.
    assert_eq!(
        w.verify(W2, early.token, absent())
            .waits(WaitReason::SettleWindow),
        18.5
    );
}

#[test]
fn regression_a_completed_word_after_a_rejection_is_not_executed_over_when_reopened() {
    let mut w = World::new(by_lookup());
    let token = w.sends(W1);
    w.report(W1, token, rejected("no")).settled(State::Rejected);
    let told = w.report(W1, token, completed("X"));
    told.settled(State::Rejected);
    assert!(told.flags().contradicted);
    w.at(60.0).decide(reopen()).claimable(GrantKind::Verify);
}

#[test]
fn regression_a_send_lost_with_the_row_counts_the_window_from_its_token() {
    let mut w = World::new(deduplicated());
    let lost = Token::new(w.now.millis()).unwrap();
    let spec = Some(Box::new(w.spec.clone()));
    let ask = deed_core::command::Ask::Report {
        token: lost,
        receipt: unknown(),
        then: Then::Nothing,
        spec,
    };
    w.at(50.0).call(W1, ask);
    // Sent at 0 at the earliest: window 100 - send timeout 5 - clock step 1.
    assert_eq!(w.at(90.0).claim(W2).executes().lease_left, secs(4));
    w.at(95.0)
        .claim(W2)
        .blocked(BlockReason::DeduplicationWindowPassed);
}

#[test]
fn regression_an_accepted_attempt_found_absent_gives_its_id_back() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.report(W1, token, accepted("J1", 1));
    let lookup = w.at(12.0).claim(W2).verifies();
    let retry = w
        .verify_then(W2, lookup.token, absent(), Then::BegunGrant)
        .executes();
    let told = w.report(W2, retry.token, completed("J2"));
    assert_eq!(told.settled(State::Confirmed).external_id, Some(external("J2")));
    assert!(!told.flags().duplicate_suspected);
}

#[test]
fn regression_absence_by_word_gives_the_id_back_too() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.report(W1, token, accepted("J1", 1));
    w.at(12.0).decide(Decision::Resolve {
        resolution: Resolution::Absent,
        proof: None,
    });
    let retry = w.sends(W2);
    assert!(!w.report(W2, retry, completed("J2")).flags().duplicate_suspected);
}

#[test]
fn regression_a_repeat_flags_the_other_action_that_a_dying_server_left_unflagged() {
    let mut w = World::new(at_most_once());
    let first = w.sends(W1);
    w.report(W1, first, completed("CH-7")).settled(State::Confirmed);
    w.turn_to(key("order-2"));
    let second = w.sends(W2);
    let ask = Ask::Report {
        token: second,
        receipt: completed("CH-7"),
        then: Then::Nothing,
        spec: None,
    };
    let report = w.command(W2, ask);
    w.send(&report).blocked(BlockReason::Contradiction);
    // As if the mark had never been written.
    w.turn_to(key("order-1"));
    w.decide(Decision::Acknowledge {
        flag: Flag::Contradicted,
    });
    assert!(!w.action().flags.contradicted);
    w.send(&report).blocked(BlockReason::Contradiction);
    assert!(w.action().flags.contradicted);
}

#[test]
fn regression_evidence_is_acknowledged_to_a_repeat_only_after_a_commit_of_its_own() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let ask = Ask::Report {
        token,
        receipt: completed("CH-7"),
        then: Then::Nothing,
        spec: None,
    };
    let report = w.command(W1, ask);
    // Its commit is cut off while it waits for the standby; another replica reads it and answers the repeat.
    w.send(&report).settled(State::Confirmed);
    let row = &w.rows[&w.key];
    let remembered = row.remembered(&report, &w.registry);
    let again = w
        .protocol
        .decide(row.action.as_ref(), &remembered, &report, w.now);
    assert!(again.next.is_none() && again.events.is_empty());
    assert!(
        again.reads_back,
        "a worker that hears this answer drops its receipt, so the receipt must be safe"
    );
}
