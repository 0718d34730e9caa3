//! The decision table: every state with every call. Expected states are those of the protocol's page.

mod decisions;

use deed_core::action::{GrantKind, State};
use deed_core::command::Resolution;
use deed_core::contract::{ApprovalNeed, Terms};
use deed_core::evidence::{Observation, Receipt, Seen, Verdict};
use deed_core::id::Token;
use deed_core::reply::{BlockReason, NextStep, WaitReason};

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";

/// The grant of attempt 1, and the time at which everything about it is quiet.
const QUIET: f64 = 30.0;

fn terms(approval: ApprovalNeed) -> Terms {
    Terms {
        approval,
        ..serialized()
    }
}

/// Some of the effect and not all of it.
fn partial() -> Observation {
    found_with(Verdict::Partial, &[("a", Seen::True), ("b", Seen::False)])
}

fn confirmed() -> Observation {
    let verdict = Verdict::Confirmed {
        external_id: None,
        result: None,
    };
    found_with(verdict, &[("a", Seen::True), ("b", Seen::True)])
}

/// A world in that state, 30 s after its first call, and the token of attempt 1 (of a lost grant where there is none).
fn in_state(state: State) -> (World, Token) {
    let approval = if state == State::AwaitingApproval {
        ApprovalNeed::Required
    } else {
        ApprovalNeed::None
    };
    let mut w = World::with_facts(terms(approval), &["a", "b"]);
    if state == State::AwaitingApproval {
        w.plan(W1);
        let lost = Token::new(w.now.millis() + 50_000).unwrap();
        w.at(QUIET);
        return (w, lost);
    }
    if state == State::Sent {
        w.plan(W1);
        let token = w.at(QUIET).sends(W1);
        return (w, token);
    }
    let token = w.sends(W1);
    match state {
        State::Planned => w.report(W1, token, not_applied(1)),
        State::Accepted => w.report(W1, token, accepted("J1", 1)),
        State::Confirmed => w.report(W1, token, completed("CH-1")),
        State::Rejected => w.report(W1, token, rejected("no")),
        State::Abandoned => w.decide(resolve(Resolution::Abandoned)),
        _ => w.report(W1, token, unknown_ended()),
    };
    w.at(QUIET);
    if matches!(state, State::Partial | State::NotFound) {
        let lookup = w.claim(W2).verifies();
        let seen = if state == State::Partial {
            partial()
        } else {
            absent()
        };
        w.verify(W2, lookup.token, seen);
        w.at(QUIET + 5.0);
    }
    assert_eq!(w.state(), state);
    (w, token)
}

/// What a claim gets in each state, and what everybody else is told of it.
fn offers(state: State) -> (NextStep, NextStep) {
    let (mut claims, _) = in_state(state);
    let (mut asks, _) = in_state(state);
    (
        claims.claim_begun(W2).step().clone(),
        asks.plan(W2).step().clone(),
    )
}

#[test]
fn every_state_offers_what_the_protocol_says() {
    for state in State::ALL {
        let (claimed, told) = offers(state);
        match state {
            State::AwaitingApproval => {
                assert!(matches!(
                    claimed,
                    NextStep::Wait {
                        reason: WaitReason::Approval,
                        ..
                    }
                ));
                assert_eq!(claimed, told);
            }
            State::Planned | State::NotFound => {
                assert!(matches!(&claimed, NextStep::Execute(grant) if grant.begun && !grant.resend));
                assert_eq!(told, NextStep::Claimable(GrantKind::Execute));
            }
            State::Sent => {
                assert!(matches!(claimed, NextStep::Held { .. }));
                assert_eq!(claimed, told);
            }
            State::Accepted | State::Unknown => {
                assert!(matches!(claimed, NextStep::VerifyEffect(_)));
                assert_eq!(told, NextStep::Claimable(GrantKind::Verify));
            }
            State::Partial => {
                assert!(matches!(
                    claimed,
                    NextStep::Blocked {
                        reason: BlockReason::Partial,
                        ..
                    }
                ));
                assert_eq!(claimed, told);
            }
            State::Confirmed | State::Rejected | State::Abandoned => {
                assert!(matches!(&claimed, NextStep::Settled(settled) if settled.state == state));
                assert_eq!(claimed, told);
            }
        }
    }
}

#[test]
fn begin_renew_and_release_under_a_grant_that_is_over_change_nothing() {
    for state in State::ALL.into_iter().filter(|state| *state != State::Sent) {
        let (mut w, token) = in_state(state);
        let before = w.action().clone();
        let expected = w.plan(W2);
        for told in [
            w.begin(W1, token),
            w.renew(W1, token),
            w.release(W1, token),
            w.sweep(),
        ] {
            assert_eq!(told, expected, "{state:?}");
        }
        assert_eq!(*w.action(), before);
    }
}

#[test]
fn every_receipt_in_every_state_leads_where_the_protocol_says() {
    use State::{
        Abandoned, Accepted, AwaitingApproval, Confirmed, NotFound, Partial, Planned, Rejected, Sent, Unknown,
    };
    // In this order: COMPLETED, ACCEPTED, REJECTED, NOT_APPLIED, NOT_SENT, UNKNOWN.
    let receipts: [fn() -> Receipt; 6] = [
        || completed("CH-1"),
        || accepted("CH-1", 1),
        || rejected("no"),
        || not_applied(1),
        not_sent,
        unknown,
    ];
    let table = [
        // Under a lost grant, whose send is an attempt from now on.
        (
            AwaitingApproval,
            [
                Confirmed,
                Accepted,
                Rejected,
                AwaitingApproval,
                AwaitingApproval,
                Unknown,
            ],
        ),
        // Attempt 1 has been disproved: only proof moves.
        (Planned, [Confirmed, Planned, Planned, Planned, Planned, Planned]),
        (
            NotFound,
            [Confirmed, NotFound, NotFound, NotFound, NotFound, NotFound],
        ),
        // By the holder.
        (Sent, [Confirmed, Accepted, Rejected, Planned, Planned, Unknown]),
        // Late, for its own attempt.
        (
            Unknown,
            [Confirmed, Accepted, Rejected, Planned, Planned, Unknown],
        ),
        (
            Accepted,
            [Confirmed, Accepted, Rejected, Planned, Planned, Accepted],
        ),
        // Part of it was seen: who denies it contradicts what was seen.
        (Partial, [Confirmed, Accepted, Unknown, Unknown, Unknown, Partial]),
        (Confirmed, [Confirmed; 6]),
        (
            Rejected,
            [Confirmed, Rejected, Rejected, Rejected, Rejected, Rejected],
        ),
        (
            Abandoned,
            [Confirmed, Abandoned, Abandoned, Abandoned, Abandoned, Abandoned],
        ),
    ];
    assert_eq!(table.len(), State::ALL.len());
    for (state, expected) in table {
        for (receipt, after) in receipts.iter().zip(expected) {
            let (mut w, token) = in_state(state);
            let evidence = w.evidence();
            w.report(W1, token, receipt());
            assert_eq!(w.state(), after, "{state:?} and {:?}", receipt());
            assert_eq!(w.evidence(), evidence + 1);
        }
    }
}

/// In this order: CONFIRMED, NOT_FOUND, PENDING, FAILED (of attempt 1), PARTIAL, UNKNOWN.
fn observations() -> [Observation; 6] {
    [
        confirmed(),
        absent(),
        pending(5),
        failed_attempt(1),
        partial(),
        unclear(),
    ]
}

#[test]
fn every_finding_of_a_lookup_that_counts_leads_where_the_protocol_says() {
    use State::{Accepted, Confirmed, NotFound, Partial, Unknown};
    let table = [
        (
            Unknown,
            [Confirmed, NotFound, Unknown, NotFound, Partial, Unknown],
        ),
        (
            Accepted,
            [Confirmed, NotFound, Accepted, NotFound, Partial, Accepted],
        ),
    ];
    for (state, expected) in table {
        for (observation, after) in observations().into_iter().zip(expected) {
            let (mut w, _) = in_state(state);
            let lookup = w.claim(W2).verifies();
            let told = w.verify(W2, lookup.token, observation.clone());
            assert_eq!(w.state(), after, "{state:?} and {observation:?}");
            match observation.verdict {
                Verdict::Pending { .. } => assert_eq!(told.waits(WaitReason::Pending), 5.0),
                Verdict::Unknown { .. } => assert_eq!(told.waits(WaitReason::VerifyBackoff), 1.0),
                Verdict::NotFound => told.claimable(GrantKind::Execute),
                Verdict::Failed { .. } => assert_eq!(told.waits(WaitReason::Backoff), 1.0),
                Verdict::Partial => assert_eq!(told.blocked(BlockReason::Partial), [fact("b")]),
                Verdict::Confirmed { .. } => {
                    told.settled(Confirmed);
                }
            }
        }
    }
}

#[test]
fn a_lookup_granted_too_early_only_proves_the_effect_or_hears_the_receivers_final_word() {
    use State::{Confirmed, NotFound, Unknown};
    let expected = [Confirmed, Unknown, Unknown, NotFound, Unknown, Unknown];
    for (observation, after) in observations().into_iter().zip(expected) {
        let mut w = World::with_facts(serialized(), &["a", "b"]);
        w.sends(W1);
        let lookup = w.at(6.0).claim(W2).verifies();
        w.verify(W2, lookup.token, observation.clone());
        assert_eq!(w.state(), after, "{observation:?}");
    }
}

#[test]
fn findings_without_a_current_lookup_are_evidence_but_for_proof_and_the_final_word() {
    for state in State::ALL
        .into_iter()
        .filter(|state| *state != State::AwaitingApproval)
    {
        for observation in observations() {
            let (mut w, token) = in_state(state);
            let evidence = w.evidence();
            w.verify(W1, token, observation.clone());
            let expected = match observation.verdict {
                Verdict::Confirmed { .. } => State::Confirmed,
                Verdict::Failed { .. } if matches!(state, State::Sent | State::Accepted | State::Unknown) => {
                    State::NotFound
                }
                // Part of it was seen, and the receiver denies it.
                Verdict::Failed { .. } if state == State::Partial => State::Unknown,
                // What had been disproved is seen in part.
                Verdict::Partial if matches!(state, State::Planned | State::NotFound) => State::Unknown,
                _ => state,
            };
            assert_eq!(w.state(), expected, "{state:?} and {observation:?}");
            assert_eq!(w.evidence(), evidence + 1);
        }
    }
}

#[test]
fn a_witness_proves_in_every_state_and_speaks_of_failure_for_the_attempt_it_names() {
    for state in State::ALL {
        let (mut w, _) = in_state(state);
        w.observe(confirmed()).settled(State::Confirmed);
        let (mut w, _) = in_state(state);
        w.observe(failed_attempt(1));
        let expected = match state {
            State::Sent | State::Accepted | State::Unknown => State::NotFound,
            State::Partial => State::Unknown,
            other => other,
        };
        assert_eq!(w.state(), expected, "{state:?}");
        let (mut w, _) = in_state(state);
        w.observe(failed_attempt(7));
        assert_eq!(w.state(), state, "nobody knows attempt 7");
        let (mut w, _) = in_state(state);
        w.observe(pending(5));
        assert_eq!(w.state(), state);
    }
}

#[test]
fn failure_of_the_live_holders_own_attempt_ends_its_lease() {
    let (mut w, token) = in_state(State::Sent);
    w.observe(failed_attempt(1));
    assert_eq!(w.renew(W1, token).waits(WaitReason::Backoff), 1.0);
    assert!(w.at(QUIET + 1.0).claim_begun(W2).lets_execute());
}
