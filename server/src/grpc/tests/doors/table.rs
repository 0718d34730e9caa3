//! Every call of the API with what it needs and a sample of it, and what became of a call.

use std::time::Duration;

use deed_proto::v1::{self, batch_result, renew_result, session_response};
use prost::Message;
use secrecy::SecretString;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::auth::Right;
use crate::grpc::testing::guarded::{Shows, raw};
use crate::grpc::testing::sample;
use crate::grpc::testing::server::reason;
use crate::grpc::testing::wire::{Value, leaves, spoil};

/// Each call with what it needs, its message, and a sample of it that concerns the namespace `shop` only.
pub fn rules() -> Vec<(&'static str, Right, &'static str, Vec<u8>)> {
    use Right::{Decide, Observe, Read, Work};
    let claim = sample::claim();
    let report = sample::report(sample::receipts().remove(0));
    let verify = sample::verify(sample::observations().remove(0));
    let batch_claim = v1::BatchClaimRequest {
        entries: vec![claim.clone()],
    };
    let batch_report = v1::BatchReportRequest {
        entries: vec![report.clone()],
    };
    let observe = sample::observes().remove(0);
    let session = v1::SessionRequest {
        correlation_id: 1,
        timeout: None,
        call: Some(v1::session_request::Call::Observe(observe.clone())),
    };
    let due = v1::ClaimDueRequest {
        namespace: "shop".to_owned(),
        tools: vec!["charge_card".to_owned()],
        owner: "worker-1".to_owned(),
        request_id: sample::request_id(),
        ..Default::default()
    };
    let watch = v1::WatchActionsRequest {
        namespace: "shop".to_owned(),
        ..Default::default()
    };
    let stats = v1::GetStatsRequest {
        namespace: "shop".to_owned(),
        ..Default::default()
    };
    let wait = v1::WaitActionRequest {
        timeout: sample::seconds(0),
        ..sample::wait()
    };
    vec![
        (
            "Ownership/Plan",
            Work,
            "PlanRequest",
            sample::plan().encode_to_vec(),
        ),
        ("Ownership/Claim", Work, "ClaimRequest", claim.encode_to_vec()),
        (
            "Ownership/Begin",
            Work,
            "BeginRequest",
            sample::begin().encode_to_vec(),
        ),
        ("Ownership/Report", Work, "ReportRequest", report.encode_to_vec()),
        ("Ownership/Verify", Work, "VerifyRequest", verify.encode_to_vec()),
        (
            "Ownership/Renew",
            Work,
            "RenewRequest",
            sample::renew().encode_to_vec(),
        ),
        (
            "Ownership/Release",
            Work,
            "ReleaseRequest",
            sample::release().encode_to_vec(),
        ),
        (
            "Ownership/Observe",
            Observe,
            "ObserveRequest",
            observe.encode_to_vec(),
        ),
        ("Ownership/ClaimDue", Work, "ClaimDueRequest", due.encode_to_vec()),
        (
            "Ownership/BatchClaim",
            Work,
            "BatchClaimRequest",
            batch_claim.encode_to_vec(),
        ),
        (
            "Ownership/BatchReport",
            Work,
            "BatchReportRequest",
            batch_report.encode_to_vec(),
        ),
        (
            "Ownership/Session",
            Observe,
            "SessionRequest",
            session.encode_to_vec(),
        ),
        (
            "Ledger/GetAction",
            Read,
            "GetActionRequest",
            sample::get().encode_to_vec(),
        ),
        (
            "Ledger/ListActions",
            Read,
            "ListActionsRequest",
            sample::list().encode_to_vec(),
        ),
        (
            "Ledger/ListEvents",
            Read,
            "ListEventsRequest",
            sample::events().encode_to_vec(),
        ),
        (
            "Ledger/WatchActions",
            Read,
            "WatchActionsRequest",
            watch.encode_to_vec(),
        ),
        (
            "Ledger/WaitAction",
            Read,
            "WaitActionRequest",
            wait.encode_to_vec(),
        ),
        ("Ledger/GetStats", Read, "GetStatsRequest", stats.encode_to_vec()),
        (
            "Operations/Approve",
            Decide,
            "ApproveRequest",
            sample::approve().encode_to_vec(),
        ),
        (
            "Operations/Deny",
            Decide,
            "DenyRequest",
            sample::deny().encode_to_vec(),
        ),
        (
            "Operations/Assign",
            Decide,
            "AssignRequest",
            sample::assign().encode_to_vec(),
        ),
        (
            "Operations/Resolve",
            Decide,
            "ResolveRequest",
            sample::resolves().remove(0).encode_to_vec(),
        ),
        (
            "Operations/Reopen",
            Decide,
            "ReopenRequest",
            sample::reopen().encode_to_vec(),
        ),
        (
            "Operations/Acknowledge",
            Decide,
            "AcknowledgeRequest",
            sample::acknowledge().encode_to_vec(),
        ),
    ]
}

/// The same message about another namespace.
pub fn moved(message: &str, bytes: &[u8], namespace: &str) -> Vec<u8> {
    let all = leaves(message);
    let mut places = all
        .iter()
        .filter(|leaf| leaf.path().rsplit('.').next() == Some("namespace"));
    let sets = |steps: &[_]| spoil(bytes, steps, Value::Bytes(namespace.as_bytes()));
    match message {
        // A choice: the alternative that the sample has.
        "ObserveRequest" => sets(&places.find(|leaf| leaf.path() == "key.namespace").unwrap().steps),
        "SessionRequest" => sets(
            &places
                .find(|leaf| leaf.path() == "observe.key.namespace")
                .unwrap()
                .steps,
        ),
        _ => sets(&places.next().unwrap().steps),
    }
}

/// What became of a call: of the whole, or of its one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    Answered,
    Refused(Code, String, String),
}

fn told(path: &str, answer: Result<Vec<u8>, Status>) -> Told {
    let bytes = match answer {
        Ok(bytes) => bytes,
        Err(status) => return Told::Refused(status.code(), reason(&status), status.message().to_owned()),
    };
    let entry = match path {
        "Ownership/Renew" => match v1::RenewResponse::decode(&bytes[..])
            .unwrap()
            .results
            .remove(0)
            .result
        {
            Some(renew_result::Result::Error(error)) => Some(error),
            _ => None,
        },
        "Ownership/BatchClaim" | "Ownership/BatchReport" => {
            match v1::BatchClaimResponse::decode(&bytes[..])
                .unwrap()
                .results
                .remove(0)
                .result
            {
                Some(batch_result::Result::Error(error)) => Some(error),
                _ => None,
            }
        }
        "Ownership/Session" => match v1::SessionResponse::decode(&bytes[..]).unwrap().outcome {
            Some(session_response::Outcome::Error(error)) => Some(error),
            _ => None,
        },
        _ => None,
    };
    entry.map_or(Told::Answered, |error| {
        Told::Refused(Code::from_i32(error.code), error.reason, error.message)
    })
}

impl Told {
    pub fn role_missing(&self) -> bool {
        matches!(self, Self::Refused(Code::PermissionDenied, reason, _) if reason == "ROLE_MISSING")
    }

    /// This server does not serve it yet. The rule holds from the day on which it does.
    pub fn not_served(&self) -> bool {
        matches!(self, Self::Refused(Code::Unimplemented, reason, _) if reason == "CALL_NOT_SERVED")
    }
}

/// A stream that was let in may have nothing to say for a while; what is refused is refused at once.
const SILENCE: Duration = Duration::from_secs(2);

pub async fn call(channel: &Channel, token: &SecretString, path: &str, bytes: &[u8]) -> Told {
    let (full, shows) = (format!("/deed.v1.{path}"), Shows::token(token));
    let answer = raw(channel, &shows, &full, bytes.to_vec());
    match timeout(SILENCE, answer).await {
        Ok(answer) => told(path, answer),
        Err(_silent) => Told::Answered,
    }
}
