//! Every field of every message, one spoilt at a time.

use deed_core::text::Principal;
use prost::Message;

use super::calls::{Call, observe};
use super::{Invalid, query, renew, text};
use crate::grpc::testing::sample;
use crate::grpc::testing::wire::{Kind, Leaf, Value, leaves, spoil};
use deed_proto::v1;

mod fields;
mod meaning;
mod terms;

fn local() -> Principal {
    Principal::new("local").unwrap()
}

fn command<M: Call + Default>(bytes: &[u8]) -> Result<(), Invalid> {
    let message = M::decode(bytes).unwrap();
    message.command(local()).map(|_| ())
}

fn encoded<M: Message>(messages: Vec<M>) -> Vec<Vec<u8>> {
    messages.iter().map(Message::encode_to_vec).collect()
}

/// One request message: its name, valid samples, and how it is parsed.
struct Parser {
    message: &'static str,
    samples: Vec<Vec<u8>>,
    parse: fn(&[u8]) -> Result<(), Invalid>,
}

fn parser<M: Message>(
    message: &'static str,
    samples: Vec<M>,
    parse: fn(&[u8]) -> Result<(), Invalid>,
) -> Parser {
    Parser {
        message,
        samples: encoded(samples),
        parse,
    }
}

/// Every call that is served.
fn parsers() -> Vec<Parser> {
    vec![
        parser("PlanRequest", vec![sample::plan()], command::<v1::PlanRequest>),
        parser("ClaimRequest", vec![sample::claim()], command::<v1::ClaimRequest>),
        parser("BeginRequest", vec![sample::begin()], command::<v1::BeginRequest>),
        parser(
            "ReportRequest",
            sample::receipts().into_iter().map(sample::report).collect(),
            command::<v1::ReportRequest>,
        ),
        parser(
            "VerifyRequest",
            sample::observations().into_iter().map(sample::verify).collect(),
            command::<v1::VerifyRequest>,
        ),
        parser(
            "ReleaseRequest",
            vec![sample::release()],
            command::<v1::ReleaseRequest>,
        ),
        parser("ObserveRequest", sample::observes(), |bytes| {
            observe(v1::ObserveRequest::decode(bytes).unwrap(), local()).map(|_| ())
        }),
        parser("RenewRequest", vec![sample::renew()], |bytes| {
            let entries = renew::renew(v1::RenewRequest::decode(bytes).unwrap(), local())?;
            entries.into_iter().try_for_each(|entry| entry.map(|_| ()))
        }),
        parser(
            "ApproveRequest",
            vec![sample::approve()],
            command::<v1::ApproveRequest>,
        ),
        parser("DenyRequest", vec![sample::deny()], command::<v1::DenyRequest>),
        parser(
            "AssignRequest",
            vec![sample::assign()],
            command::<v1::AssignRequest>,
        ),
        parser(
            "ResolveRequest",
            sample::resolves(),
            command::<v1::ResolveRequest>,
        ),
        parser(
            "ReopenRequest",
            vec![sample::reopen()],
            command::<v1::ReopenRequest>,
        ),
        parser(
            "AcknowledgeRequest",
            vec![sample::acknowledge()],
            command::<v1::AcknowledgeRequest>,
        ),
        parser("GetActionRequest", vec![sample::get()], |bytes| {
            text::key(v1::GetActionRequest::decode(bytes).unwrap().key).map(|_| ())
        }),
        parser("ListActionsRequest", vec![sample::list()], |bytes| {
            query::list(v1::ListActionsRequest::decode(bytes).unwrap()).map(|_| ())
        }),
        parser("ListEventsRequest", vec![sample::events()], |bytes| {
            query::events(v1::ListEventsRequest::decode(bytes).unwrap()).map(|_| ())
        }),
        parser("WaitActionRequest", vec![sample::wait()], |bytes| {
            query::wait(v1::WaitActionRequest::decode(bytes).unwrap()).map(|_| ())
        }),
    ]
}

/// Drops the indices of a path: `labels[0].key` is `labels.key`.
fn without_indices(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |path, part| {
        path + part.split_once(']').map_or(part, |(_, rest)| rest)
    })
}

/// Spoils a leaf of every sample: each must be refused, and some sample must be refused by that very name.
fn refused_by_name(parser: &Parser, leaf: &Leaf, value: Value<'_>) {
    let path = leaf.path();
    let mut named = Vec::new();
    for sample in &parser.samples {
        let bytes = spoil(sample, &leaf.steps, value);
        match (parser.parse)(&bytes) {
            Ok(()) => panic!("{}: {path} was accepted with {value:?}", parser.message),
            Err(invalid) => named.push(without_indices(&invalid.field)),
        }
    }
    assert!(
        named.contains(&path),
        "{}: {path} is called {named:?}",
        parser.message
    );
}
