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
use serde_json::{Map, Value};

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

/// What a stored contract does not repeat. Most contracts differ from it in one or two terms, and a row is copied with
/// every renewal.
///
/// SUBTLE: written out, and never to be changed: these are not the defaults of a claim, though they were the same once. A
/// default that changes later must not change what stored rows mean.
const UNSAID: Terms = Terms {
    effect_class: EffectClass::Irreversible,
    asynchronous: false,
    deduplication: Deduplication::None,
    confirm_by: ConfirmBy::Receipt,
    verification: Verification::None,
    external_id: ExternalIdMeaning::IdentifiesEffect,
    retry: Retry {
        max_attempts: 3,
        initial_backoff: Span::from_secs(1),
        multiplier_thousandths: 2_000,
        max_backoff: Span::from_secs(300),
        total_budget: Span::from_hours(24),
        max_verifications: 20,
    },
    send_timeout: Span::from_secs(30),
    lease: Span::from_secs(30),
    max_hold: Span::from_hours(1),
    on_partial: OnPartial::Stop,
    approval: ApprovalNeed::None,
};

fn document_of(terms: &Terms) -> Result<Map<String, Value>, serde_json::Error> {
    match TermsDocument::serialize(terms, serde_json::value::Serializer)? {
        Value::Object(entries) => Ok(entries),
        other => Err(serde_json::Error::custom(format!("terms are no object: {other}"))),
    }
}

impl Stored for Contract {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let unsaid = document_of(&UNSAID).map_err(serde::ser::Error::custom)?;
        let mut said = document_of(self).map_err(serde::ser::Error::custom)?;
        said.retain(|term, value| unsaid.get(term) != Some(value));
        said.serialize(to)
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut terms = document_of(&UNSAID).map_err(D::Error::custom)?;
        terms.extend(Map::deserialize(from)?);
        let terms = Terms::load(Value::Object(terms)).map_err(D::Error::custom)?;
        let contradicts = |found: deed_core::contract::Contradiction| {
            D::Error::custom(format!("the contract's {} {}", found.field, found.reason))
        };
        Self::new(terms).map_err(contradicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::Of;

    #[test]
    fn a_contract_says_only_what_is_unusual_and_comes_back_whole() {
        let unusual = Terms {
            lease: Span::from_secs(5),
            ..UNSAID
        };
        for (terms, stored) in [(UNSAID, "{}"), (unusual, r#"{"lease":5000000}"#)] {
            let contract = Contract::new(terms).unwrap();
            let text = serde_json::to_string(&Of(contract)).unwrap();
            assert_eq!(text, stored);
            assert_eq!(serde_json::from_str::<Of<Contract>>(&text).unwrap().0, contract);
        }
    }

    #[test]
    fn a_term_nobody_knows_and_terms_that_contradict_themselves_are_refused() {
        for damaged in [
            r#"{"leese":1}"#,
            r#"{"lease":0}"#,
            r#"{"confirm_by":"POSTCONDITION"}"#,
            "[]",
        ] {
            assert!(
                serde_json::from_str::<Of<Contract>>(damaged).is_err(),
                "{damaged}"
            );
        }
    }
}
