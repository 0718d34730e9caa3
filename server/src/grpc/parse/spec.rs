//! What an action is: tool, input hash, expected effect, contract, labels.

use deed_core::spec::{ExpectedEffect, InputHash, Specification};
use deed_core::text::{Description, HashScheme, Tool};
use deed_proto::v1;

use super::text::{bounded, fact, key_text, labels};
use super::{At, Invalid, contract, required};

/// The schemes that a client library hashes by. Another name would make two clients disagree about what is the same.
const SCHEMES: [&str; 2] = ["jcs-sha256", "raw-sha256"];

/// A specification, with its path.
pub fn specification(message: Option<v1::Specification>) -> Result<Box<Specification>, Invalid> {
    let message = required(message, "specification")?;
    parse(message).map(Box::new).at("specification")
}

fn parse(message: v1::Specification) -> Result<Specification, Invalid> {
    let tool = key_text(message.tool, Tool::new, "tool")?;
    let input = input_hash(message.input_hash)?;
    let expected = expected(message.expected_effect.unwrap_or_default()).at("expected_effect")?;
    let contract = contract::contract(&required(message.contract, "contract")?).at("contract")?;
    bounded(message.labels.len(), Specification::MAX_LABELS).at("labels")?;
    let labels = labels(message.labels)?;
    Specification::new(tool, input, expected, contract, labels)
        .map_err(|error| Invalid::because(error.reason).placed(error.field))
}

impl Invalid {
    /// The same reason, in a field that the core has named.
    pub fn placed(mut self, field: &str) -> Self {
        field.clone_into(&mut self.field);
        self
    }
}

/// The hash of an input, with its path.
pub fn input_hash(message: Option<v1::InputHash>) -> Result<InputHash, Invalid> {
    let message = required(message, "input_hash")?;
    let parse = || {
        let scheme = key_text(message.scheme, HashScheme::new, "scheme")?;
        if !SCHEMES.contains(&scheme.as_str()) {
            let reason = format!("must be one of: {}", SCHEMES.join(", "));
            return Err(Invalid::because(reason)).at("scheme");
        }
        let length = message.digest.len();
        let digest = message.digest.try_into().map_err(|_| {
            Invalid::because(format!("has {length} bytes; a SHA-256 digest has 32")).placed("digest")
        })?;
        Ok(InputHash { scheme, digest })
    };
    parse().at("input_hash")
}

fn expected(message: v1::ExpectedEffect) -> Result<ExpectedEffect, Invalid> {
    let description = Description::new(message.description)
        .map_err(Invalid::from)
        .at("description")?;
    bounded(message.facts.len(), Specification::MAX_FACTS).at("facts")?;
    let facts = message.facts.into_iter().enumerate();
    let facts = facts.map(|(index, text)| fact(text, "").at_entry("facts", index));
    Ok(ExpectedEffect {
        description,
        facts: facts.collect::<Result<_, _>>()?,
    })
}
