//! Text on its way to the service: keys in Unicode normal form C, prose made fit to be kept.
//!
//! Owns what the client may mend by itself. It refuses to mend a key otherwise: a blank or overlong one goes out as it is,
//! and the service names the field.

use unicode_normalization::UnicodeNormalization;

/// The longest prose that the service keeps, in bytes of UTF-8.
const LONGEST_NOTE: usize = 4_096;

/// A key, so that the same word typed on two systems names the same action.
pub(crate) fn key(text: &str) -> String {
    text.nfc().collect()
}

/// Prose for people. Control characters other than line breaks and tabs become U+FFFD and what is too long is cut:
/// SUBTLE: an error's message is the receiver's text, and a receipt must not be refused for an escape sequence in it.
pub(crate) fn note(text: &str) -> String {
    let mut kept = String::with_capacity(text.len().min(LONGEST_NOTE));
    for found in text.chars() {
        let character = match found {
            '\n' | '\t' | '\r' => found,
            control if control.is_control() => char::REPLACEMENT_CHARACTER,
            other => other,
        };
        if kept.len() + character.len_utf8() > LONGEST_NOTE {
            break;
        }
        kept.push(character);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_normalised_so_that_two_spellings_are_one_action() {
        assert_eq!(key("cafe\u{301}"), "caf\u{e9}");
    }

    #[test]
    fn a_note_is_kept_but_for_control_characters_and_what_is_too_long() {
        assert_eq!(
            note("'; DROP TABLE\n<script>\u{202e}"),
            "'; DROP TABLE\n<script>\u{202e}"
        );
        assert_eq!(note("a\u{0}b\u{1b}[31m"), "a\u{fffd}b\u{fffd}[31m");
        let cut = note(&"é".repeat(3_000));
        assert_eq!(cut.len(), 4_096);
    }
}
