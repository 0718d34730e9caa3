//! Traps of one attempt after another: what is said of one says nothing of the other (C1, C2, C21).

use deed_core::action::State;
use deed_core::command::Then;
use deed_core::contract::{ConfirmBy, Deduplication, Terms};
use deed_core::id::Token;
use deed_core::reply::{BlockReason, Refusal};

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
