//! Evidence: receipts and observations. Refuses text and sizes, never a fact: what evidence means is the core's.

use std::collections::BTreeMap;

use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::spec::Specification;
use deed_core::text::FactName;
use deed_core::time::Span;
use deed_proto::v1;

use super::number::known;
use super::text::{bounded, external_id, fact, note};
use super::time::retry_after;
use super::{At, Invalid, required};

/// 256 KiB: what a caller that asks later can be told within one ordinary message. Larger results belong in a store of
/// their own, and their address here.
pub const MAX_RESULT_BYTES: usize = 262_144;

fn result(bytes: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Invalid> {
    match &bytes {
        Some(large) if large.len() > MAX_RESULT_BYTES => {
            let reason = format!(
                "has {} bytes; at most {MAX_RESULT_BYTES} are allowed: keep it elsewhere and store its address",
                large.len()
            );
            Err(Invalid::because(reason)).at("result")
        }
        _ => Ok(bytes),
    }
}

/// A receipt, with its path.
pub fn receipt(message: Option<v1::Receipt>) -> Result<Receipt, Invalid> {
    let message = required(message, "receipt")?;
    let Some(kind) = message.kind else {
        let reason = "must say one of: completed, accepted, rejected, not_applied, not_sent, unknown";
        return Err(Invalid::because(reason)).at("receipt");
    };
    receipt_kind(kind).at("receipt")
}

fn receipt_kind(kind: v1::receipt::Kind) -> Result<Receipt, Invalid> {
    use v1::receipt::Kind;
    match kind {
        Kind::Completed(it) => (|| {
            Ok(Receipt::Completed {
                external_id: external_id(it.external_id)?,
                result: result(it.result)?,
            })
        })()
        .at("completed"),
        Kind::Accepted(it) => (|| {
            Ok(Receipt::Accepted {
                external_id: external_id(it.external_id)?,
                retry_after: retry_after(it.retry_after)?,
            })
        })()
        .at("accepted"),
        Kind::Rejected(it) => note(it.reason, "reason")
            .map(|reason| Receipt::Rejected { reason })
            .at("rejected"),
        Kind::NotApplied(it) => (|| {
            Ok(Receipt::NotApplied {
                retry_after: retry_after(it.retry_after)?,
                reason: note(it.reason, "reason")?,
            })
        })()
        .at("not_applied"),
        Kind::NotSent(it) => (|| {
            Ok(Receipt::NotSent {
                reason: not_sent_reason(it.reason)?,
                detail: note(it.detail, "detail")?,
            })
        })()
        .at("not_sent"),
        Kind::Unknown(it) => note(it.reason, "reason")
            .map(|reason| Receipt::Unknown {
                reason,
                ended: it.ended,
            })
            .at("unknown"),
    }
}

fn not_sent_reason(number: i32) -> Result<NotSentReason, Invalid> {
    Ok(match known(number, "reason")? {
        v1::NotSentReason::Unspecified => return Err(Invalid::missing()).at("reason"),
        v1::NotSentReason::GuardRefused => NotSentReason::LeaseNotLive,
        v1::NotSentReason::ConnectionNotEstablished => NotSentReason::NotConnected,
        v1::NotSentReason::CancelledBeforeSend => NotSentReason::Cancelled,
        v1::NotSentReason::InputUnavailable => NotSentReason::InputUnavailable,
        v1::NotSentReason::Shutdown => NotSentReason::ShuttingDown,
        v1::NotSentReason::Other => NotSentReason::Other,
    })
}

/// An observation, with its path.
pub fn observation(message: Option<v1::Observation>) -> Result<Observation, Invalid> {
    let message = required(message, "observation")?;
    let Some(verdict) = message.verdict else {
        let reason = "must say one of: confirmed, not_found, pending, failed, partial, unknown";
        return Err(Invalid::because(reason)).at("observation");
    };
    let parse = || {
        Ok(Observation {
            verdict: self::verdict(verdict)?,
            facts: facts(message.facts)?,
            detail: note(message.detail, "detail")?,
        })
    };
    parse().at("observation")
}

/// An observation without a lease, with its path: it can prove or disprove, but its doubt decides nothing.
pub fn witness(message: Option<v1::Observation>) -> Result<Observation, Invalid> {
    let parsed = observation(message)?;
    match parsed.verdict {
        Verdict::Confirmed { .. } | Verdict::Pending { .. } | Verdict::Failed { .. } => Ok(parsed),
        Verdict::NotFound | Verdict::Partial | Verdict::Unknown { .. } => {
            let reason = "must say one of: confirmed, pending, failed; the others need a grant to verify";
            Err(Invalid::because(reason)).at("observation")
        }
    }
}

fn verdict(verdict: v1::observation::Verdict) -> Result<Verdict, Invalid> {
    use v1::observation::Verdict as Kind;
    match verdict {
        Kind::Confirmed(it) => (|| {
            Ok(Verdict::Confirmed {
                external_id: external_id(it.external_id)?,
                result: result(it.result)?,
            })
        })()
        .at("confirmed"),
        Kind::NotFound(_) => Ok(Verdict::NotFound),
        Kind::Pending(it) => {
            let asked = retry_after(it.retry_after).at("pending")?;
            let retry_after = (asked != Span::ZERO).then_some(asked);
            Ok(Verdict::Pending { retry_after })
        }
        Kind::Failed(it) => (|| {
            Ok(Verdict::Failed {
                external_id: external_id(it.external_id)?,
                attempt: (it.attempt != 0).then_some(it.attempt),
                reason: note(it.reason, "reason")?,
            })
        })()
        .at("failed"),
        Kind::Partial(_) => Ok(Verdict::Partial),
        Kind::Unknown(it) => note(it.reason, "reason")
            .map(|reason| Verdict::Unknown { reason })
            .at("unknown"),
    }
}

fn facts(messages: Vec<v1::FactSeen>) -> Result<BTreeMap<FactName, Seen>, Invalid> {
    bounded(messages.len(), Specification::MAX_FACTS).at("facts")?;
    let mut facts = BTreeMap::new();
    for (index, message) in messages.into_iter().enumerate() {
        let parse = || Ok((fact(message.name, "name")?, seen(message.seen)?));
        let (name, seen) = parse().at_entry("facts", index)?;
        if facts.insert(name, seen).is_some() {
            return Err(Invalid::because("names a fact a second time")).at_entry("facts", index);
        }
    }
    Ok(facts)
}

fn seen(number: i32) -> Result<Seen, Invalid> {
    Ok(match known(number, "seen")? {
        v1::Seen::Unspecified => return Err(Invalid::missing()).at("seen"),
        v1::Seen::True => Seen::True,
        v1::Seen::False => Seen::False,
        v1::Seen::NotSeen => Seen::NotSeen,
    })
}
