//! Reads JSON text as RFC 8785 needs it: without duplicate keys and without numbers that a double cannot hold exactly.
//!
//! Owns the refusal. An ordinary parser keeps the last of two equal keys and rounds large integers, and then two
//! different inputs would have one hash, or one input two. Hashing is `input`'s.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// 2^53 - 1: the largest integer whose neighbours a double can tell apart (RFC 7493, section 2.2).
const LARGEST: u64 = (1 << 53) - 1;

/// Parses a whole text.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict(String::new()).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads one value; holds where it stands in the document, as a JSON pointer.
struct Strict(String);

impl Strict {
    fn below(&self, part: &dyn fmt::Display) -> Self {
        let part = part.to_string().replace('~', "~0").replace('/', "~1");
        Self(format!("{}/{part}", self.0))
    }

    fn beyond<T, E: Error>(&self, number: impl fmt::Display) -> Result<T, E> {
        let at = self.name();
        Err(E::custom(format_args!(
            "the integer {number} at {at} is beyond 2^53 - 1 and would be rounded; write it as text"
        )))
    }

    fn name(&self) -> &str {
        if self.0.is_empty() { "the top" } else { &self.0 }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        if value > LARGEST {
            return self.beyond(value);
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > LARGEST {
            return self.beyond(value);
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // SUBTLE: an integer beyond 64 bits arrives here, already rounded; so does `1e20`, whose canonical form is an
        // integer just as long. Every double beyond 2^53 is an integer, so size alone decides.
        #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact as a double")]
        if value.abs() > LARGEST as f64 {
            return self.beyond(value);
        }
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(E::custom(format_args!(
                "the number at {} is not finite",
                self.name()
            ))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.below(&array.len()))? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let at = self.name();
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} stands twice in the object at {at}"
                )));
            }
            let value = entries.next_value_seed(self.below(&key))?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_duplicate_key_is_refused_with_its_place() {
        assert!(refusal(r#"{"a":1,"a":1}"#).contains(r#"the key "a" stands twice in the object at the top"#));
        assert!(refusal(r#"{"x":[{"a":1,"\u0061":2}]}"#).contains("/x/0"));
    }

    #[test]
    fn integers_up_to_2_53_minus_1_pass_and_the_next_is_refused() {
        assert!(parse("[9007199254740991,-9007199254740991]").is_ok());
        for text in [
            "9007199254740992",
            "-9007199254740992",
            "18446744073709551616",
            "1e20",
        ] {
            assert!(
                refusal(&format!(r#"{{"n":{text}}}"#)).contains("at /n is beyond 2^53 - 1"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_follows_the_value_is_refused() {
        assert!(parse("{} {}").is_err());
        assert!(parse("").is_err());
    }
}
