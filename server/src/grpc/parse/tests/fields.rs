//! What holds for every field of a kind, in every message.

use super::{Kind, Value, leaves, parsers, refused_by_name};

fn every(kind: Kind, values: &[Value<'_>]) {
    let mut seen = 0;
    for parser in parsers() {
        for leaf in leaves(parser.message).iter().filter(|leaf| leaf.kind == kind) {
            for value in values {
                refused_by_name(&parser, leaf, *value);
            }
            seen += 1;
        }
    }
    assert!(seen > 0, "no field of the kind {kind:?}");
}

#[test]
fn the_samples_are_valid() {
    for parser in parsers() {
        for sample in &parser.samples {
            assert_eq!((parser.parse)(sample), Ok(()), "{}", parser.message);
        }
    }
}

#[test]
fn nul_and_control_characters_are_refused_in_every_text_field() {
    every(
        Kind::Text,
        &[
            Value::Bytes(b"a\0b"),
            Value::Bytes(b"a\x1bb"),
            Value::Bytes("a\u{85}b".as_bytes()),
        ],
    );
}

#[test]
fn every_text_field_is_bounded() {
    every(Kind::Text, &[Value::Bytes(&[b'x'; 5_000])]);
}

#[test]
fn an_enum_number_that_the_server_does_not_know_is_refused_by_name() {
    every(Kind::Enum, &[Value::Number(99), Value::Number(u64::MAX)]);
}

#[test]
fn every_length_of_time_is_refused_where_it_is_negative_too_long_or_malformed() {
    let minus_one = [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
    let ages = [8, 255, 255, 255, 255, 255, 255, 255, 255, 127];
    let billion_nanos = [16, 0x80, 0x94, 0xeb, 0xdc, 3];
    let minus_one_nano = [16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
    every(
        Kind::Duration,
        &[
            Value::Bytes(&minus_one),
            Value::Bytes(&ages),
            Value::Bytes(&billion_nanos),
            Value::Bytes(&minus_one_nano),
        ],
    );
    every(
        Kind::Timestamp,
        &[Value::Bytes(&ages), Value::Bytes(&minus_one_nano)],
    );
}
