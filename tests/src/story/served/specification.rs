//! What a story's action is, as messages.

use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Deduplication, EffectClass, ExternalIdMeaning, OnPartial, Terms, Verification,
};
use deed_core::time::Span;
use deed_proto::v1;
use prost_types::Duration;

use crate::story::memory::digest;
use crate::story::script::ActionScript;

/// A length of time.
pub fn span(span: Span) -> Duration {
    let (seconds, rest) = (span.micros() / 1_000_000, span.micros() % 1_000_000);
    Duration {
        seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
        nanos: i32::try_from(rest * 1_000).unwrap_or_default(),
    }
}

/// The action's key.
pub fn key(action: &ActionScript) -> v1::ActionKey {
    v1::ActionKey {
        namespace: action.namespace.clone(),
        action_id: action.id.clone(),
    }
}

/// The input hash.
pub fn input_hash(action: &ActionScript) -> v1::InputHash {
    v1::InputHash {
        scheme: "raw-sha256".to_owned(),
        digest: digest(&action.input).to_vec(),
    }
}

/// What a claim says of its action.
pub fn specification(action: &ActionScript) -> v1::Specification {
    let labels = action.labels.iter();
    v1::Specification {
        tool: action.tool.clone(),
        input_hash: Some(input_hash(action)),
        expected_effect: Some(v1::ExpectedEffect {
            description: action.description.clone(),
            facts: action.facts.clone(),
        }),
        contract: Some(contract(&action.terms)),
        labels: labels
            .map(|(key, value)| v1::Label {
                key: key.clone(),
                value: value.clone(),
            })
            .collect(),
    }
}

fn contract(terms: &Terms) -> v1::Contract {
    use v1::deduplication::Kind as Dedup;
    use v1::verification::Kind as Verify;
    let deduplication = match terms.deduplication {
        Deduplication::None => Dedup::None(v1::deduplication::None {}),
        Deduplication::IdempotencyKey { window } => {
            Dedup::IdempotencyKey(v1::deduplication::IdempotencyKey {
                window: Some(span(window)),
            })
        }
        Deduplication::FencingToken => Dedup::FencingToken(v1::deduplication::FencingToken {}),
    };
    let verification = match terms.verification {
        Verification::None => Verify::None(v1::verification::None {}),
        Verification::Postcondition {
            settle_window,
            effect_deadline,
        } => Verify::Postcondition(v1::verification::Postcondition {
            settle_window: Some(span(settle_window)),
            effect_deadline: Some(span(effect_deadline)),
        }),
    };
    let retry = &terms.retry;
    v1::Contract {
        effect_class: match terms.effect_class {
            EffectClass::Read => v1::EffectClass::Read,
            EffectClass::Reversible => v1::EffectClass::Reversible,
            EffectClass::Irreversible => v1::EffectClass::Irreversible,
        }
        .into(),
        asynchronous: terms.asynchronous,
        deduplication: Some(v1::Deduplication {
            kind: Some(deduplication),
        }),
        confirm_by: match terms.confirm_by {
            ConfirmBy::Receipt => v1::ConfirmBy::Receipt,
            ConfirmBy::Postcondition => v1::ConfirmBy::Postcondition,
        }
        .into(),
        verification: Some(v1::Verification {
            kind: Some(verification),
        }),
        external_id: match terms.external_id {
            ExternalIdMeaning::IdentifiesEffect => v1::ExternalIdMeaning::IdentifiesEffect,
            ExternalIdMeaning::IdentifiesObject => v1::ExternalIdMeaning::IdentifiesObject,
        }
        .into(),
        retry: Some(v1::Retry {
            max_attempts: Some(retry.max_attempts),
            initial_backoff: Some(span(retry.initial_backoff)),
            multiplier: Some(f64::from(retry.multiplier_thousandths) / 1_000.0),
            max_backoff: Some(span(retry.max_backoff)),
            total_budget: Some(span(retry.total_budget)),
            max_verifications: Some(retry.max_verifications),
        }),
        send_timeout: Some(span(terms.send_timeout)),
        lease: Some(span(terms.lease)),
        max_hold: Some(span(terms.max_hold)),
        on_partial: match terms.on_partial {
            OnPartial::Stop => v1::OnPartial::Stop,
            OnPartial::Resume => v1::OnPartial::Resume,
        }
        .into(),
        approval: match terms.approval {
            ApprovalNeed::None => v1::Approval::None,
            ApprovalNeed::Required => v1::Approval::Required,
        }
        .into(),
    }
}
