//! Spoils one field of an encoded message, found by the descriptors of the API: so no field can be forgotten.

use deed_proto::FILE_DESCRIPTOR_SET;
use prost::Message as _;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FileDescriptorSet};

/// One field on the way to a leaf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub name: String,
    pub tag: u32,
}

/// A leaf: the steps to it and what it holds.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub steps: Vec<Step>,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text,
    Enum,
    Duration,
    Timestamp,
    Other,
}

impl Leaf {
    /// The path as errors name it, without indices.
    pub fn path(&self) -> String {
        let names: Vec<_> = self.steps.iter().map(|step| step.name.as_str()).collect();
        names.join(".")
    }
}

/// Every leaf of a message of the package.
pub fn leaves(message: &str) -> Vec<Leaf> {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let mut found = Vec::new();
    walk(&set, &format!(".deed.v1.{message}"), &mut Vec::new(), &mut found);
    assert!(!found.is_empty(), "{message} has no fields");
    found
}

fn walk(set: &FileDescriptorSet, name: &str, steps: &mut Vec<Step>, found: &mut Vec<Leaf>) {
    for field in &find(set, name).field {
        steps.push(Step {
            name: field.name().to_owned(),
            tag: u32::try_from(field.number()).unwrap(),
        });
        let leaf = match (field.r#type(), field.type_name()) {
            (Type::Message, ".google.protobuf.Duration") => Some(Kind::Duration),
            (Type::Message, ".google.protobuf.Timestamp") => Some(Kind::Timestamp),
            (Type::Message, inner) => {
                walk(set, inner, steps, found);
                None
            }
            (Type::String, _) => Some(Kind::Text),
            (Type::Enum, _) => Some(Kind::Enum),
            _ => Some(Kind::Other),
        };
        if let Some(kind) = leaf {
            let steps = steps.clone();
            found.push(Leaf { steps, kind });
        }
        assert!(matches!(field.label(), Label::Optional | Label::Repeated));
        steps.pop();
    }
}

fn find<'a>(set: &'a FileDescriptorSet, name: &str) -> &'a DescriptorProto {
    let mut names = name.strip_prefix(".deed.v1.").unwrap().split('.');
    let first = names.next().unwrap();
    let mut all = set.file.iter().flat_map(|file| &file.message_type);
    let mut message = all.find(|message| message.name() == first).unwrap();
    for name in names {
        let mut nested = message.nested_type.iter();
        message = nested.find(|message| message.name() == name).unwrap();
    }
    message
}

/// A value to put into a leaf.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Bytes(&'a [u8]),
    Number(u64),
}

/// The message with another value in one leaf. Of a repeated field on the way, the last entry is taken.
pub fn spoil(base: &[u8], steps: &[Step], value: Value<'_>) -> Vec<u8> {
    let Some((step, rest)) = steps.split_first() else {
        return base.to_vec();
    };
    let mut spoilt;
    if rest.is_empty() {
        spoilt = base.to_vec();
        match value {
            Value::Bytes(bytes) => put(&mut spoilt, step.tag, bytes),
            Value::Number(number) => {
                encode_key(step.tag, WireType::Varint, &mut spoilt);
                encode_varint(number, &mut spoilt);
            }
        }
    } else {
        let (mut others, inner) = take_last(base, step.tag);
        put(&mut others, step.tag, &spoil(&inner, rest, value));
        spoilt = others;
    }
    spoilt
}

fn put(message: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    encode_key(tag, WireType::LengthDelimited, message);
    encode_varint(bytes.len().try_into().unwrap(), message);
    message.extend_from_slice(bytes);
}

/// The message without the last occurrence of a field, and that occurrence's bytes.
fn take_last(message: &[u8], wanted: u32) -> (Vec<u8>, Vec<u8>) {
    let mut last = None;
    let mut rest = message;
    while !rest.is_empty() {
        let start = message.len() - rest.len();
        let (tag, kind) = decode_key(&mut rest).unwrap();
        let content = match kind {
            WireType::Varint => {
                decode_varint(&mut rest).unwrap();
                0
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => usize::try_from(decode_varint(&mut rest).unwrap()).unwrap(),
            WireType::StartGroup | WireType::EndGroup => panic!("no groups here"),
        };
        let from = message.len() - rest.len();
        rest = &rest[content..];
        if tag == wanted {
            last = Some((start, from, from + content));
        }
    }
    match last {
        None => (message.to_vec(), Vec::new()),
        Some((start, from, end)) => {
            let others = [&message[..start], &message[end..]].concat();
            (others, message[from..end].to_vec())
        }
    }
}
