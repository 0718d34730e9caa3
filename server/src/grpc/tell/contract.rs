//! The stored contract and specification, with every default filled in.

use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Contract, Deduplication, EffectClass, ExternalIdMeaning, OnPartial, Retry,
    Verification,
};
use deed_core::spec::{ExpectedEffect, InputHash, Label};
use deed_proto::v1;

use super::{step, time};

/// A contract.
pub fn contract(contract: &Contract) -> v1::Contract {
    v1::Contract {
        effect_class: effect_class(contract.effect_class).into(),
        asynchronous: contract.asynchronous,
        deduplication: Some(deduplication(contract.deduplication)),
        confirm_by: match contract.confirm_by {
            ConfirmBy::Receipt => v1::ConfirmBy::Receipt,
            ConfirmBy::Postcondition => v1::ConfirmBy::Postcondition,
        }
        .into(),
        verification: Some(verification(contract.verification)),
        external_id: match contract.external_id {
            ExternalIdMeaning::IdentifiesEffect => v1::ExternalIdMeaning::IdentifiesEffect,
            ExternalIdMeaning::IdentifiesObject => v1::ExternalIdMeaning::IdentifiesObject,
        }
        .into(),
        retry: Some(retry(&contract.retry)),
        send_timeout: Some(time::span(contract.send_timeout)),
        lease: Some(time::span(contract.lease)),
        max_hold: Some(time::span(contract.max_hold)),
        on_partial: match contract.on_partial {
            OnPartial::Stop => v1::OnPartial::Stop,
            OnPartial::Resume => v1::OnPartial::Resume,
        }
        .into(),
        approval: approval(contract.approval).into(),
    }
}

/// Whether a person has to approve.
pub fn approval(need: ApprovalNeed) -> v1::Approval {
    match need {
        ApprovalNeed::None => v1::Approval::None,
        ApprovalNeed::Required => v1::Approval::Required,
    }
}

fn effect_class(class: EffectClass) -> v1::EffectClass {
    match class {
        EffectClass::Read => v1::EffectClass::Read,
        EffectClass::Reversible => v1::EffectClass::Reversible,
        EffectClass::Irreversible => v1::EffectClass::Irreversible,
    }
}

fn deduplication(deduplication: Deduplication) -> v1::Deduplication {
    use v1::deduplication::{self as wire, Kind};
    let kind = match deduplication {
        Deduplication::None => Kind::None(wire::None {}),
        Deduplication::IdempotencyKey { window } => Kind::IdempotencyKey(wire::IdempotencyKey {
            window: Some(time::span(window)),
        }),
        Deduplication::FencingToken => Kind::FencingToken(wire::FencingToken {}),
    };
    v1::Deduplication { kind: Some(kind) }
}

fn verification(verification: Verification) -> v1::Verification {
    use v1::verification::{self as wire, Kind};
    let kind = match verification {
        Verification::None => Kind::None(wire::None {}),
        Verification::Postcondition {
            settle_window,
            effect_deadline,
        } => Kind::Postcondition(wire::Postcondition {
            settle_window: Some(time::span(settle_window)),
            effect_deadline: Some(time::span(effect_deadline)),
        }),
    };
    v1::Verification { kind: Some(kind) }
}

fn retry(retry: &Retry) -> v1::Retry {
    v1::Retry {
        max_attempts: Some(retry.max_attempts),
        initial_backoff: Some(time::span(retry.initial_backoff)),
        multiplier: Some(f64::from(retry.multiplier_thousandths) / 1_000.0),
        max_backoff: Some(time::span(retry.max_backoff)),
        total_budget: Some(time::span(retry.total_budget)),
        max_verifications: Some(retry.max_verifications),
    }
}

/// An input hash.
pub fn input_hash(hash: &InputHash) -> v1::InputHash {
    v1::InputHash {
        scheme: hash.scheme.to_string(),
        digest: hash.digest.to_vec(),
    }
}

/// What "done" means.
pub fn expected(expected: &ExpectedEffect) -> v1::ExpectedEffect {
    v1::ExpectedEffect {
        description: expected.description.to_string(),
        facts: step::names(&expected.facts),
    }
}

/// The labels.
pub fn labels(labels: &[Label]) -> Vec<v1::Label> {
    let told = |label: &Label| v1::Label {
        key: label.key.to_string(),
        value: label.value.to_string(),
    };
    labels.iter().map(told).collect()
}
