//! What people in charge decide: when it is allowed, what it changes, and what they are told before.

use deed_core::action::{Closure, Flag, GrantKind, State};
use deed_core::command::{Ask, Decision, Resolution};
use deed_core::contract::{EffectClass, Retry, Terms};
use deed_core::id::Version;
use deed_core::reply::{BlockReason, Refusal};
use deed_core::text::Owner;

use crate::world::*;

const W1: &str = "w1";
const W2: &str = "w2";

#[test]
fn beyond_the_limits_an_operator_allows_exactly_one_more() {
    for decision in [reopen(), resolve(Resolution::Absent)] {
        let mut w = World::new(Terms {
            retry: Retry {
                max_attempts: 1,
                ..Terms::DEFAULT_RETRY
            },
            ..serialized()
        });
        let token = w.sends(W1);
        w.report(W1, token, not_applied(0))
            .blocked(BlockReason::AttemptsExhausted);
        w.decide(decision).claimable(GrantKind::Execute);
        let token = w.claim_begun(W2).executes().token;
        w.report(W2, token, not_applied(0))
            .blocked(BlockReason::AttemptsExhausted);
    }
}

#[test]
fn an_outdated_decision_is_refused_with_both_versions() {
    let mut w = World::new(serialized());
    w.plan(W1);
    w.sends(W1);
    let ask = Ask::Decide {
        version: Version(1),
        note: note(""),
        decision: resolve(Resolution::Abandoned),
    };
    let refusal = w.call("operator", ask).refused();
    assert_eq!(
        refusal,
        Refusal::VersionChanged {
            seen: Version(1),
            current: Version(2)
        }
    );
}

#[test]
fn a_decision_fences_the_holder() {
    let mut w = World::new(serialized());
    let token = w.claim(W1).executes().token;
    w.decide(resolve(Resolution::Abandoned)).settled(State::Abandoned);
    w.begin(W1, token).settled(State::Abandoned);
    w.renew(W1, token).settled(State::Abandoned);
    assert!(w.action().token > token);
}

#[test]
fn an_irreversible_action_is_opened_by_word_only_with_a_reference_to_the_proof() {
    let irreversible = Terms {
        effect_class: EffectClass::Irreversible,
        ..serialized()
    };
    let with_proof = |proof: Option<&str>| {
        let absent = Decision::Resolve {
            resolution: Resolution::Absent,
            proof: proof.map(note),
        };
        let mut w = World::new(irreversible);
        w.sends(W1);
        w.at(30.0).sweep();
        w.decide(absent)
    };
    for proof in [None, Some(""), Some("  ")] {
        let refusal = with_proof(proof).refused();
        assert!(matches!(
            refusal,
            Refusal::InvalidField {
                field: "proof_reference",
                ..
            }
        ));
    }
    with_proof(Some("statement of 3 May")).claimable(GrantKind::Execute);
    let mut w = World::new(irreversible);
    let token = w.sends(W1);
    w.report(W1, token, rejected("no"));
    assert!(matches!(
        w.decide(reopen()).refused(),
        Refusal::InvalidField { .. }
    ));
    let compensated = Resolution::Compensated {
        by: key("refund").action_id,
    };
    let mut w = World::new(irreversible);
    w.plan(W1);
    assert!(matches!(
        w.decide(resolve(compensated)).refused(),
        Refusal::DecisionNotAllowed { .. }
    ));
}

#[test]
fn a_compensated_action_says_by_which() {
    let by = key("order-1-refund").action_id;
    let mut w = World::new(serialized());
    w.sends(W1);
    let compensated = resolve(Resolution::Compensated { by: by.clone() });
    assert!(
        w.at(1.0).decide(compensated.clone()).0.is_err(),
        "its holder may be sending"
    );
    let settled = w.at(30.0).decide(compensated).settled(State::Abandoned);
    assert_eq!(settled.closure, Some(Closure::Compensated { by }));
}

#[test]
fn a_new_outward_key_comes_only_where_nothing_is_undisproved() {
    let mut w = World::new(deduplicated());
    let first = w.claim_begun(W1).executes();
    w.report(W1, first.token, rejected("stored failure"));
    w.decide(reopen_with_new_key()).claimable(GrantKind::Execute);
    let second = w.at(200.0).claim_begun(W1).executes();
    assert_ne!(second.outward_key, first.outward_key);
    // The window counts from the first send under this key.
    assert!(w.at(250.0).claim_begun(W2).executes().resend);
}

#[test]
fn naming_a_person_and_clearing_a_mark_take_no_lease() {
    let mut w = World::new(serialized());
    let early = w.claim(W1).executes().token;
    w.report(W1, early, unknown());
    assert!(w.action().flags.ungated);
    let lookup = w.at(21.0).claim(W2).verifies();
    w.decide(acknowledge(Flag::Ungated)).held();
    assert!(!w.flags_set());
    let assignee = Owner::new("ann").unwrap();
    w.decide(Decision::Assign {
        assignee: Some(assignee.clone()),
    });
    assert_eq!(w.action().assignee, Some(assignee));
    w.verify(W2, lookup.token, seen_without_id())
        .settled(State::Confirmed);
}

#[test]
fn proof_after_a_closure_confirms_and_is_flagged() {
    for closing in [Resolution::Rejected, Resolution::Abandoned] {
        let mut w = World::new(serialized());
        let token = w.sends(W1);
        w.decide(resolve(closing));
        let told = w.report(W1, token, completed("X"));
        told.settled(State::Confirmed);
        assert!(told.flags().contradicted);
    }
}

#[test]
fn a_stop_tells_a_person_what_is_known_and_the_last_reason() {
    let once = |terms: Terms| Terms {
        retry: Retry {
            max_attempts: 1,
            ..Terms::DEFAULT_RETRY
        },
        ..terms
    };
    let mut w = World::new(once(at_most_once()));
    let token = w.sends(W1);
    let told = w.report(W1, token, not_applied(1)).detail();
    assert!(
        told.starts_with("1 of 1 attempts are used; none left an effect."),
        "{told}"
    );
    assert!(told.ends_with("Last reason: 429"), "{told}");
    let mut w = World::new(once(deduplicated()));
    w.sends(W1);
    let told = w.at(6.0).claim(W2).detail();
    assert!(
        told.contains("whether one of them left an effect is not known"),
        "{told}"
    );
}
