//! The small values at their edges: texts, times, tokens, contracts, marks.

use deed_core::action::{Flag, Flags};
use deed_core::contract::{Contract, Retry, Terms};
use deed_core::id::Token;
use deed_core::text::{ActionId, Note, TextError};
use deed_core::time::{Span, Timestamp};

use crate::world::*;

#[test]
fn a_text_may_be_as_long_as_its_bound() {
    assert!(ActionId::new("x".repeat(ActionId::MAX_BYTES)).is_ok());
    let bytes = Note::MAX_BYTES + 1;
    let max = Note::MAX_BYTES;
    assert_eq!(
        Note::new("x".repeat(bytes)),
        Err(TextError::TooLong { bytes, max })
    );
}

#[test]
fn tokens_and_times_are_told_in_numbers_and_units() {
    let token = Token::new((1 << 53) + 1).unwrap();
    assert_eq!(token.to_string(), "9007199254740993");
    assert_eq!((Token::new(0), Token::new(Token::MAX + 1)), (None, None));
    let spans =
        [secs(3), Span::from_millis(1_500), Span::from_micros(7)].map(|span| format!("{span} {span:?}"));
    assert_eq!(spans, ["3 s 3 s", "1500 ms 1500 ms", "7 us 7 us"]);
    let time = Timestamp::from_micros(-5);
    assert_eq!((format!("{time:?}"), time.micros()), ("@-5us".to_owned(), -5));
    assert!(Span::ZERO.empty() && !Span::from_micros(1).empty());
}

#[test]
fn a_lease_may_last_as_long_as_the_longest_hold_and_a_backoff_never_grow() {
    let equal = Terms {
        max_hold: secs(5),
        retry: Retry {
            max_backoff: secs(1),
            ..Terms::DEFAULT_RETRY
        },
        ..at_most_once()
    };
    assert!(Contract::new(equal).is_ok());
}

#[test]
fn the_marks_that_are_set_are_listed() {
    let mut flags = Flags::default();
    assert_eq!(flags.set().count(), 0);
    flags.put(Flag::Contradicted, true);
    flags.put(Flag::Ungated, true);
    flags.put(Flag::Ungated, false);
    assert_eq!(flags.set().collect::<Vec<_>>(), [Flag::Contradicted]);
}
