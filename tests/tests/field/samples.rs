//! A valid message for every call, about a real action, from which tests make invalid ones.

use deed_client::{Contract, Observation, Receipt, hours, seconds};
use deed_proto::v1;
use deed_tests::support::work::{Told, Work, Worker, request_id};
use prost::Message;

/// One call: its method, its message's name, and valid samples that between them reach every field.
pub struct Call {
    pub method: &'static str,
    pub message: &'static str,
    pub samples: Vec<Vec<u8>>,
}

fn call<M: Message>(method: &'static str, message: &'static str, samples: Vec<M>) -> Call {
    Call {
        method,
        message,
        samples: samples.iter().map(Message::encode_to_vec).collect(),
    }
}

/// An action with everything set that can be.
pub fn work(action_id: &str) -> Work {
    let contract = Contract::idempotency_key(hours(24)).verified(seconds(1));
    let mut work = Work::new(action_id, &contract).with_facts(&["row_exists", "mail_published"]);
    work.specification.labels.push(v1::Label {
        key: "run".to_owned(),
        value: "run-17".to_owned(),
    });
    work
}

fn receipts() -> Vec<Receipt> {
    vec![
        Receipt::completed("ch-1").with_result("{}"),
        Receipt::accepted("job-1", seconds(1)),
        Receipt::rejected("declined"),
        Receipt::not_applied(seconds(1), "429"),
        Receipt::not_sent(deed_client::NotSentReason::Other, "no input"),
        Receipt::unknown("timed out").ended(),
    ]
}

fn observations() -> Vec<Observation> {
    let seen = vec![
        Observation::confirmed("ch-1").with_result("{}"),
        Observation::not_found(),
        Observation::pending(seconds(1)),
        Observation::failed("job-1", "no funds"),
        Observation::partial(),
        Observation::unknown("timed out"),
    ];
    let detailed = |seen: Observation| seen.detail("SELECT").fact("row_exists", deed_client::Seen::True);
    seen.into_iter().map(detailed).collect()
}

/// Samples of every call that is served, about this action and under this token.
pub fn calls(work: &Work, fencing_token: u64, version: u64) -> Vec<Call> {
    let key = || Some(work.key.clone());
    let specification = || Some(work.specification.clone());
    let owner = || "w1".to_owned();
    let report = |receipt: Receipt| v1::ReportRequest {
        key: key(),
        owner: owner(),
        request_id: request_id(),
        fencing_token,
        receipt: Some(receipt.to_wire()),
        then: v1::Then::Grant.into(),
        specification: specification(),
    };
    let verify = |observation: Observation| v1::VerifyRequest {
        key: key(),
        owner: owner(),
        request_id: request_id(),
        fencing_token,
        observation: Some(observation.to_wire()),
        then: v1::Then::BegunGrant.into(),
    };
    let external = v1::observe_request::External {
        namespace: work.key.namespace.clone(),
        tool: work.specification.tool.clone(),
        external_id: "ch-1".to_owned(),
    };
    let targets = [
        v1::observe_request::Target::Key(work.key.clone()),
        v1::observe_request::Target::External(external),
    ];
    let observes = targets.into_iter().flat_map(|target| {
        observations()
            .into_iter()
            .map(move |observation| v1::ObserveRequest {
                target: Some(target.clone()),
                owner: "w1".to_owned(),
                request_id: request_id(),
                observation: Some(observation.to_wire()),
            })
    });
    let lease = v1::RenewEntry {
        key: key(),
        fencing_token,
    };
    let mut calls = vec![
        call(
            "Ownership/Plan",
            "PlanRequest",
            vec![v1::PlanRequest {
                key: key(),
                owner: owner(),
                request_id: request_id(),
                specification: specification(),
            }],
        ),
        call(
            "Ownership/Claim",
            "ClaimRequest",
            vec![v1::ClaimRequest {
                key: key(),
                owner: owner(),
                request_id: request_id(),
                specification: specification(),
                begin: true,
            }],
        ),
        call(
            "Ownership/Begin",
            "BeginRequest",
            vec![v1::BeginRequest {
                key: key(),
                owner: owner(),
                request_id: request_id(),
                fencing_token,
            }],
        ),
        call(
            "Ownership/Report",
            "ReportRequest",
            receipts().into_iter().map(report).collect(),
        ),
        call(
            "Ownership/Verify",
            "VerifyRequest",
            observations().into_iter().map(verify).collect(),
        ),
        call(
            "Ownership/Renew",
            "RenewRequest",
            vec![v1::RenewRequest {
                owner: owner(),
                request_id: request_id(),
                leases: vec![lease],
            }],
        ),
        call(
            "Ownership/Release",
            "ReleaseRequest",
            vec![v1::ReleaseRequest {
                key: key(),
                owner: owner(),
                request_id: request_id(),
                fencing_token,
            }],
        ),
        call("Ownership/Observe", "ObserveRequest", observes.collect()),
    ];
    calls.extend(reads(work));
    calls.extend(decisions(work, version));
    calls
}

/// Every sample of every call, about an action whose execution has begun.
pub async fn begun(worker: &Worker, id: &str) -> anyhow::Result<Vec<Call>> {
    let work = work(id);
    let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
    let version = worker.screen().action(&work).await?.version;
    Ok(calls(&work, token, version))
}

fn reads(work: &Work) -> Vec<Call> {
    let key = || Some(work.key.clone());
    let listing = v1::ListActionsRequest {
        namespace: work.key.namespace.clone(),
        states: vec![v1::State::Sent.into()],
        tools: vec![work.specification.tool.clone()],
        owner: "w1".to_owned(),
        labels: work.specification.labels.clone(),
        lease: v1::LeaseFilter::Live.into(),
        needs_operator: true,
        unclaimed_since: Some(prost_types::Timestamp::default()),
        action_id_prefix: "order".to_owned(),
        assignee: "alice".to_owned(),
        flags: vec![v1::Flag::Ungated.into()],
        order_by: v1::ActionOrder::CreatedAsc.into(),
        page_size: 10,
        page_token: String::new(),
    };
    vec![
        call(
            "Ledger/GetAction",
            "GetActionRequest",
            vec![v1::GetActionRequest { key: key() }],
        ),
        call("Ledger/ListActions", "ListActionsRequest", vec![listing]),
        call(
            "Ledger/ListEvents",
            "ListEventsRequest",
            vec![v1::ListEventsRequest {
                key: key(),
                page_size: 10,
                page_token: String::new(),
            }],
        ),
        call(
            "Ledger/WaitAction",
            "WaitActionRequest",
            vec![v1::WaitActionRequest {
                key: key(),
                known_version: 1,
                timeout: Some(prost_types::Duration::default()),
                until: v1::WaitUntil::Changed.into(),
            }],
        ),
    ]
}

fn decisions(work: &Work, version: u64) -> Vec<Call> {
    use v1::resolve_request::{Abandoned, Absent, Compensated, Confirmed, Rejected, Resolution};
    let key = || Some(work.key.clone());
    let note = || "by hand".to_owned();
    let resolutions = [
        Resolution::Confirmed(Confirmed {
            external_id: "ch-1".to_owned(),
        }),
        Resolution::Absent(Absent {}),
        Resolution::Rejected(Rejected {}),
        Resolution::Compensated(Compensated {
            compensating_action: "order-1/refund".to_owned(),
        }),
        Resolution::Abandoned(Abandoned {}),
    ];
    let resolve = |resolution| v1::ResolveRequest {
        key: key(),
        request_id: request_id(),
        version,
        note: note(),
        proof_reference: "ticket 17".to_owned(),
        resolution: Some(resolution),
    };
    vec![
        call(
            "Operations/Approve",
            "ApproveRequest",
            vec![v1::ApproveRequest {
                key: key(),
                request_id: request_id(),
                version,
                note: note(),
                input_hash: work.specification.input_hash.clone(),
            }],
        ),
        call(
            "Operations/Deny",
            "DenyRequest",
            vec![v1::DenyRequest {
                key: key(),
                request_id: request_id(),
                version,
                note: note(),
            }],
        ),
        call(
            "Operations/Assign",
            "AssignRequest",
            vec![v1::AssignRequest {
                key: key(),
                request_id: request_id(),
                version,
                note: note(),
                assignee: "alice".to_owned(),
            }],
        ),
        call(
            "Operations/Resolve",
            "ResolveRequest",
            resolutions.into_iter().map(resolve).collect(),
        ),
        call(
            "Operations/Reopen",
            "ReopenRequest",
            vec![v1::ReopenRequest {
                key: key(),
                request_id: request_id(),
                version,
                note: note(),
                proof_reference: "ticket 17".to_owned(),
                new_key: true,
            }],
        ),
        call(
            "Operations/Acknowledge",
            "AcknowledgeRequest",
            vec![v1::AcknowledgeRequest {
                key: key(),
                request_id: request_id(),
                version,
                note: note(),
                flag: v1::Flag::Ungated.into(),
            }],
        ),
    ]
}
