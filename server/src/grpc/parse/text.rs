//! Text: bounds and characters are the core's, the Unicode normal form is checked here.

use deed_core::text::{ActionId, ExternalId, FactName, LabelKey, LabelValue, Note, TextError, Tool};
use deed_proto::v1;
use unicode_normalization::is_nfc;

use super::{At, Invalid};
use deed_core::id::ActionKey;
use deed_core::spec::Label;
use deed_core::text::Namespace;

/// The longest key text of all, in bytes. Beyond it the bound refuses, and the normal form need not be looked at.
const LONGEST_KEY: usize = ActionId::MAX_BYTES;

impl From<TextError> for Invalid {
    fn from(error: TextError) -> Self {
        Self::because(error.to_string())
    }
}

/// Key text: an identity. Two spellings that look the same would be two identities, so only one of them is let in.
pub fn key_text<T>(
    text: String,
    make: impl FnOnce(String) -> Result<T, TextError>,
    field: &str,
) -> Result<T, Invalid> {
    if text.len() <= LONGEST_KEY && !text.is_ascii() && !is_nfc(&text) {
        return Err(Invalid::because(
            "is not in Unicode normal form C (NFC): normalise it before the call",
        ))
        .at(field);
    }
    make(text).map_err(Invalid::from).at(field)
}

/// Key text that may be left out.
pub fn optional_key_text<T>(
    text: String,
    make: impl FnOnce(String) -> Result<T, TextError>,
    field: &str,
) -> Result<Option<T>, Invalid> {
    if text.is_empty() {
        return Ok(None);
    }
    key_text(text, make, field).map(Some)
}

/// Prose for people.
pub fn note(text: String, field: &str) -> Result<Note, Invalid> {
    Note::new(text).map_err(Invalid::from).at(field)
}

/// The receiver's name for an effect, which may be left out.
pub fn external_id(text: String) -> Result<Option<ExternalId>, Invalid> {
    optional_key_text(text, ExternalId::new, "external_id")
}

/// The name of a fact.
pub fn fact(text: String, field: &str) -> Result<FactName, Invalid> {
    key_text(text, FactName::new, field)
}

/// The name of an action.
pub fn key(message: Option<v1::ActionKey>) -> Result<ActionKey, Invalid> {
    let message = super::required(message, "key")?;
    let parse = || {
        Ok(ActionKey {
            namespace: key_text(message.namespace, Namespace::new, "namespace")?,
            action_id: key_text(message.action_id, ActionId::new, "action_id")?,
        })
    };
    parse().at("key")
}

/// A list of labels, in its order.
pub fn labels(messages: Vec<v1::Label>) -> Result<Vec<Label>, Invalid> {
    let parse = |message: v1::Label| {
        Ok(Label {
            key: key_text(message.key, LabelKey::new, "key")?,
            value: LabelValue::new(message.value)
                .map_err(Invalid::from)
                .at("value")?,
        })
    };
    let parsed = messages.into_iter().enumerate();
    parsed
        .map(|(index, message)| parse(message).at_entry("labels", index))
        .collect()
}

/// At most this many tools in one question: more is a question about everything.
const MAX_TOOLS: usize = 64;

/// A list of tools; empty for all.
pub fn tools(texts: Vec<String>) -> Result<Vec<Tool>, Invalid> {
    bounded(texts.len(), MAX_TOOLS).at("tools")?;
    let parsed = texts.into_iter().enumerate();
    parsed
        .map(|(index, text)| key_text(text, Tool::new, "").at_entry("tools", index))
        .collect()
}

/// A list that is not too long. Checked before its entries are, so that a huge list costs nothing.
pub fn bounded(entries: usize, max: usize) -> Result<(), Invalid> {
    if entries > max {
        return Err(Invalid::because(format!(
            "has {entries} entries; at most {max} are allowed"
        )));
    }
    Ok(())
}
