//! A story's call as messages. Written out by hand, not by the server's or the client's own code.

use deed_core::action::Flag;
use deed_core::command::Then;
use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::text::ExternalId;
use deed_proto::v1;

use super::specification::{key, span, specification};
use crate::story::engine::Call;
use crate::story::script::Resolution;

/// `Plan`.
pub fn plan(call: &Call<'_>) -> v1::PlanRequest {
    v1::PlanRequest {
        key: Some(key(call.action)),
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        specification: Some(specification(call.action)),
    }
}

/// `Claim`.
pub fn claim(call: &Call<'_>, begin: bool) -> v1::ClaimRequest {
    v1::ClaimRequest {
        key: Some(key(call.action)),
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        specification: Some(specification(call.action)),
        begin,
    }
}

/// `Begin`.
pub fn begin(call: &Call<'_>, token: u64) -> v1::BeginRequest {
    v1::BeginRequest {
        key: Some(key(call.action)),
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        fencing_token: token,
    }
}

/// `Report`.
pub fn report(
    call: &Call<'_>,
    token: u64,
    receipt: &Receipt,
    after: Then,
    specified: bool,
) -> v1::ReportRequest {
    v1::ReportRequest {
        key: Some(key(call.action)),
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        fencing_token: token,
        receipt: Some(self::receipt(receipt)),
        then: then(after).into(),
        specification: specified.then(|| specification(call.action)),
    }
}

/// `Verify`.
pub fn verify(call: &Call<'_>, token: u64, observation: &Observation, after: Then) -> v1::VerifyRequest {
    v1::VerifyRequest {
        key: Some(key(call.action)),
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        fencing_token: token,
        observation: Some(self::observation(observation)),
        then: then(after).into(),
    }
}

/// `Renew`, of one lease.
pub fn renew(call: &Call<'_>, token: u64) -> v1::RenewRequest {
    v1::RenewRequest {
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        leases: vec![v1::RenewEntry {
            key: Some(key(call.action)),
            fencing_token: token,
        }],
    }
}

/// `Release`.
pub fn release(call: &Call<'_>, token: u64) -> v1::ReleaseRequest {
    v1::ReleaseRequest {
        key: Some(key(call.action)),
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        fencing_token: token,
    }
}

/// `Observe`, by key or by external id.
pub fn observe(call: &Call<'_>, observation: &Observation, via: Option<&str>) -> v1::ObserveRequest {
    use v1::observe_request::{External, Target};
    let target = match via {
        None => Target::Key(key(call.action)),
        Some(external_id) => Target::External(External {
            namespace: call.action.namespace.clone(),
            tool: call.action.tool.clone(),
            external_id: external_id.to_owned(),
        }),
    };
    v1::ObserveRequest {
        target: Some(target),
        owner: call.who.to_owned(),
        request_id: call.request.to_string(),
        observation: Some(self::observation(observation)),
    }
}

fn then(then: Then) -> v1::Then {
    match then {
        Then::Nothing => v1::Then::Nothing,
        Then::Grant => v1::Then::Grant,
        Then::BegunGrant => v1::Then::BegunGrant,
    }
}

fn named(external_id: Option<&ExternalId>) -> String {
    external_id.map(ToString::to_string).unwrap_or_default()
}

fn receipt(receipt: &Receipt) -> v1::Receipt {
    use v1::receipt::{self as wire, Kind};
    let kind = match receipt {
        Receipt::Completed { external_id, result } => Kind::Completed(wire::Completed {
            external_id: named(external_id.as_ref()),
            result: result.clone(),
        }),
        Receipt::Accepted {
            external_id,
            retry_after,
        } => Kind::Accepted(wire::Accepted {
            external_id: named(external_id.as_ref()),
            retry_after: Some(span(*retry_after)),
        }),
        Receipt::Rejected { reason } => Kind::Rejected(wire::Rejected {
            reason: reason.to_string(),
        }),
        Receipt::NotApplied { retry_after, reason } => Kind::NotApplied(wire::NotApplied {
            retry_after: Some(span(*retry_after)),
            reason: reason.to_string(),
        }),
        Receipt::NotSent { reason, detail } => Kind::NotSent(wire::NotSent {
            reason: match reason {
                NotSentReason::LeaseNotLive => v1::NotSentReason::GuardRefused,
                NotSentReason::NotConnected => v1::NotSentReason::ConnectionNotEstablished,
                NotSentReason::Cancelled => v1::NotSentReason::CancelledBeforeSend,
                NotSentReason::InputUnavailable => v1::NotSentReason::InputUnavailable,
                NotSentReason::ShuttingDown => v1::NotSentReason::Shutdown,
                NotSentReason::Other => v1::NotSentReason::Other,
            }
            .into(),
            detail: detail.to_string(),
        }),
        Receipt::Unknown { reason, ended } => Kind::Unknown(wire::Unknown {
            reason: reason.to_string(),
            ended: *ended,
        }),
    };
    v1::Receipt { kind: Some(kind) }
}

fn observation(observation: &Observation) -> v1::Observation {
    use v1::observation::{self as wire, Verdict as Kind};
    let verdict = match &observation.verdict {
        Verdict::Confirmed { external_id, result } => Kind::Confirmed(wire::Confirmed {
            external_id: named(external_id.as_ref()),
            result: result.clone(),
        }),
        Verdict::NotFound => Kind::NotFound(wire::NotFound {}),
        Verdict::Pending { retry_after } => Kind::Pending(wire::Pending {
            retry_after: retry_after.map(span),
        }),
        Verdict::Failed {
            external_id,
            attempt,
            reason,
        } => Kind::Failed(wire::Failed {
            external_id: named(external_id.as_ref()),
            attempt: attempt.unwrap_or_default(),
            reason: reason.to_string(),
        }),
        Verdict::Partial => Kind::Partial(wire::Partial {}),
        Verdict::Unknown { reason } => Kind::Unknown(wire::Unknown {
            reason: reason.to_string(),
        }),
    };
    let facts = observation.facts.iter();
    v1::Observation {
        verdict: Some(verdict),
        facts: facts
            .map(|(name, seen)| v1::FactSeen {
                name: name.to_string(),
                seen: match seen {
                    Seen::True => v1::Seen::True,
                    Seen::False => v1::Seen::False,
                    Seen::NotSeen => v1::Seen::NotSeen,
                }
                .into(),
            })
            .collect(),
        detail: observation.detail.to_string(),
    }
}

/// What happened, by an operator's word.
pub fn resolution(resolution: &Resolution) -> v1::resolve_request::Resolution {
    use v1::resolve_request::{self as wire, Resolution as Kind};
    match resolution {
        Resolution::Confirmed(external_id) => Kind::Confirmed(wire::Confirmed {
            external_id: external_id.clone().unwrap_or_default(),
        }),
        Resolution::Absent => Kind::Absent(wire::Absent {}),
        Resolution::Rejected => Kind::Rejected(wire::Rejected {}),
        Resolution::Compensated(by) => Kind::Compensated(wire::Compensated {
            compensating_action: by.clone(),
        }),
        Resolution::Abandoned => Kind::Abandoned(wire::Abandoned {}),
    }
}

/// One of the marks.
pub fn flag(flag: Flag) -> v1::Flag {
    match flag {
        Flag::DuplicateSuspected => v1::Flag::DuplicateSuspected,
        Flag::Contradicted => v1::Flag::Contradicted,
        Flag::Ungated => v1::Flag::Ungated,
    }
}
