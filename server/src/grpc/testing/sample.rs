//! Valid messages with every field set, one for each alternative of a choice.

use deed_proto::v1;
use prost_types::Duration;

pub fn seconds(seconds: i64) -> Option<Duration> {
    Some(Duration { seconds, nanos: 0 })
}

pub fn key() -> Option<v1::ActionKey> {
    Some(v1::ActionKey {
        namespace: "shop".to_owned(),
        action_id: "order-4821/charge".to_owned(),
    })
}

pub fn request_id() -> String {
    "0a2b6a52-6c41-4bd1-8f4a-0a6b5a6f8f10".to_owned()
}

pub fn input_hash() -> Option<v1::InputHash> {
    Some(v1::InputHash {
        scheme: "jcs-sha256".to_owned(),
        digest: vec![7; 32],
    })
}

pub fn contract() -> v1::Contract {
    use v1::{deduplication, verification};
    v1::Contract {
        effect_class: v1::EffectClass::Reversible.into(),
        asynchronous: false,
        deduplication: Some(v1::Deduplication {
            kind: Some(deduplication::Kind::IdempotencyKey(
                deduplication::IdempotencyKey {
                    window: seconds(86_400),
                },
            )),
        }),
        confirm_by: v1::ConfirmBy::Receipt.into(),
        verification: Some(v1::Verification {
            kind: Some(verification::Kind::Postcondition(verification::Postcondition {
                settle_window: seconds(30),
                effect_deadline: seconds(3_600),
            })),
        }),
        external_id: v1::ExternalIdMeaning::IdentifiesEffect.into(),
        retry: Some(v1::Retry {
            max_attempts: Some(3),
            initial_backoff: seconds(1),
            multiplier: Some(2.5),
            max_backoff: seconds(300),
            total_budget: seconds(86_400),
            max_verifications: Some(20),
        }),
        send_timeout: seconds(20),
        lease: seconds(30),
        max_hold: seconds(600),
        on_partial: v1::OnPartial::Resume.into(),
        approval: v1::Approval::None.into(),
    }
}

pub fn specification() -> v1::Specification {
    v1::Specification {
        tool: "charge_card".to_owned(),
        input_hash: input_hash(),
        expected_effect: Some(v1::ExpectedEffect {
            description: "The card is charged once.".to_owned(),
            facts: vec!["row_exists".to_owned(), "mail_published".to_owned()],
        }),
        contract: Some(contract()),
        labels: vec![v1::Label {
            key: "run".to_owned(),
            value: "run-17".to_owned(),
        }],
    }
}

pub fn claim() -> v1::ClaimRequest {
    v1::ClaimRequest {
        key: key(),
        owner: "worker-1".to_owned(),
        request_id: request_id(),
        specification: Some(specification()),
        begin: true,
    }
}

pub fn plan() -> v1::PlanRequest {
    v1::PlanRequest {
        key: key(),
        owner: "worker-1".to_owned(),
        request_id: request_id(),
        specification: Some(specification()),
    }
}

pub fn begin() -> v1::BeginRequest {
    v1::BeginRequest {
        key: key(),
        owner: "worker-1".to_owned(),
        request_id: request_id(),
        fencing_token: 5,
    }
}

pub fn release() -> v1::ReleaseRequest {
    v1::ReleaseRequest {
        key: key(),
        owner: "worker-1".to_owned(),
        request_id: request_id(),
        fencing_token: 5,
    }
}

pub fn renew() -> v1::RenewRequest {
    v1::RenewRequest {
        owner: "worker-1".to_owned(),
        request_id: request_id(),
        leases: vec![v1::RenewEntry {
            key: key(),
            fencing_token: 5,
        }],
    }
}

pub fn receipts() -> Vec<v1::Receipt> {
    use v1::receipt::{self, Kind};
    let kinds = [
        Kind::Completed(receipt::Completed {
            external_id: "ch_1".to_owned(),
            result: Some(b"{}".to_vec()),
        }),
        Kind::Accepted(receipt::Accepted {
            external_id: "job_1".to_owned(),
            retry_after: seconds(5),
        }),
        Kind::Rejected(receipt::Rejected {
            reason: "card declined".to_owned(),
        }),
        Kind::NotApplied(receipt::NotApplied {
            retry_after: seconds(5),
            reason: "429".to_owned(),
        }),
        Kind::NotSent(receipt::NotSent {
            reason: v1::NotSentReason::Shutdown.into(),
            detail: "SIGTERM".to_owned(),
        }),
        Kind::Unknown(receipt::Unknown {
            reason: "timeout".to_owned(),
            ended: true,
        }),
    ];
    kinds
        .into_iter()
        .map(|kind| v1::Receipt { kind: Some(kind) })
        .collect()
}

pub fn report(receipt: v1::Receipt) -> v1::ReportRequest {
    v1::ReportRequest {
        key: key(),
        owner: "worker-1".to_owned(),
        request_id: request_id(),
        fencing_token: 5,
        receipt: Some(receipt),
        then: v1::Then::Grant.into(),
        specification: Some(specification()),
    }
}

pub fn observations() -> Vec<v1::Observation> {
    use v1::observation::{self, Verdict};
    let verdicts = [
        Verdict::Confirmed(observation::Confirmed {
            external_id: "ch_1".to_owned(),
            result: Some(b"{}".to_vec()),
        }),
        Verdict::Pending(observation::Pending {
            retry_after: seconds(5),
        }),
        Verdict::Failed(observation::Failed {
            external_id: "job_1".to_owned(),
            attempt: 1,
            reason: "no funds".to_owned(),
        }),
        Verdict::NotFound(observation::NotFound {}),
        Verdict::Partial(observation::Partial {}),
        Verdict::Unknown(observation::Unknown {
            reason: "timeout".to_owned(),
        }),
    ];
    let observation = |verdict| v1::Observation {
        verdict: Some(verdict),
        facts: vec![v1::FactSeen {
            name: "row_exists".to_owned(),
            seen: v1::Seen::True.into(),
        }],
        detail: "SELECT".to_owned(),
    };
    verdicts.into_iter().map(observation).collect()
}

pub fn verify(observation: v1::Observation) -> v1::VerifyRequest {
    v1::VerifyRequest {
        key: key(),
        owner: "worker-1".to_owned(),
        request_id: request_id(),
        fencing_token: 5,
        observation: Some(observation),
        then: v1::Then::BegunGrant.into(),
    }
}

/// The first three verdicts need no grant.
pub fn observes() -> Vec<v1::ObserveRequest> {
    use v1::observe_request::{External, Target};
    let external = Target::External(External {
        namespace: "shop".to_owned(),
        tool: "charge_card".to_owned(),
        external_id: "ch_1".to_owned(),
    });
    let targets = [key().map(Target::Key), Some(external)];
    let pairs = targets.into_iter().flat_map(|target| {
        observations()
            .into_iter()
            .take(3)
            .map(move |seen| (target.clone(), seen))
    });
    pairs
        .map(|(target, observation)| v1::ObserveRequest {
            target,
            owner: "webhook".to_owned(),
            request_id: request_id(),
            observation: Some(observation),
        })
        .collect()
}

pub fn approve() -> v1::ApproveRequest {
    v1::ApproveRequest {
        key: key(),
        request_id: request_id(),
        version: 1,
        note: "checked".to_owned(),
        input_hash: input_hash(),
    }
}

pub fn deny() -> v1::DenyRequest {
    v1::DenyRequest {
        key: key(),
        request_id: request_id(),
        version: 1,
        note: "no".to_owned(),
    }
}

pub fn assign() -> v1::AssignRequest {
    v1::AssignRequest {
        key: key(),
        request_id: request_id(),
        version: 1,
        note: "on call".to_owned(),
        assignee: "ana".to_owned(),
    }
}

pub fn resolves() -> Vec<v1::ResolveRequest> {
    use v1::resolve_request::{self as wire, Resolution};
    let resolutions = [
        Resolution::Confirmed(wire::Confirmed {
            external_id: "ch_1".to_owned(),
        }),
        Resolution::Absent(wire::Absent {}),
        Resolution::Rejected(wire::Rejected {}),
        Resolution::Compensated(wire::Compensated {
            compensating_action: "order-4821/refund".to_owned(),
        }),
        Resolution::Abandoned(wire::Abandoned {}),
    ];
    let resolve = |resolution| v1::ResolveRequest {
        key: key(),
        request_id: request_id(),
        version: 1,
        note: "looked it up".to_owned(),
        proof_reference: "TICKET-1".to_owned(),
        resolution: Some(resolution),
    };
    resolutions.into_iter().map(resolve).collect()
}

pub fn reopen() -> v1::ReopenRequest {
    v1::ReopenRequest {
        key: key(),
        request_id: request_id(),
        version: 1,
        note: "mended".to_owned(),
        proof_reference: "TICKET-1".to_owned(),
        new_key: true,
    }
}

pub fn acknowledge() -> v1::AcknowledgeRequest {
    v1::AcknowledgeRequest {
        key: key(),
        request_id: request_id(),
        version: 1,
        note: "seen".to_owned(),
        flag: v1::Flag::Ungated.into(),
    }
}

pub fn list() -> v1::ListActionsRequest {
    v1::ListActionsRequest {
        namespace: "shop".to_owned(),
        states: vec![v1::State::Unknown.into()],
        tools: vec!["charge_card".to_owned()],
        owner: "worker-1".to_owned(),
        labels: vec![v1::Label {
            key: "run".to_owned(),
            value: "run-17".to_owned(),
        }],
        lease: v1::LeaseFilter::Live.into(),
        needs_operator: true,
        unclaimed_since: Some(prost_types::Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
        }),
        action_id_prefix: "order-".to_owned(),
        assignee: "ana".to_owned(),
        flags: vec![v1::Flag::Ungated.into()],
        order_by: v1::ActionOrder::CreatedAsc.into(),
        page_size: 10,
        page_token: String::new(),
    }
}

pub fn events() -> v1::ListEventsRequest {
    v1::ListEventsRequest {
        key: key(),
        page_size: 10,
        page_token: String::new(),
    }
}

pub fn wait() -> v1::WaitActionRequest {
    v1::WaitActionRequest {
        key: key(),
        known_version: 3,
        timeout: seconds(5),
        until: v1::WaitUntil::Changed.into(),
    }
}

pub fn get() -> v1::GetActionRequest {
    v1::GetActionRequest { key: key() }
}
