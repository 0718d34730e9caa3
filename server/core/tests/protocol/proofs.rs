//! Proof, ids and marks in detail: what is news, what is a suspicion, and what a receipt changes for its own attempt.

use deed_core::action::{Doubt, State};
use deed_core::command::Then;
use deed_core::contract::{Deduplication, Terms};
use deed_core::event::What;
use deed_core::id::Token;
use deed_core::reply::WaitReason;

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";

/// Attempt 1 was proven absent, attempt 2 is confirmed with that receipt.
fn retried_and_done(terms: Terms, id: Option<&str>) -> (World, Token, Token) {
    let mut w = World::new(terms);
    let first = w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    let second = w
        .verify_then(W2, lookup.token, absent(), Then::BegunGrant)
        .executes()
        .token;
    let receipt = id.map_or_else(completed_without_id, completed);
    w.report(W2, second, receipt).settled(State::Confirmed);
    (w, first, second)
}

#[test]
fn the_same_attempt_proven_again_is_no_news() {
    for id in [None, Some("X")] {
        let (mut w, _, second) = retried_and_done(serialized(), id);
        w.report(W2, second, completed_without_id());
        w.observe(seen_without_id());
        assert!(!w.flags_set(), "{id:?}");
    }
}

#[test]
fn a_later_id_for_the_same_effect_is_kept() {
    let (mut w, _, second) = retried_and_done(serialized(), None);
    w.report(W2, second, completed("X"));
    assert_eq!(w.action().external_id, Some(external("X")));
    assert!(!w.flags_set());
    w.observe(seen("Y"));
    assert!(w.action().flags.duplicate_suspected);
    assert_eq!(w.action().external_id, Some(external("X")));
}

#[test]
fn another_attempt_that_is_done_too_is_suspected_unless_it_names_the_same_effect() {
    for (first_says, second_says, suspected) in [
        (None, None, true),
        (None, Some("X"), true),
        (Some("X"), None, true),
        (Some("X"), Some("X"), false),
        (Some("Y"), Some("X"), true),
    ] {
        let (mut w, first, _) = retried_and_done(serialized(), second_says);
        let receipt = first_says.map_or_else(completed_without_id, completed);
        w.report(W1, first, receipt);
        assert_eq!(
            w.action().flags.duplicate_suspected,
            suspected,
            "{first_says:?}, {second_says:?}"
        );
    }
}

#[test]
fn where_a_second_send_is_harmless_only_differing_ids_are_suspected() {
    for (terms, kind) in [(deduplicated(), "deduplicated"), (reading(), "reading")] {
        for (first_says, suspected) in [(completed_without_id(), false), (completed("Y"), true)] {
            let mut w = World::new(terms);
            let first = w.sends(W1);
            let second = w.at(10.0).sends(W2);
            w.report(W1, first, first_says);
            w.report(W2, second, completed("X")).settled(State::Confirmed);
            assert_eq!(w.action().flags.duplicate_suspected, suspected, "{kind}");
        }
    }
}

#[test]
fn proof_under_a_live_holder_suspects_only_what_it_does_not_speak_of() {
    // The holder's own proof, and proof without a name of the only attempt, say nothing of a second effect.
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.verify(W1, token, seen("X")).settled(State::Confirmed);
    assert!(!w.flags_set());
    let mut w = World::new(serialized());
    w.sends(W1);
    w.observe(seen("X")).settled(State::Confirmed);
    assert!(!w.flags_set());
    // With a second attempt begun, proof without a name may be of the first.
    let mut w = World::new(serialized());
    w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.verify_then(W2, lookup.token, absent(), Then::BegunGrant)
        .executes();
    let told = w.observe(seen("X"));
    told.settled(State::Confirmed);
    assert!(told.flags().duplicate_suspected);
}

#[test]
fn an_id_stays_while_some_attempt_stands_under_it() {
    let mut w = World::new(Terms {
        deduplication: Deduplication::IdempotencyKey { window: secs(1_000) },
        ..at_most_once()
    });
    let first = w.sends(W1);
    let second = w.at(10.0).sends(W2);
    w.report(W1, first, accepted("J1", 1));
    w.report(W2, second, not_applied(1));
    assert_eq!(w.action().external_id, Some(external("J1")), "attempt 1 stands");
    w.observe(failed_id("J1"));
    assert_eq!(w.action().external_id, None);
}

#[test]
fn a_completed_word_for_an_absent_attempt_suspects_a_second_only_where_somebody_sends() {
    let mut w = World::new(by_lookup());
    let first = w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.verify(W2, lookup.token, absent());
    w.report(W1, first, completed("X"));
    assert!(!w.action().flags.duplicate_suspected, "nobody sends");
}

#[test]
fn a_late_doubt_changes_neither_reason_nor_state() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.at(6.0).sweep();
    w.report(W1, token, unknown());
    assert_eq!(w.action().doubt, Some(Doubt::LeaseLapsed));
    assert!(w.action().reason.blank());
    let mut w = World::new(serialized());
    let first = w.sends(W1);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.verify_then(W2, lookup.token, absent(), Then::BegunGrant)
        .executes();
    w.report(W1, first, unknown()).held();
    assert_eq!(w.state(), State::Sent, "W2 sends still");
}

#[test]
fn the_holders_doubt_is_written_down_with_its_reason() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.report(W1, token, unknown());
    assert_eq!(w.action().doubt, Some(Doubt::Reported));
    assert_eq!(w.action().reason, note("timeout"));
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.release(W1, token);
    assert_eq!(w.action().doubt, Some(Doubt::Released));
}

#[test]
fn acceptance_said_twice_moves_the_effect_deadline_once() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    w.report(W1, token, accepted("J1", 1));
    w.at(100.0).report(W1, token, accepted("J1", 1));
    let lookup = w.at(102.0).claim(W2).verifies();
    assert_eq!(lookup.absence_counts_from, w.now.plus(secs(3600 + 10 + 1 - 102)));
}

#[test]
fn an_unbegun_lease_that_ends_by_its_holders_word_is_given_back_in_writing() {
    let releases = |w: &World| {
        let released = |event: &&deed_core::event::Event| matches!(event.what, What::Released { .. });
        w.events().iter().filter(released).count()
    };
    let mut w = World::new(serialized());
    let unbegun = w.claim(W1).executes().token;
    assert_eq!(w.report(W1, unbegun, not_sent()).waits(WaitReason::Backoff), 1.0);
    assert_eq!(releases(&w), 1);
    w.report(W1, unbegun, not_sent());
    assert_eq!(releases(&w), 1, "a second word ends nothing");
    let begun = w.at(1.0).sends(W2);
    w.report(W2, begun, not_sent());
    assert_eq!(releases(&w), 1);
}

#[test]
fn what_was_never_sent_backs_off_further_each_time() {
    let mut w = World::new(serialized());
    for wait in [1.0, 2.0, 4.0] {
        let unbegun = w.claim(W1).executes().token;
        assert_eq!(w.report(W1, unbegun, not_sent()).waits(WaitReason::Backoff), wait);
        w.now = w.now.plus(secs(8));
    }
    assert_eq!((w.action().attempts, w.action().attempts_counted), (0, 0));
}

#[test]
fn a_resumption_that_its_predecessor_outlives_is_spent() {
    use deed_core::evidence::{Seen, Verdict};
    let mut w = World::with_facts(resuming(), &["row", "mail"]);
    let first = w.sends(W1);
    w.report(W1, first, unknown_ended());
    let lookup = w.at(12.0).claim(W2).verifies();
    let half = found_with(Verdict::Partial, &[("row", Seen::True), ("mail", Seen::False)]);
    let resumed = w.verify_then(W2, lookup.token, half, Then::BegunGrant).executes();
    // Attempt 1 denies its send while attempt 2 resumes: that gives attempt 2 no second try.
    w.report(W1, first, not_sent());
    w.at(14.0).report(W2, resumed.token, unknown_ended());
    assert!(w.action().resumed);
}

#[test]
fn a_word_into_a_contradiction_neither_settles_nor_reopens() {
    let mut w = World::new(by_lookup());
    let token = w.sends(W1);
    w.report(W1, token, completed("X"));
    let lookup = w.at(12.0).claim(W2).verifies();
    w.verify(W2, lookup.token, absent());
    let lost = Token::new(w.now.millis() + 30_000).unwrap();
    w.report(W2, lost, rejected("no"));
    assert_eq!(w.state(), State::Unknown);
    // A first attempt that denies its send, while a second is under way, leaves the second alone.
    let mut w = World::new(deduplicated());
    let first = w.sends(W1);
    let second = w.at(10.0).sends(W2);
    w.report(W1, first, not_applied(1)).held();
    assert_eq!(w.state(), State::Sent);
    w.report(W2, second, completed("X")).settled(State::Confirmed);
}

#[test]
fn a_holder_whose_attempt_was_declared_failed_leaves_the_other_in_doubt() {
    let mut w = World::new(deduplicated());
    w.sends(W1);
    let second = w.at(10.0).sends(W2);
    w.observe(failed_attempt(2)).held();
    assert_eq!(w.state(), State::Sent);
    w.report(W2, second, not_applied(1));
    assert_eq!(
        (w.state(), w.action().doubt),
        (State::Unknown, Some(Doubt::EarlierAttempt))
    );
}
