//! What is left out of a contract, and what is said too clearly.

use deed_core::contract::{ConfirmBy, Deduplication, Terms, Verification};
use deed_core::time::Span;
use deed_proto::v1;

use super::meaning::contract;
use crate::grpc::testing::sample;

fn bare() -> v1::Contract {
    v1::Contract {
        effect_class: v1::EffectClass::Reversible.into(),
        ..v1::Contract::default()
    }
}

#[test]
fn what_is_left_out_of_a_contract_gets_the_documented_default() {
    let filled = contract(|it| *it = bare()).unwrap();
    let expected = Terms::cautious(deed_core::contract::EffectClass::Reversible);
    assert_eq!(*filled, expected);
    let short = contract(|it| {
        *it = bare();
        it.lease = sample::seconds(7);
    });
    assert_eq!(
        short.unwrap().send_timeout,
        Span::from_secs(7),
        "send_timeout follows the lease"
    );
}

/// Sets one length of a contract.
type Set = fn(&mut v1::Contract, Option<prost_types::Duration>);

#[test]
fn an_explicit_zero_is_never_replaced_by_the_default() {
    let zero = sample::seconds(0);
    let cases: [(Set, &str); 6] = [
        (|it, zero| it.lease = zero, "lease"),
        (|it, zero| it.send_timeout = zero, "send_timeout"),
        (|it, zero| it.max_hold = zero, "max_hold"),
        (
            |it, zero| it.retry.as_mut().unwrap().initial_backoff = zero,
            "retry.initial_backoff",
        ),
        (
            |it, zero| it.retry.as_mut().unwrap().max_backoff = zero,
            "retry.max_backoff",
        ),
        (
            |it, zero| it.retry.as_mut().unwrap().total_budget = zero,
            "retry.total_budget",
        ),
    ];
    for (change, field) in cases {
        let invalid = contract(|it| change(it, zero)).unwrap_err();
        assert_eq!(invalid.field, format!("specification.contract.{field}"));
    }
}

#[test]
fn the_settle_window_has_to_be_said_and_may_be_zero() {
    let with = |settle_window| {
        contract(|it| {
            use v1::verification::{Kind, Postcondition};
            let kind = Kind::Postcondition(Postcondition {
                settle_window,
                effect_deadline: None,
            });
            it.verification = Some(v1::Verification { kind: Some(kind) });
        })
    };
    assert_eq!(
        with(None).unwrap_err().field,
        "specification.contract.verification.postcondition.settle_window"
    );
    assert_eq!(
        with(sample::seconds(0)).unwrap().verification,
        Verification::Postcondition {
            settle_window: Span::ZERO,
            effect_deadline: Terms::DEFAULT_EFFECT_DEADLINE,
        }
    );
}

#[test]
fn the_idempotency_window_has_to_be_said() {
    let unsaid = contract(|it| {
        use v1::deduplication::{IdempotencyKey, Kind};
        let kind = Kind::IdempotencyKey(IdempotencyKey { window: None });
        it.deduplication = Some(v1::Deduplication { kind: Some(kind) });
    });
    assert_eq!(
        unsaid.unwrap_err().field,
        "specification.contract.deduplication.idempotency_key.window"
    );
    let none = contract(|it| it.deduplication = Some(v1::Deduplication::default()));
    assert_eq!(none.unwrap().deduplication, Deduplication::None);
}

#[test]
fn asynchronous_implies_postcondition_but_does_not_hide_a_contradiction() {
    let with = |confirm_by: v1::ConfirmBy| {
        contract(|it| {
            it.asynchronous = true;
            it.confirm_by = confirm_by.into();
        })
    };
    assert_eq!(
        with(v1::ConfirmBy::Unspecified).unwrap().confirm_by,
        ConfirmBy::Postcondition
    );
    assert_eq!(
        with(v1::ConfirmBy::Receipt).unwrap_err().field,
        "specification.contract.confirm_by"
    );
}

#[test]
fn a_multiplier_is_a_number_between_its_bounds() {
    for factor in [f64::NAN, f64::INFINITY, -2.0, 0.0, 0.999, 100.001] {
        let invalid = contract(|it| it.retry.as_mut().unwrap().multiplier = Some(factor)).unwrap_err();
        assert_eq!(
            invalid.field, "specification.contract.retry.multiplier",
            "{factor}"
        );
    }
    let ok = contract(|it| it.retry.as_mut().unwrap().multiplier = Some(1.5));
    assert_eq!(ok.unwrap().retry.multiplier_thousandths, 1_500);
}

#[test]
fn a_part_of_a_microsecond_counts_as_a_whole_one() {
    let nanos = Some(prost_types::Duration { seconds: 1, nanos: 1 });
    assert_eq!(
        contract(|it| it.lease = nanos).unwrap().lease,
        Span::from_micros(1_000_001)
    );
}
