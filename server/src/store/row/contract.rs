//! Specification and contract as documents. A contract is stored as its terms and checked again when it is read: terms that
//! contradict themselves are a damaged row.

use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Contract, Deduplication, EffectClass, ExternalIdMeaning, OnPartial, Retry,
    Terms, Verification,
};
use deed_core::spec::{ExpectedEffect, Label};
use deed_core::text::{Description, FactName, LabelKey, LabelValue};
use deed_core::time::Span;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::document;
use super::stored::{self, Stored};

/// What is fixed at creation and has no column of its own.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    #[serde(with = "stored")]
    pub expected: ExpectedEffect,
    #[serde(with = "stored")]
    pub contract: Contract,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ExpectedEffect", deny_unknown_fields)]
struct ExpectedEffectDocument {
    #[serde(with = "stored")]
    description: Description,
    #[serde(with = "stored", default, skip_serializing_if = "Vec::is_empty")]
    facts: Vec<FactName>,
}

// Short names: the column is searched by containment, and read by nobody else.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Label", deny_unknown_fields)]
struct LabelDocument {
    #[serde(with = "stored", rename = "k")]
    key: LabelKey,
    #[serde(with = "stored", rename = "v")]
    value: LabelValue,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Terms", deny_unknown_fields)]
struct TermsDocument {
    #[serde(with = "stored")]
    effect_class: EffectClass,
    asynchronous: bool,
    #[serde(with = "stored")]
    deduplication: Deduplication,
    #[serde(with = "stored")]
    confirm_by: ConfirmBy,
    #[serde(with = "stored")]
    verification: Verification,
    #[serde(with = "stored")]
    external_id: ExternalIdMeaning,
    #[serde(with = "stored")]
    retry: Retry,
    #[serde(with = "stored")]
    send_timeout: Span,
    #[serde(with = "stored")]
    lease: Span,
    #[serde(with = "stored")]
    max_hold: Span,
    #[serde(with = "stored")]
    on_partial: OnPartial,
    #[serde(with = "stored")]
    approval: ApprovalNeed,
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "Deduplication",
    tag = "kind",
    rename_all = "SCREAMING_SNAKE_CASE",
    deny_unknown_fields
)]
enum DeduplicationDocument {
    None,
    IdempotencyKey {
        #[serde(with = "stored")]
        window: Span,
    },
    FencingToken,
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "Verification",
    tag = "kind",
    rename_all = "SCREAMING_SNAKE_CASE",
    deny_unknown_fields
)]
enum VerificationDocument {
    None,
    Postcondition {
        #[serde(with = "stored")]
        settle_window: Span,
        #[serde(with = "stored")]
        effect_deadline: Span,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Retry", deny_unknown_fields)]
struct RetryDocument {
    max_attempts: u32,
    #[serde(with = "stored")]
    initial_backoff: Span,
    multiplier_thousandths: u32,
    #[serde(with = "stored")]
    max_backoff: Span,
    #[serde(with = "stored")]
    total_budget: Span,
    max_verifications: u32,
}

document! {
    ExpectedEffect => ExpectedEffectDocument,
    Label => LabelDocument,
    Terms => TermsDocument,
    Deduplication => DeduplicationDocument,
    Verification => VerificationDocument,
    Retry => RetryDocument,
}

impl Stored for Contract {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).store(to)
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let contradicts = |found: deed_core::contract::Contradiction| {
            D::Error::custom(format!("the contract's {} {}", found.field, found.reason))
        };
        Self::new(Terms::load(from)?).map_err(contradicts)
    }
}
