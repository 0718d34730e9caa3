//! Evidence, as the history keeps it.

use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::time::Span;
use deed_proto::v1;

use super::step::text;
use super::time;

/// A receipt.
pub fn receipt(receipt: Receipt) -> v1::Receipt {
    use v1::receipt::{self as wire, Kind};
    let kind = match receipt {
        Receipt::Completed { external_id, result } => Kind::Completed(wire::Completed {
            external_id: text(external_id.as_ref()),
            result,
        }),
        Receipt::Accepted {
            external_id,
            retry_after,
        } => Kind::Accepted(wire::Accepted {
            external_id: text(external_id.as_ref()),
            retry_after: Some(time::span(retry_after)),
        }),
        Receipt::Rejected { reason } => Kind::Rejected(wire::Rejected {
            reason: reason.to_string(),
        }),
        Receipt::NotApplied { retry_after, reason } => Kind::NotApplied(wire::NotApplied {
            retry_after: Some(time::span(retry_after)),
            reason: reason.to_string(),
        }),
        Receipt::NotSent { reason, detail } => Kind::NotSent(wire::NotSent {
            reason: not_sent_reason(reason).into(),
            detail: detail.to_string(),
        }),
        Receipt::Unknown { reason, ended } => Kind::Unknown(wire::Unknown {
            reason: reason.to_string(),
            ended,
        }),
    };
    v1::Receipt { kind: Some(kind) }
}

fn not_sent_reason(reason: NotSentReason) -> v1::NotSentReason {
    match reason {
        NotSentReason::LeaseNotLive => v1::NotSentReason::GuardRefused,
        NotSentReason::NotConnected => v1::NotSentReason::ConnectionNotEstablished,
        NotSentReason::Cancelled => v1::NotSentReason::CancelledBeforeSend,
        NotSentReason::InputUnavailable => v1::NotSentReason::InputUnavailable,
        NotSentReason::ShuttingDown => v1::NotSentReason::Shutdown,
        NotSentReason::Other => v1::NotSentReason::Other,
    }
}

/// An observation.
pub fn observation(observation: Observation) -> v1::Observation {
    let facts = observation.facts.into_iter();
    v1::Observation {
        verdict: Some(verdict(observation.verdict)),
        facts: facts.map(|(name, how)| fact_seen(name.as_str(), how)).collect(),
        detail: observation.detail.to_string(),
    }
}

fn verdict(verdict: Verdict) -> v1::observation::Verdict {
    use v1::observation::{self as wire, Verdict as Kind};
    match verdict {
        Verdict::Confirmed { external_id, result } => Kind::Confirmed(wire::Confirmed {
            external_id: text(external_id.as_ref()),
            result,
        }),
        Verdict::NotFound => Kind::NotFound(wire::NotFound {}),
        Verdict::Pending { retry_after } => Kind::Pending(wire::Pending {
            retry_after: Some(time::span(retry_after.unwrap_or(Span::ZERO))),
        }),
        Verdict::Failed {
            external_id,
            attempt,
            reason,
        } => Kind::Failed(wire::Failed {
            external_id: text(external_id.as_ref()),
            attempt: attempt.unwrap_or_default(),
            reason: reason.to_string(),
        }),
        Verdict::Partial => Kind::Partial(wire::Partial {}),
        Verdict::Unknown { reason } => Kind::Unknown(wire::Unknown {
            reason: reason.to_string(),
        }),
    }
}

/// One fact, as it was seen.
pub fn fact_seen(name: &str, how: Seen) -> v1::FactSeen {
    let seen = match how {
        Seen::True => v1::Seen::True,
        Seen::False => v1::Seen::False,
        Seen::NotSeen => v1::Seen::NotSeen,
    };
    v1::FactSeen {
        name: name.to_owned(),
        seen: seen.into(),
    }
}
