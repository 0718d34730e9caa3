//! Bounded text: every string that enters the protocol is one of these types, checked once.
//!
//! A key is an identity: no control characters, no surrounding space, not empty. A note is prose for people: line breaks
//! and tabs are welcome. Text is kept exactly as it came; odd text (markup, SQL, right-to-left marks) is data. Unicode
//! normal form is checked by the edge that parses it: it needs tables that the core does not import.

use std::fmt;

/// Why a text was refused. The edge adds the name of the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing, or nothing but space.
    #[error("must not be empty or blank")]
    Empty,
    /// Longer than its bound.
    #[error("has {bytes} bytes; at most {max} are allowed")]
    TooLong {
        /// Length of the text.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// A control character, such as NUL.
    #[error("has the control character U+{:04X} at byte {at}", u32::from(*found))]
    Control {
        /// The character.
        found: char,
        /// Byte offset.
        at: usize,
    },
    /// A key with space at an end: two keys that people cannot tell apart.
    #[error("must not begin or end with white space")]
    SurroundingSpace,
}

fn bounded(text: &str, max: usize) -> Result<(), TextError> {
    if text.len() > max {
        return Err(TextError::TooLong {
            bytes: text.len(),
            max,
        });
    }
    Ok(())
}

fn check_key(text: &str, max: usize) -> Result<(), TextError> {
    bounded(text, max)?;
    if text.trim().is_empty() {
        return Err(TextError::Empty);
    }
    if let Some((at, found)) = text.char_indices().find(|(_, c)| c.is_control()) {
        return Err(TextError::Control { found, at });
    }
    if text.trim().len() != text.len() {
        return Err(TextError::SurroundingSpace);
    }
    Ok(())
}

fn check_note(text: &str, max: usize) -> Result<(), TextError> {
    bounded(text, max)?;
    match text
        .char_indices()
        .find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
    {
        Some((at, found)) => Err(TextError::Control { found, at }),
        None => Ok(()),
    }
}

macro_rules! text {
    ($($(#[$doc:meta])* $name:ident: $check:ident <= $max:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The longest one allowed, in bytes of UTF-8.
            pub const MAX_BYTES: usize = $max;

            /// Checks and takes over a text.
            pub fn new(text: impl Into<String>) -> Result<Self, TextError> {
                let text = text.into();
                $check(&text, Self::MAX_BYTES)?;
                Ok(Self(text.into_boxed_str()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    )*};
}

text! {
    /// The tenant: the boundary of trust. At most 128 bytes.
    Namespace: check_key <= 128;
    /// Names one action within its namespace. At most 512 bytes, so that a composed business key fits.
    ActionId: check_key <= 512;
    /// The capability that an action uses. At most 128 bytes.
    Tool: check_key <= 128;
    /// A worker instance, as it calls itself. At most 256 bytes.
    Owner: check_key <= 256;
    /// Who called, as the edge has authenticated it. At most 256 bytes.
    Principal: check_key <= 256;
    /// What the receiver calls the effect, or the object it touched. At most 512 bytes.
    ExternalId: check_key <= 512;
    /// A fact that a lookup observes, such as `row_exists`. At most 128 bytes.
    FactName: check_key <= 128;
    /// The name of an input hash scheme. At most 32 bytes.
    HashScheme: check_key <= 32;
    /// A label's key. At most 64 bytes.
    LabelKey: check_key <= 64;
    /// A label's value; may be empty. At most 256 bytes.
    LabelValue: check_note <= 256;
    /// What "done" means, for people. At most 1 KiB.
    Description: check_note <= 1024;
    /// A reason, a detail, an operator's note. At most 4 KiB.
    Note: check_note <= 4096;
}

impl Owner {
    /// Who only looks: a name that no caller can have.
    pub(crate) fn nobody() -> Self {
        Self(Box::from(""))
    }
}

impl Principal {
    /// Who only looks: a name that no caller can have.
    pub(crate) fn nobody() -> Self {
        Self(Box::from(""))
    }
}

impl Note {
    /// No note.
    pub fn none() -> Self {
        Self(Box::from(""))
    }

    /// Whether there is nothing to read.
    pub fn blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_people_cannot_tell_apart_are_refused() {
        assert_eq!(ActionId::new(""), Err(TextError::Empty));
        assert_eq!(ActionId::new(" \t "), Err(TextError::Empty));
        assert_eq!(ActionId::new(" a"), Err(TextError::SurroundingSpace));
        assert_eq!(
            ActionId::new("a\0b"),
            Err(TextError::Control { found: '\0', at: 1 })
        );
        assert_eq!(
            ActionId::new("x".repeat(513)),
            Err(TextError::TooLong { bytes: 513, max: 512 })
        );
    }

    #[test]
    fn odd_text_is_an_ordinary_key() {
        for odd in [
            "null",
            "'; DROP TABLE actions",
            "<script>",
            "a\u{200f}b",
            "{{ id }}",
            "tepm mail com",
        ] {
            assert_eq!(
                ActionId::new(odd).map(|id| id.as_str().to_owned()),
                Ok(odd.to_owned())
            );
        }
    }

    #[test]
    fn a_note_may_have_lines_but_no_nul() {
        assert!(Note::new("line one\n\tline two").is_ok());
        assert_eq!(
            Note::new("a\u{7}"),
            Err(TextError::Control {
                found: '\u{7}',
                at: 1
            })
        );
    }
}
