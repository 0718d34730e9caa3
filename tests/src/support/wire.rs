//! The API as bytes: every text field of a message by the API's own descriptors, messages spoiled on purpose, and calls
//! that send whatever bytes they are given.
//!
//! Owns encoding only. What a server should make of it is the test's question.

use anyhow::Context;
use bytes::{Buf, BufMut};
use deed_proto::FILE_DESCRIPTOR_SET;
use prost::Message as _;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Status};

/// Where a field lies within a message: tags from the outside in, and the name that errors use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub tags: Vec<u32>,
    pub name: String,
}

/// The text fields of a message of the package, however deep.
pub fn text_fields(message: &str) -> anyhow::Result<Vec<Place>> {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET)?;
    let mut found = Vec::new();
    let place = Place {
        tags: Vec::new(),
        name: String::new(),
    };
    walk(&set, &format!(".deed.v1.{message}"), &place, &mut found)?;
    Ok(found)
}

fn walk(set: &FileDescriptorSet, name: &str, at: &Place, found: &mut Vec<Place>) -> anyhow::Result<()> {
    for field in &find(set, name)?.field {
        let mut inner = at.clone();
        inner.tags.push(u32::try_from(field.number())?);
        if !inner.name.is_empty() {
            inner.name.push('.');
        }
        inner.name.push_str(field.name());
        match (field.r#type(), field.type_name()) {
            (Type::Message, well_known) if well_known.starts_with(".google.") => {}
            (Type::Message, message) => walk(set, message, &inner, found)?,
            (Type::String, _) => found.push(inner),
            _ => {}
        }
    }
    Ok(())
}

fn find<'a>(set: &'a FileDescriptorSet, name: &str) -> anyhow::Result<&'a DescriptorProto> {
    let mut names = name
        .strip_prefix(".deed.v1.")
        .with_context(|| format!("{name} is of another package"))?
        .split('.');
    let first = names.next().unwrap_or_default();
    let mut all = set.file.iter().flat_map(|file| &file.message_type);
    let mut message = all
        .find(|message| message.name() == first)
        .with_context(|| format!("there is no {first}"))?;
    for inner in names {
        let mut nested = message.nested_type.iter();
        message = nested
            .find(|message| message.name() == inner)
            .with_context(|| format!("there is no {name}"))?;
    }
    Ok(message)
}

/// One field as it is on the wire.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    pub tag: u32,
    pub value: Value,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(Vec<u8>),
}

/// The fields of an encoded message; none where it is no message.
pub fn fields(mut message: &[u8]) -> Option<Vec<Field>> {
    let mut found = Vec::new();
    while message.has_remaining() {
        let (tag, kind) = decode_key(&mut message).ok()?;
        let value = match kind {
            WireType::Varint => Value::Varint(decode_varint(&mut message).ok()?),
            WireType::SixtyFourBit => Value::Fixed64(take(&mut message, 8)?.try_into().ok()?),
            WireType::ThirtyTwoBit => Value::Fixed32(take(&mut message, 4)?.try_into().ok()?),
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut message).ok()?).ok()?;
                Value::Bytes(take(&mut message, length)?)
            }
            WireType::StartGroup | WireType::EndGroup => return None,
        };
        found.push(Field { tag, value });
    }
    Some(found)
}

fn take(from: &mut &[u8], length: usize) -> Option<Vec<u8>> {
    let (taken, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(taken.to_vec())
}

pub fn encode(fields: &[Field]) -> Vec<u8> {
    let mut message = Vec::new();
    for Field { tag, value } in fields {
        match value {
            Value::Varint(number) => {
                encode_key(*tag, WireType::Varint, &mut message);
                encode_varint(*number, &mut message);
            }
            Value::Fixed64(bytes) => {
                encode_key(*tag, WireType::SixtyFourBit, &mut message);
                message.extend_from_slice(bytes);
            }
            Value::Fixed32(bytes) => {
                encode_key(*tag, WireType::ThirtyTwoBit, &mut message);
                message.extend_from_slice(bytes);
            }
            Value::Bytes(bytes) => {
                encode_key(*tag, WireType::LengthDelimited, &mut message);
                encode_varint(bytes.len() as u64, &mut message);
                message.extend_from_slice(bytes);
            }
        }
    }
    message
}

/// The message with other text in one place; none where the message does not reach that far. Of a repeated field on the
/// way, the last entry is taken.
pub fn put(message: &[u8], tags: &[u32], text: &[u8]) -> Option<Vec<u8>> {
    let (tag, rest) = tags.split_first()?;
    let mut fields = fields(message)?;
    let last = fields.iter().rposition(|field| field.tag == *tag);
    let old = last.map(|at| fields.remove(at).value);
    let new = match old {
        _ if rest.is_empty() => text.to_vec(),
        Some(Value::Bytes(inner)) => put(&inner, rest, text)?,
        Some(_) | None => return None,
    };
    let value = Value::Bytes(new);
    fields.push(Field { tag: *tag, value });
    Some(encode(&fields))
}

/// Sends bytes as they are to a method such as `Ownership/Claim`.
pub async fn call(channel: &Channel, method: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Status> {
    let mut client = Grpc::new(channel.clone());
    client
        .ready()
        .await
        .map_err(|error| Status::from_error(error.into()))?;
    let path = format!("/deed.v1.{method}")
        .parse()
        .map_err(|_| Status::data_loss("no path"))?;
    Ok(client.unary(Request::new(bytes), path, Raw).await?.into_inner())
}

/// Messages as bytes.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }
}
