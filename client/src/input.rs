//! The input of an action, and its hash. The input itself never leaves this process.
//!
//! Owns what identifies an input: the whole of it, or the fields that the caller names. It refuses, before any call, what
//! could not be hashed the same way twice. Comparing hashes is the service's work.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use deed_proto::v1;

use crate::json;

/// Hash of the RFC 8785 canonical JSON.
const CANONICAL: &str = "jcs-sha256";
/// Hash of bytes as they are.
const RAW: &str = "raw-sha256";

/// Why an input was refused. No call was made.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be written as canonical JSON (RFC 8785), e.g. because a map has keys that are no text.
    #[error("the input cannot be written as canonical JSON")]
    NotCanonical(#[source] serde_json::Error),
    /// The text is no JSON, or JSON that would not be read the same way everywhere.
    #[error("the input is not JSON that is read the same way everywhere")]
    NotStrict(#[source] serde_json::Error),
    /// The input has no such field.
    #[error("the input has no field {field:?}, which is to identify it")]
    MissingField {
        /// As the caller named it.
        field: String,
    },
    /// The name could mean two fields.
    #[error("{field:?} names both a field of its own and a field within another; name it as a JSON pointer")]
    AmbiguousField {
        /// As the caller named it.
        field: String,
    },
    /// Bytes have no fields.
    #[error("an input of bytes has no field {field:?} that could identify it")]
    NoFields {
        /// The first that the caller named.
        field: String,
    },
}

/// What an action is to do, until it is hashed.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Json(Value),
    Raw([u8; 32]),
}

impl Input {
    pub fn serialized(value: &impl Serialize) -> Result<Self, InputError> {
        let text = serde_json_canonicalizer::to_string(value).map_err(InputError::NotCanonical)?;
        // SUBTLE: the canonical text is read back strictly. Writing it rounds large integers without a word; the rounded
        // ones are still beyond 2^53 - 1 and are refused here.
        Self::text(&text)
    }

    pub fn text(text: &str) -> Result<Self, InputError> {
        json::parse(text).map(Self::Json).map_err(InputError::NotStrict)
    }

    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Raw(Sha256::digest(bytes).into())
    }

    /// The hash of the named fields, or of everything where none is named.
    pub fn hash(&self, identity: &[String]) -> Result<v1::InputHash, InputError> {
        let (scheme, digest) = match (self, identity) {
            (Self::Raw(digest), []) => (RAW, *digest),
            (Self::Raw(_), [field, ..]) => return Err(InputError::NoFields { field: field.clone() }),
            (Self::Json(value), []) => (CANONICAL, canonical_digest(value)?),
            (Self::Json(value), fields) => (CANONICAL, canonical_digest(&identifying(value, fields)?)?),
        };
        Ok(v1::InputHash {
            scheme: scheme.to_owned(),
            digest: digest.to_vec(),
        })
    }
}

/// The named fields as an object, each under the name that the caller used.
fn identifying(value: &Value, fields: &[String]) -> Result<Value, InputError> {
    let selected: Result<serde_json::Map<String, Value>, InputError> = fields
        .iter()
        .map(|field| Ok((field.clone(), select(value, field)?.clone())))
        .collect();
    selected.map(Value::Object)
}

/// `order` and `order.id` name fields of objects; a name that begins with `/` is a JSON pointer (RFC 6901).
fn select<'value>(value: &'value Value, field: &str) -> Result<&'value Value, InputError> {
    if field.starts_with('/') {
        return value.pointer(field).ok_or_else(|| missing(field));
    }
    let own = value.get(field);
    let within = field
        .contains('.')
        .then(|| field.split('.').try_fold(value, |outer, name| outer.get(name)))
        .flatten();
    match (own, within) {
        (Some(_), Some(_)) => Err(InputError::AmbiguousField {
            field: field.to_owned(),
        }),
        (Some(found), None) | (None, Some(found)) => Ok(found),
        (None, None) => Err(missing(field)),
    }
}

fn missing(field: &str) -> InputError {
    InputError::MissingField {
        field: field.to_owned(),
    }
}

fn canonical_digest(value: &Value) -> Result<[u8; 32], InputError> {
    let text = serde_json_canonicalizer::to_vec(value).map_err(InputError::NotCanonical)?;
    Ok(Sha256::digest(text).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> v1::InputHash {
        Input::text(text).unwrap().hash(&[]).unwrap()
    }

    fn by(text: &str, fields: &[&str]) -> Result<v1::InputHash, InputError> {
        let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        Input::text(text).unwrap().hash(&fields)
    }

    #[test]
    fn order_and_spelling_of_json_do_not_change_the_hash() {
        assert_eq!(
            whole(r#"{"a":1.0,"b":"\u00e9"}"#),
            whole("{ \"b\": \"é\", \"a\": 1 }")
        );
        assert_ne!(whole(r#"{"a":1}"#), whole(r#"{"a":"1"}"#));
    }

    #[test]
    fn a_struct_and_its_text_have_one_hash() {
        #[derive(Serialize)]
        struct Charge {
            order: &'static str,
            amount: f64,
        }
        let charge = Charge {
            order: "4821",
            amount: 12.5,
        };
        let hash = Input::serialized(&charge).unwrap().hash(&[]).unwrap();
        assert_eq!(hash, whole(r#"{"amount":12.50,"order":"4821"}"#));
        assert_eq!((hash.scheme.as_str(), hash.digest.len()), ("jcs-sha256", 32));
    }

    #[test]
    fn a_serialized_integer_beyond_2_53_is_refused() {
        assert!(Input::serialized(&[(1_u64 << 53) + 1]).is_err());
        assert!(Input::serialized(&[i64::MIN]).is_err());
        assert!(Input::serialized(&[1e300]).is_err());
        assert!(Input::serialized(&[(1_u64 << 53) - 1]).is_ok());
    }

    #[test]
    fn b22_a_reworded_note_is_the_same_input_and_another_amount_is_not() {
        let fields = ["order", "amount"];
        let first = by(r#"{"order":"4821","amount":30,"note":"broken"}"#, &fields).unwrap();
        let reworded = by(
            r#"{"amount":30.0,"note":"arrived broken","order":"4821"}"#,
            &fields,
        )
        .unwrap();
        let other = by(r#"{"order":"4821","amount":31,"note":"broken"}"#, &fields).unwrap();
        assert_eq!(first, reworded);
        assert_ne!(first, other);
    }

    #[test]
    fn fields_within_fields_are_named_by_dots_or_pointers() {
        let text = r#"{"order":{"id":"4821"},"lines":[{"sku":"x"}],"a.b":1,"a":{"b":2}}"#;
        assert!(by(text, &["order.id", "/lines/0/sku"]).is_ok());
        assert!(
            matches!(by(text, &["order.no"]), Err(InputError::MissingField { field }) if field == "order.no")
        );
        assert!(matches!(
            by(text, &["a.b"]),
            Err(InputError::AmbiguousField { .. })
        ));
        assert!(by(text, &["/a/b"]).is_ok());
    }

    #[test]
    fn bytes_are_hashed_as_they_are_and_have_no_fields() {
        let hash = Input::bytes(b"{ }").hash(&[]).unwrap();
        assert_eq!(hash.scheme, "raw-sha256");
        assert_ne!(hash.digest, Input::bytes(b"{}").hash(&[]).unwrap().digest);
        assert!(matches!(
            Input::bytes(b"x").hash(&["order".to_owned()]),
            Err(InputError::NoFields { .. })
        ));
    }
}
