//! Part B: field cases, as far as they are pure protocol.

use deed_core::action::{GrantKind, State};
use deed_core::command::{Ask, Then};
use deed_core::contract::{Terms, Verification};
use deed_core::event::What;
use deed_core::evidence::{Seen, Verdict};
use deed_core::reply::{BlockReason, NextStep, Refusal, WaitReason};
use deed_core::time::Span;

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";
const W3: &str = "w3";

#[test]
fn b01_a_lease_shorter_than_the_work_is_kept_by_renewals() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    for second in [2.0, 4.0, 6.0] {
        assert_eq!(w.at(second).renew(W1, token).renewed(), 5.0);
    }
    w.at(7.0).claim_begun(W2).held();
    for second in [8.0, 10.0, 12.0] {
        w.at(second).renew(W1, token).renewed();
    }
    w.at(13.0).claim_begun(W2).held();
    w.at(14.0).renew(W1, token).renewed();
    w.at(15.0)
        .report(W1, token, completed("CH-1"))
        .settled(State::Confirmed);
    w.claim_begun(W2).settled(State::Confirmed);
}

#[test]
fn b01_a_holder_that_stops_renewing_is_looked_after_never_repeated() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.at(2.0).renew(W1, token).renewed();
    w.at(4.0).renew(W1, token).renewed();
    w.at(8.9).claim_begun(W2).held();
    let lookup = w.at(9.2).claim_begun(W2).verifies();
    assert!(lookup.token > token);
}

#[test]
fn b03_an_old_owners_rejection_does_not_undo_what_was_confirmed() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let lookup = w.at(6.0).claim(W2).verifies();
    w.verify(W2, lookup.token, seen("CH-1")).settled(State::Confirmed);
    w.at(7.0)
        .report(W1, token, rejected("declined"))
        .settled(State::Confirmed);
    let last = w.events().last().unwrap();
    assert!(matches!(last.what, What::Reported { late: true, .. }));
    assert_eq!((last.token, last.by.clone()), (Some(token), Some(caller(W1))));
}

#[test]
fn b04_a_late_renewal_and_a_late_begin_steal_nothing_back() {
    let mut w = World::new(serialized());
    let stalled = w.claim(W1).executes().token;
    let taken = w.at(6.0).claim(W2).executes();
    assert_eq!(w.at(7.0).renew(W1, stalled).held().0, W2);
    assert_eq!(w.begin(W1, stalled).held().0, W2);
    assert_eq!(w.action().grant.as_ref().unwrap().expires_at, taken.expires_at);
    w.begin(W2, taken.token).executes();
}

#[test]
fn b08_the_lease_counts_from_the_time_of_the_grant() {
    let mut w = World::new(serialized());
    // The row was held by somebody for four seconds: the core sees only the time after the lock.
    let granted = w.at(4.0).claim(W1).executes();
    assert_eq!(granted.lease_left, secs(5));
    assert_eq!(granted.expires_at, w.now.plus(secs(5)));
}

#[test]
fn b09_a_claim_that_waited_past_the_lapse_is_granted() {
    let terms = Terms {
        lease: secs(3),
        ..serialized()
    };
    let mut w = World::new(terms);
    w.claim(W1).executes();
    // Sent at 2.5, behind a lock until 5.
    w.at(5.0).claim_begun(W2).executes();
}

#[test]
fn b09_the_lease_ends_exactly_at_its_expiry() {
    let mut w = World::new(serialized());
    let token = w.claim(W1).executes().token;
    w.at(4.999_999).claim(W2).held();
    w.at(5.0).renew(W1, token).claimable(GrantKind::Execute);
    assert!(!w.begin(W1, token).lets_execute());
}

#[test]
fn b13_a_lapse_is_never_read_as_nothing_happened() {
    let mut w = World::new(serialized());
    w.sends(W1);
    let lookup = w.at(6.0).claim(W2).verifies();
    w.verify(W2, lookup.token, unclear());
    for second in 7..60 {
        let told = w.at(f64::from(second)).claim_begun(W3);
        let allowed = matches!(
            told.step(),
            NextStep::VerifyEffect(_)
                | NextStep::Wait { .. }
                | NextStep::Blocked { .. }
                | NextStep::Held { .. }
        );
        assert!(allowed, "at {second}: {told:?}");
        if let NextStep::VerifyEffect(grant) = told.step() {
            w.verify(W3, grant.token, unclear());
        }
    }
    assert_eq!(w.action().attempts, 1);
}

#[test]
fn b16_another_payload_never_gets_the_first_answer() {
    let mut w = World::new(at_most_once());
    let first = w.spec.clone();
    let mut other = first.clone();
    other.input = input(2);
    let token = w.sends(W1);
    for settled in [false, true] {
        if settled {
            w.spec = first.clone();
            w.report(W1, token, completed("CH-1"));
        }
        w.spec = other.clone();
        assert_eq!(w.claim_begun(W2).refused(), Refusal::InputMismatch);
        let ask = Ask::Report {
            token,
            receipt: unknown(),
            then: Then::Nothing,
            spec: Some(Box::new(other.clone())),
        };
        assert_eq!(w.call(W1, ask).refused(), Refusal::InputMismatch);
    }
    assert!(!format!("{}", Refusal::InputMismatch).contains("CH-1"));
}

#[test]
fn b19_a_lost_answer_is_given_again_to_its_caller_alone() {
    let mut w = World::new(serialized());
    let ask = w.claim_ask(true);
    let claim = w.command(W1, ask);
    let first = w.send(&claim).executes();
    let again = w.at(2.0).send(&claim).executes();
    assert_eq!(
        (again.token, again.expires_at, again.begun),
        (first.token, first.expires_at, true)
    );
    assert_eq!(again.lease_left, secs(3));
    assert_eq!(w.claim_begun(W1).held().0, W1, "another thread of the same owner");
    let mut stolen = claim.clone();
    stolen.request.caller = caller(W2);
    assert_eq!(w.send(&stolen).refused(), Refusal::RequestIdReused);
    assert_eq!(w.events().len(), 1);
}

#[test]
fn b19_a_report_sent_twice_is_one_row_of_history() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let ask = Ask::Report {
        token,
        receipt: completed("CH-1"),
        then: Then::Nothing,
        spec: None,
    };
    let report = w.command(W1, ask);
    let first = w.send(&report).settled(State::Confirmed);
    let events = w.events().len();
    assert_eq!(w.at(1.0).send(&report).settled(State::Confirmed), first);
    assert_eq!(w.events().len(), events);
}

#[test]
fn b19_a_repeated_begin_is_answered_as_begun() {
    let mut w = World::new(serialized());
    let token = w.claim(W1).executes().token;
    let begin = w.command(W1, Ask::Begin { token });
    assert!(w.send(&begin).executes().begun);
    assert!(w.at(1.0).send(&begin).executes().begun);
    assert!(!w.begin(W1, token).lets_execute(), "one begin, whoever asks anew");
    assert!(!w.at(6.0).send(&begin).lets_execute());
}

#[test]
fn b19_a_request_id_with_other_content_is_refused() {
    let mut w = World::new(serialized());
    let ask = w.claim_ask(false);
    let mut claim = w.command(W1, ask);
    w.send(&claim).executes();
    claim.ask = w.claim_ask(true);
    claim.request.fingerprint = fingerprint(&claim.key, &claim.ask);
    assert_eq!(w.send(&claim).refused(), Refusal::RequestIdReused);
}

#[test]
fn b20_one_id_in_two_namespaces_is_two_actions() {
    let mut w = World::new(serialized());
    let first = w.claim_begun(W1).executes();
    let second = w.turn_to(key_in("bakery", "order-1")).claim_begun(W2).executes();
    assert_ne!(first.outward_key, second.outward_key);
    w.report(W2, second.token, completed("CH-1"))
        .settled(State::Confirmed);
    w.turn_to(key("order-1"))
        .report(W1, first.token, completed("CH-1"))
        .settled(State::Confirmed);
    assert!(!w.flags_set());
}

#[test]
fn b23_called_again_while_the_tool_still_works_is_held() {
    let terms = Terms {
        lease: secs(8),
        ..serialized()
    };
    let mut w = World::new(terms);
    let token = w.sends(W1);
    w.at(6.0).renew(W1, token).renewed();
    w.at(10.5).claim_begun(W1).held();
    for second in [12.0, 18.0, 24.0] {
        w.at(second).renew(W1, token).renewed();
    }
    w.at(25.0).report(W1, token, completed("CH-1"));
    w.claim_begun(W1).settled(State::Confirmed);
}

#[test]
fn b23_a_client_that_gave_up_leaves_a_lookup_behind() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.at(4.0)
        .report(W1, token, unknown())
        .claimable(GrantKind::Verify);
    w.claim_begun(W1).verifies();

    let mut w = World::new(serialized());
    let token = w.sends(W1);
    w.at(4.0).release(W1, token).claimable(GrantKind::Verify);
    assert_eq!(w.state(), State::Unknown);
    w.at(4.5).claim_begun(W2).verifies();
}

#[test]
fn b24_fifty_claims_of_one_worker_give_one_grant() {
    let mut w = World::new(serialized());
    let mut granted = 0;
    for _ in 0..50 {
        let told = w.claim_begun(W1);
        match told.step() {
            NextStep::Execute(_) => granted += 1,
            NextStep::Held { owner, .. } => assert_eq!(owner.as_str(), W1),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(granted, 1);
}

#[test]
fn b26_older_news_after_the_confirmation_is_history_only() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let lookup = w.at(6.0).claim(W2).verifies();
    w.report(W1, token, completed("CH-1")).settled(State::Confirmed);
    w.at(7.0)
        .verify(W2, lookup.token, absent())
        .settled(State::Confirmed);
    w.report(W1, token, unknown()).settled(State::Confirmed);
    w.report(W1, token, rejected("no")).settled(State::Confirmed);
    w.observe(failed_id("CH-1")).settled(State::Confirmed);
    assert_eq!(w.evidence(), 5);
    assert!(!w.flags_set());
}

#[test]
fn b27_a_late_result_is_kept_and_confirms() {
    let mut w = World::new(serialized());
    let token = w.sends(W1);
    let lookup = w.at(6.0).claim(W2).verifies();
    w.verify(W2, lookup.token, unclear());
    let settled = w
        .at(8.0)
        .report(W1, token, completed("X"))
        .settled(State::Confirmed);
    assert_eq!(settled.external_id, Some(external("X")));
    w.at(900.0).claim_begun(W3).settled(State::Confirmed);
}

#[test]
fn b28_acceptance_is_waited_for_and_then_looked_up_by_its_id() {
    let mut w = World::new(asynchronous());
    let token = w.sends(W1);
    w.at(1.0).claim_begun(W2).held();
    w.at(2.0).report(W1, token, accepted("J1", 10));
    assert_eq!(w.at(3.0).claim_begun(W2).waits(WaitReason::Pending), 9.0);
    let lookup = w.at(12.0).claim_begun(W2).verifies();
    assert_eq!(lookup.external_id, Some(external("J1")));
    assert_eq!(w.state(), State::Accepted);
    w.verify(W2, lookup.token, seen("J1")).settled(State::Confirmed);
}

#[test]
fn b29_an_early_absence_waits_and_a_due_one_hands_out_the_retry() {
    let mut w = World::new(Terms {
        verification: Verification::Postcondition {
            settle_window: secs(30),
            effect_deadline: Span::from_hours(1),
        },
        ..serialized()
    });
    w.sends(W1);
    let early = w.at(6.0).claim_begun(W2).verifies();
    w.verify(W2, early.token, absent())
        .waits(WaitReason::SettleWindow);
    // Lease end 5 + send timeout 5 + settle window 30 + clock step 1.
    assert_eq!(w.at(7.0).claim_begun(W2).waits(WaitReason::SettleWindow), 34.0);
    let due = w.at(41.0).claim_begun(W2).verifies();
    assert_eq!(w.state(), State::Unknown, "the wait alone proves nothing");
    let retry = w
        .at(42.0)
        .verify_then(W2, due.token, absent(), Then::BegunGrant)
        .executes();
    assert_eq!((retry.attempt, retry.begun), (2, true));
    assert!(!w.at(43.0).claim_begun(W3).lets_execute());
}

#[test]
fn b30_a_partial_batch_stops_with_its_missing_fact_until_a_person_decides() {
    let partial = found_with(Verdict::Partial, &[("rows", Seen::True), ("index", Seen::False)]);
    let mut w = World::with_facts(serialized(), &["rows", "index"]);
    let token = w.sends(W1);
    w.at(1.0).report(W1, token, unknown_ended());
    let lookup = w.at(12.0).claim(W2).verifies();
    let told = w.verify_then(W2, lookup.token, partial, Then::BegunGrant);
    assert_eq!(told.blocked(BlockReason::Partial), [fact("index")]);
    assert_eq!(w.action().reason, note("looked"));
    w.decide(reopen()).claimable(GrantKind::Verify);
    assert_eq!(w.state(), State::Unknown);
    w.decide(resolve_confirmed("B-1")).settled(State::Confirmed);
}

#[test]
fn b42_a_new_process_under_an_old_name_waits_for_the_old_lease() {
    let terms = Terms {
        lease: secs(10),
        ..serialized()
    };
    let mut w = World::new(terms);
    let dead = w.claim("pod-0").executes().token;
    assert_eq!(w.at(2.0).claim("pod-0").held().1, 8.0);
    let granted = w.at(10.2).claim("pod-0").executes();
    assert!(granted.token > dead);
}

#[test]
fn b42_a_name_under_another_principal_is_another_holder() {
    let mut w = World::new(serialized());
    let token = w.claim("pod-0").executes().token;
    let mut begin = w.command("pod-0", Ask::Begin { token });
    begin.request.caller.principal = deed_core::text::Principal::new("someone-else").unwrap();
    assert_eq!(w.send(&begin).refused(), Refusal::NotYourGrant);
}
