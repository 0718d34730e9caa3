//! What an action has besides its columns, as documents: only the core reads it.

use deed_core::action::{
    Action, Approval, Attempt, Basis, Closure, Grant, Lookups, NextLookup, Word as Said,
};
use deed_core::id::{RequestId, Token};
use deed_core::text::{ActionId, ExternalId, FactName, Principal};
use deed_core::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::document;
use super::stored::{self, Stored};

/// What a grant has besides its columns.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct LeaseTerms {
    #[serde(with = "stored")]
    pub request: RequestId,
    pub attempt: u32,
    #[serde(with = "stored", default, skip_serializing_if = "Vec::is_empty")]
    pub resumes: Vec<FactName>,
    #[serde(default, skip_serializing_if = "no")]
    pub resend: bool,
    #[serde(with = "stored")]
    pub hold_until: Timestamp,
}

/// What only the core reads.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Approved>,
    #[serde(with = "stored")]
    pub budget_from: Timestamp,
    #[serde(default, skip_serializing_if = "zero")]
    pub attempts_counted: u32,
    #[serde(default, skip_serializing_if = "zero")]
    pub setbacks: u32,
    #[serde(default, skip_serializing_if = "no")]
    pub allowance: bool,
    #[serde(default, skip_serializing_if = "zero")]
    pub key_generation: u32,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    pub first_sent_at: Option<Timestamp>,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    pub last_sent_at: Option<Timestamp>,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    pub execute_after: Option<Timestamp>,
    #[serde(with = "stored")]
    pub lookups: Lookups,
    #[serde(with = "stored", default, skip_serializing_if = "Vec::is_empty")]
    pub facts_true: Vec<FactName>,
    #[serde(with = "stored", default, skip_serializing_if = "Vec::is_empty")]
    pub facts_missing: Vec<FactName>,
    #[serde(default, skip_serializing_if = "no")]
    pub resumed: bool,
    #[serde(default, skip_serializing_if = "no")]
    pub absence_counted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    pub compensated_by: Option<ActionId>,
}

/// An approval that was given.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    #[serde(with = "stored")]
    pub at: Timestamp,
    #[serde(with = "stored")]
    pub by: Principal,
}

/// What an effect has besides its id.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct DecidedBy {
    #[serde(with = "stored")]
    pub basis: Basis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(with = "stored")]
    pub at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lookups", deny_unknown_fields)]
struct LookupsDocument {
    #[serde(default, skip_serializing_if = "zero")]
    inconclusive: u32,
    #[serde(default, skip_serializing_if = "zero")]
    granted: u32,
    #[serde(default, skip_serializing_if = "no")]
    early_spent: bool,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    last_at: Option<Timestamp>,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    next: Option<NextLookup>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "NextLookup", deny_unknown_fields)]
struct NextLookupDocument {
    #[serde(with = "stored")]
    not_before: Timestamp,
    pending: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Attempt", deny_unknown_fields)]
struct AttemptDocument {
    number: u32,
    #[serde(with = "stored")]
    token: Token,
    #[serde(with = "stored")]
    lease_end: Timestamp,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
    external_id: Option<ExternalId>,
    #[serde(with = "stored")]
    word: Said,
}

document! {
    Lookups => LookupsDocument,
    NextLookup => NextLookupDocument,
    Attempt => AttemptDocument,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn zero(value: &u32) -> bool {
    *value == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn no(value: &bool) -> bool {
    !value
}

impl LeaseTerms {
    pub fn of(grant: &Grant) -> Self {
        Self {
            request: grant.request,
            attempt: grant.attempt,
            resumes: grant.resumes.clone(),
            resend: grant.resend,
            hold_until: grant.hold_until,
        }
    }
}

impl Progress {
    pub fn of(action: &Action) -> Self {
        Self {
            approved: match &action.approval {
                Approval::Given { at, by } => Some(Approved {
                    at: *at,
                    by: by.clone(),
                }),
                Approval::NotRequired | Approval::Pending { .. } => None,
            },
            budget_from: action.budget_from,
            attempts_counted: action.attempts_counted,
            setbacks: action.setbacks,
            allowance: action.allowance,
            key_generation: action.key_generation,
            first_sent_at: action.first_sent_at,
            last_sent_at: action.last_sent_at,
            execute_after: action.execute_after,
            lookups: action.lookups,
            facts_true: action.facts_true.clone(),
            facts_missing: action.facts_missing.clone(),
            resumed: action.resumed,
            absence_counted: action.absence_counted,
            decided_by: action.effect.as_ref().map(|effect| DecidedBy {
                basis: effect.basis,
                attempt: effect.attempt,
                at: effect.at,
            }),
            compensated_by: match &action.closure {
                Some(Closure::Compensated { by }) => Some(by.clone()),
                _ => None,
            },
        }
    }
}
