//! A story's call as a command of the core, or the field that keeps it from being one.

use deed_core::action::Flag;
use deed_core::command::{Ask, Decision, Resolution};
use deed_core::contract::Contract;
use deed_core::id::{ActionKey, Token, Version};
use deed_core::spec::{ExpectedEffect, InputHash, Label, Specification};
use deed_core::text::{
    ActionId, Description, ExternalId, FactName, HashScheme, LabelKey, LabelValue, Namespace, Note, Owner,
    TextError, Tool,
};

use crate::story::engine::{self, Call};
use crate::story::script::{self, ActionScript};
use crate::story::told::Told;

/// A field that no command can be made of.
#[derive(Debug)]
pub struct Invalid {
    field: String,
}

impl Invalid {
    /// Names it.
    pub fn new(field: impl Into<String>) -> Self {
        Self { field: field.into() }
    }

    /// As the wire says it.
    pub fn told(&self) -> Told {
        let mut told = Told::error("INVALID_ARGUMENT", "INVALID_FIELD");
        told.put("field", &self.field);
        told
    }
}

/// A text of the core, or its field.
fn text<T>(made: Result<T, TextError>, field: &str) -> Result<T, Invalid> {
    made.map_err(|_| Invalid::new(field))
}

/// The action's key.
pub fn key(action: &ActionScript) -> Result<ActionKey, Invalid> {
    Ok(ActionKey {
        namespace: text(Namespace::new(&*action.namespace), "key.namespace")?,
        action_id: text(ActionId::new(&*action.id), "key.action_id")?,
    })
}

/// The input hash: the digest is the input's own, whatever it is, so that other inputs have other hashes.
pub fn digest(input: &str) -> [u8; 32] {
    let half = |salt: &str| {
        uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, format!("{salt}{input}").as_bytes()).into_bytes()
    };
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(&half("first"));
    digest[16..].copy_from_slice(&half("second"));
    digest
}

fn input(action: &ActionScript) -> Result<InputHash, Invalid> {
    Ok(InputHash {
        scheme: text(HashScheme::new("raw-sha256"), "specification.input_hash.scheme")?,
        digest: digest(&action.input),
    })
}

fn specification(action: &ActionScript) -> Result<Box<Specification>, Invalid> {
    let facts = action
        .facts
        .iter()
        .map(|fact| text(FactName::new(&**fact), "specification.expected_effect.facts"));
    let labels = action.labels.iter().map(|(key, value)| {
        Ok(Label {
            key: text(LabelKey::new(&**key), "specification.labels")?,
            value: text(LabelValue::new(&**value), "specification.labels")?,
        })
    });
    let contract = Contract::new(action.terms)
        .map_err(|error| Invalid::new(format!("specification.contract.{}", error.field)))?;
    let expected = ExpectedEffect {
        description: text(
            Description::new(&*action.description),
            "specification.expected_effect.description",
        )?,
        facts: facts.collect::<Result<_, _>>()?,
    };
    Specification::new(
        text(Tool::new(&*action.tool), "specification.tool")?,
        input(action)?,
        expected,
        contract,
        labels.collect::<Result<_, _>>()?,
    )
    .map(Box::new)
    .map_err(|error| Invalid::new(format!("specification.{}", error.field)))
}

fn token(number: u64) -> Result<Token, Invalid> {
    Token::new(number).ok_or_else(|| Invalid::new("fencing_token"))
}

/// Renewals come in lists; the field is that of their only entry.
fn renewed_token(number: u64) -> Result<Token, Invalid> {
    Token::new(number).ok_or_else(|| Invalid::new("leases[0].fencing_token"))
}

/// What the call asks.
pub fn ask(call: &Call<'_>) -> Result<Ask, Invalid> {
    let spec = || specification(call.action);
    Ok(match &call.ask {
        engine::Ask::Plan => Ask::Plan { spec: spec()? },
        engine::Ask::Claim { begin } => Ask::Claim {
            spec: spec()?,
            begin: *begin,
        },
        engine::Ask::Begin { token: number } => Ask::Begin {
            token: token(*number)?,
        },
        engine::Ask::Report {
            token: number,
            receipt,
            then,
            specified,
        } => Ask::Report {
            token: token(*number)?,
            receipt: (*receipt).clone(),
            then: *then,
            spec: specified.then(spec).transpose()?,
        },
        engine::Ask::Verify {
            token: number,
            observation,
            then,
        } => Ask::Verify {
            token: token(*number)?,
            observation: (*observation).clone(),
            then: *then,
        },
        engine::Ask::Renew { token: number } => Ask::Renew {
            token: renewed_token(*number)?,
        },
        engine::Ask::Release { token: number } => Ask::Release {
            token: token(*number)?,
        },
        engine::Ask::Observe { observation, .. } => Ask::Observe {
            observation: (*observation).clone(),
        },
        engine::Ask::Decide {
            version,
            note,
            decision: decided,
        } => Ask::Decide {
            version: Version(*version),
            note: text(Note::new(*note), "note")?,
            decision: decision(decided, call.action)?,
        },
    })
}

fn decision(decision: &engine::Decision<'_>, action: &ActionScript) -> Result<Decision, Invalid> {
    Ok(match decision {
        engine::Decision::Approve => Decision::Approve {
            input: input(action)?,
        },
        engine::Decision::Deny => Decision::Deny,
        engine::Decision::Assign(assignee) => Decision::Assign {
            assignee: (!assignee.is_empty())
                .then(|| text(Owner::new(*assignee), "assignee"))
                .transpose()?,
        },
        engine::Decision::Resolve {
            resolution: said,
            proof: reference,
        } => Decision::Resolve {
            resolution: resolution(said)?,
            proof: proof(reference)?,
        },
        engine::Decision::Reopen {
            new_key,
            proof: reference,
        } => Decision::Reopen {
            new_key: *new_key,
            proof: proof(reference)?,
        },
        engine::Decision::Acknowledge(flag) => Decision::Acknowledge {
            flag: Flag::clone(flag),
        },
    })
}

fn proof(reference: &str) -> Result<Option<Note>, Invalid> {
    (!reference.is_empty())
        .then(|| text(Note::new(reference), "proof_reference"))
        .transpose()
}

fn resolution(said: &script::Resolution) -> Result<Resolution, Invalid> {
    Ok(match said {
        script::Resolution::Confirmed(external_id) => Resolution::Confirmed {
            external_id: external_id
                .as_deref()
                .map(|id| text(ExternalId::new(id), "confirmed.external_id"))
                .transpose()?,
        },
        script::Resolution::Absent => Resolution::Absent,
        script::Resolution::Rejected => Resolution::Rejected,
        script::Resolution::Compensated(by) => Resolution::Compensated {
            by: text(ActionId::new(&**by), "compensated.compensating_action")?,
        },
        script::Resolution::Abandoned => Resolution::Abandoned,
    })
}
