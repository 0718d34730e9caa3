//! Lookups in detail: what counts, what is only evidence, and when the next one is due.

use deed_core::action::State;
use deed_core::command::Then;
use deed_core::contract::{Deduplication, Retry, Terms};
use deed_core::event::What;
use deed_core::evidence::{Observation, Seen, Verdict};
use deed_core::reply::{BlockReason, Refusal, WaitReason};

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";

/// A lookup of a quiet action, granted at 21, which lapses at 26.
fn looking() -> (World, deed_core::id::Token) {
    let mut w = World::new(serialized());
    w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    (w, lookup.token)
}

/// Whether the last observation in the history counted.
fn counted(w: &World) -> bool {
    let last = w.events().iter().rev().find_map(|event| match &event.what {
        What::Observed { counted, .. } => Some(*counted),
        _ => None,
    });
    last.unwrap()
}

#[test]
fn a_lapsed_lookup_is_one_inconclusive_lookup_whatever_it_says_later() {
    for late in [unclear(), failed_id("nobody's")] {
        let (mut w, token) = looking();
        w.at(30.0).verify(W2, token, late);
        assert_eq!(w.action().lookups.inconclusive, 1);
        assert_eq!(
            w.action().lookups.last_at,
            Some(w.now),
            "but it was the last to look"
        );
    }
}

#[test]
fn a_lapsed_lookup_that_nobody_overtook_may_still_prove_absence() {
    let (mut w, token) = looking();
    w.at(30.0)
        .verify_then(W2, token, absent(), Then::BegunGrant)
        .executes();
    assert!(counted(&w));
}

#[test]
fn findings_under_an_old_token_are_no_lookups() {
    for stale in [unclear(), failed_id("nobody's"), absent(), pending(60)] {
        let (mut w, old) = looking();
        let current = w.at(30.0).claim(W1).verifies();
        let before = w.action().lookups;
        w.verify(W2, old, stale.clone());
        assert_eq!(w.action().lookups, before, "{stale:?}");
        assert!(!counted(&w));
        w.verify(W1, current.token, absent());
        assert!(counted(&w));
    }
}

#[test]
fn a_failure_of_work_that_nobody_knows_is_an_inconclusive_lookup() {
    let (mut w, token) = looking();
    let told = w.verify(W2, token, failed_id("nobody's"));
    assert_eq!(told.waits(WaitReason::VerifyBackoff), 1.0);
    assert_eq!(w.action().lookups.inconclusive, 1);
}

/// Two undisproved attempts: both were lost with a failover, and both are quiet.
fn twice_lost() -> World {
    let mut w = World::new(serialized());
    w.plan(W1);
    for ahead in [30_000, 40_000] {
        let lost = deed_core::id::Token::new(w.now.millis() + ahead).unwrap();
        w.report(W1, lost, unknown());
    }
    w.at(60.0);
    w
}

#[test]
fn a_failure_of_one_of_two_attempts_is_an_inconclusive_lookup_unless_it_was_counted_or_nobody_looked() {
    let mut w = twice_lost();
    let lookup = w.claim(W2).verifies();
    w.verify(W2, lookup.token, failed_attempt(1))
        .waits(WaitReason::VerifyBackoff);
    assert_eq!(
        (w.action().lookups.inconclusive, w.action().undisproved.len()),
        (1, 1)
    );
    let mut w = twice_lost();
    let lookup = w.claim(W2).verifies();
    w.at(70.0).verify(W2, lookup.token, failed_attempt(2));
    assert_eq!(
        (w.action().lookups.inconclusive, w.action().undisproved.len()),
        (1, 1)
    );
    let mut w = twice_lost();
    w.observe(failed_attempt(2));
    assert_eq!(
        (w.action().lookups.inconclusive, w.action().undisproved.len()),
        (0, 1)
    );
    assert_eq!(w.state(), State::Unknown);
}

#[test]
fn a_witness_of_pending_work_delays_the_next_lookup() {
    let mut w = World::new(serialized());
    w.sends(W1);
    assert_eq!(w.at(21.0).observe(pending(60)).waits(WaitReason::Pending), 60.0);
    w.at(81.0).claim(W2).verifies();
}

#[test]
fn nothing_but_proof_moves_a_contradiction() {
    let mut w = World::new(by_lookup());
    let token = w.sends(W1);
    w.report(W1, token, completed("X"));
    let lookup = w.at(12.0).claim(W2).verifies();
    w.verify(W2, lookup.token, absent())
        .blocked(BlockReason::Contradiction);
    let before = w.action().lookups;
    for finding in [pending(5), failed_attempt(1)] {
        w.observe(finding).blocked(BlockReason::Contradiction);
    }
    for finding in [unclear(), absent(), found(Verdict::Partial)] {
        w.verify(W2, lookup.token, finding)
            .blocked(BlockReason::Contradiction);
    }
    assert_eq!(w.action().lookups, before);
    w.observe(seen("X")).settled(State::Confirmed);
}

#[test]
fn a_proof_that_names_the_work_names_its_attempt() {
    let mut w = World::new(asynchronous());
    let first = w.sends(W1);
    w.report(W1, first, accepted("J1", 1));
    w.at(2.0).observe(failed_id("J1"));
    let second = w.at(5.0).sends(W2);
    w.report(W2, second, accepted("J2", 1));
    w.observe(seen("J2"));
    assert_eq!(w.action().effect.as_ref().unwrap().attempt, Some(2));
}

#[test]
fn a_backoff_beyond_the_quiet_time_is_told_as_such() {
    let mut w = World::new(Terms {
        retry: Retry {
            initial_backoff: secs(60),
            ..Terms::DEFAULT_RETRY
        },
        ..serialized()
    });
    w.sends(W1);
    let early = w.at(6.0).claim(W2).verifies();
    assert_eq!(
        w.verify(W2, early.token, unclear())
            .waits(WaitReason::VerifyBackoff),
        60.0
    );
    w.at(65.9).claim(W2).waits(WaitReason::VerifyBackoff);
    w.at(66.0).claim(W2).verifies();
}

#[test]
fn executions_back_off_by_what_failed_before() {
    let mut w = World::new(Terms {
        retry: Retry {
            max_attempts: 5,
            ..Terms::DEFAULT_RETRY
        },
        ..at_most_once()
    });
    for wait in [1.0, 2.0, 4.0, 8.0] {
        let token = w.sends(W1);
        assert_eq!(
            w.report(W1, token, not_applied(0)).waits(WaitReason::Backoff),
            wait
        );
        w.now = w.now.plus(secs(8));
    }
    assert_eq!(w.action().attempts_counted, 4);
}

#[test]
fn a_resend_is_given_down_to_one_useful_second() {
    let resend_at = |at: f64| {
        let mut w = World::new(deduplicated());
        w.sends(W1);
        w.at(at).claim(W2)
    };
    // Window 100 - send timeout 5 - clock step 1 ends every re-send at 94.
    assert_eq!(resend_at(93.0).executes().lease_left, secs(1));
    resend_at(93.000_001).blocked(BlockReason::DeduplicationWindowPassed);
}

#[test]
fn an_approval_is_asked_for_every_few_seconds_until_its_request_expires() {
    let mut w = World::new(approved());
    w.plan(W1);
    assert_eq!(w.claim(W1).waits(WaitReason::Approval), 5.0);
    assert_eq!(w.at(86_398.0).claim(W1).waits(WaitReason::Approval), 2.0);
}

#[test]
fn an_action_in_doubt_outlives_the_request_for_its_approval() {
    let mut w = World::new(Terms {
        deduplication: Deduplication::IdempotencyKey {
            window: deed_core::time::Span::from_days(9),
        },
        retry: Retry {
            total_budget: deed_core::time::Span::from_days(9),
            ..Terms::DEFAULT_RETRY
        },
        ..approved()
    });
    w.plan(W1);
    let lost = deed_core::id::Token::new(w.now.millis() + 30_000).unwrap();
    w.report(W1, lost, unknown());
    assert_eq!(w.at(86_400.0).claim(W1).waits(WaitReason::Approval), 5.0);
    assert_eq!(w.state(), State::Unknown);
    w.decide(approve());
    assert!(w.claim(W1).executes().resend);
}

#[test]
fn a_failure_with_a_fact_seen_true_is_refused() {
    let failed = || Observation {
        verdict: failed_attempt(1).verdict,
        ..found_with(Verdict::NotFound, &[("a", Seen::True)])
    };
    let mut w = World::with_facts(serialized(), &["a", "b"]);
    w.sends(W1);
    let refusal = w.observe(failed()).refused();
    assert!(matches!(
        refusal,
        Refusal::InvalidField {
            field: "observation.facts",
            ..
        }
    ));
}

#[test]
fn a_lookup_granted_exactly_at_the_quiet_time_is_not_the_early_one() {
    let (mut w, token) = looking();
    // W1's late word moves the quiet time to 33, and the early lookup is still to be had.
    let first = w.action().undisproved[0].token;
    w.at(22.0).report(W1, first, unknown_ended());
    assert_eq!(
        w.verify(W2, token, unclear()).waits(WaitReason::VerifyBackoff),
        1.0
    );
    w.at(23.0).claim(W2).verifies();
}
