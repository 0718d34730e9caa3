//! What an action is: tool, input, expected effect, contract, labels. Everything but the labels is fixed at creation and
//! compared with every later claim.

use std::collections::BTreeSet;

use crate::contract::{Contract, OnPartial};
use crate::text::{Description, FactName, HashScheme, LabelKey, LabelValue, Tool};

/// Hash of the normalised input. The input itself never reaches Deed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InputHash {
    /// How it was made: `jcs-sha256`, `raw-sha256`.
    pub scheme: HashScheme,
    /// The digest.
    pub digest: [u8; 32],
}

/// What "done" means.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExpectedEffect {
    /// For people.
    pub description: Description,
    /// What a lookup must observe, in the caller's order, none twice.
    pub facts: Vec<FactName>,
}

/// A note that links the action to its run, step or trace. Never part of identity.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Label {
    /// Unique within an action.
    pub key: LabelKey,
    /// May be empty.
    pub value: LabelValue,
}

/// Everything a claim says about its action besides the key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Specification {
    /// The capability.
    pub tool: Tool,
    /// The input.
    pub input: InputHash,
    /// What "done" means.
    pub expected: ExpectedEffect,
    /// What the receiver can and cannot do.
    pub contract: Contract,
    /// Links for people.
    pub labels: Vec<Label>,
}

/// Why a specification was refused: the field and what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct SpecificationError {
    /// The field of the specification.
    pub field: &'static str,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl Specification {
    /// 32: more facts than a person can weigh are a sign of several actions.
    pub const MAX_FACTS: usize = 32;
    /// 16, as the protocol says.
    pub const MAX_LABELS: usize = 16;

    /// Checks what no part can check alone.
    pub fn new(
        tool: Tool,
        input: InputHash,
        expected: ExpectedEffect,
        contract: Contract,
        labels: Vec<Label>,
    ) -> Result<Self, SpecificationError> {
        let refuse = |field, reason: String| Err(SpecificationError { field, reason });
        if expected.facts.len() > Self::MAX_FACTS {
            let reason = format!(
                "has {} entries; at most {} are allowed",
                expected.facts.len(),
                Self::MAX_FACTS
            );
            return refuse("expected_effect.facts", reason);
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = expected.facts.iter().find(|fact| !seen.insert(*fact)) {
            return refuse("expected_effect.facts", format!("names {twice:?} twice"));
        }
        if contract.on_partial == OnPartial::Resume && expected.facts.is_empty() {
            let reason = "is empty, but on_partial is RESUME: name the facts, so that a lookup can see which is missing";
            return refuse("expected_effect.facts", reason.to_owned());
        }
        if labels.len() > Self::MAX_LABELS {
            let reason = format!(
                "has {} entries; at most {} are allowed",
                labels.len(),
                Self::MAX_LABELS
            );
            return refuse("labels", reason);
        }
        let mut keys = BTreeSet::new();
        if let Some(twice) = labels.iter().find(|label| !keys.insert(&label.key)) {
            return refuse("labels", format!("has the key {:?} twice", twice.key));
        }
        Ok(Self {
            tool,
            input,
            expected,
            contract,
            labels,
        })
    }

    /// Whether both speak of the same operation: the same tool with the same input.
    pub fn same_operation(&self, other: &Self) -> bool {
        self.tool == other.tool && self.input == other.input
    }

    /// Whether a later claim came with other terms than those that were stored.
    pub fn same_terms(&self, other: &Self) -> bool {
        self.contract == other.contract && self.expected == other.expected
    }
}
