//! What an executor says about its one send.
//!
//! Owns honest words for what happened. It refuses to guess: whatever is not plainly an answer of the receiver is
//! *unknown*, and nothing becomes *completed* because a call returned. What follows is the service's decision.

use std::fmt::{self, Display};
use std::time::Duration;

use deed_proto::v1;
pub use deed_proto::v1::NotSentReason;
use v1::receipt::{Accepted, Completed, Kind, NotApplied, NotSent, Rejected, Unknown};

use crate::{span, text};

/// The longest result that the service keeps, in bytes.
pub(crate) const LARGEST_RESULT: usize = 256 * 1_024;

/// What the executor reports about its attempt.
#[derive(Clone, PartialEq)]
#[must_use]
pub struct Receipt(Kind);

impl Receipt {
    /// The effect came about; `external_id` is the receiver's name for it (empty: it has none).
    pub fn completed(external_id: impl AsRef<str>) -> Self {
        Self(Kind::Completed(Completed {
            external_id: text::key(external_id.as_ref()),
            result: None,
        }))
    }

    /// The receiver took the command; the effect is still to be seen, from `retry_after` on.
    pub fn accepted(external_id: impl AsRef<str>, retry_after: Duration) -> Self {
        Self(Kind::Accepted(Accepted {
            external_id: text::key(external_id.as_ref()),
            retry_after: Some(span::to_wire(retry_after)),
        }))
    }

    /// The receiver refused for good, before any effect. Final.
    pub fn rejected(reason: impl Display) -> Self {
        Self(Kind::Rejected(Rejected {
            reason: text::note(&reason.to_string()),
        }))
    }

    /// The receiver answered and did nothing: rate limit, lock, maintenance. The attempt counts.
    pub fn not_applied(retry_after: Duration, reason: impl Display) -> Self {
        Self(Kind::NotApplied(NotApplied {
            retry_after: Some(span::to_wire(retry_after)),
            reason: text::note(&reason.to_string()),
        }))
    }

    /// Proven: not one byte of the command left this process. It is believed, so only say what you know.
    pub fn not_sent(reason: NotSentReason, detail: impl Display) -> Self {
        Self(Kind::NotSent(NotSent {
            reason: reason.into(),
            detail: text::note(&detail.to_string()),
        }))
    }

    /// It may have happened: a timeout, a lost connection, an answer that does not decide. The send may still be under
    /// way; where it is surely over, say so with [`Receipt::ended`].
    pub fn unknown(reason: impl Display) -> Self {
        Self(Kind::Unknown(Unknown {
            reason: text::note(&reason.to_string()),
            ended: false,
        }))
    }

    /// Of an *unknown*: the call has returned, or can no longer leave this process. It is believed: absence counts sooner.
    pub fn ended(mut self) -> Self {
        if let Kind::Unknown(unknown) = &mut self.0 {
            unknown.ended = true;
        }
        self
    }

    /// Of a *completed*: what the tool answered, kept for whoever asks later. At most 256 KiB; a larger one is left out
    /// and logged, because the proof counts for more than the answer.
    pub fn with_result(mut self, result: impl Into<Vec<u8>>) -> Self {
        let result = fitting(result.into());
        if let Kind::Completed(completed) = &mut self.0 {
            completed.result = result;
        }
        self
    }

    /// The service's name for this kind of receipt.
    pub fn name(&self) -> &'static str {
        match &self.0 {
            Kind::Completed(_) => "COMPLETED",
            Kind::Accepted(_) => "ACCEPTED",
            Kind::Rejected(_) => "REJECTED",
            Kind::NotApplied(_) => "NOT_APPLIED",
            Kind::NotSent(_) => "NOT_SENT",
            Kind::Unknown(_) => "UNKNOWN",
        }
    }

    /// As the wire carries it.
    pub fn to_wire(&self) -> v1::Receipt {
        v1::Receipt {
            kind: Some(self.0.clone()),
        }
    }
}

/// Shows the kind and the ids, not the result: results are kept out of logs.
impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Completed(completed) => f
                .debug_struct("Completed")
                .field("external_id", &completed.external_id)
                .finish_non_exhaustive(),
            Kind::Accepted(accepted) => accepted.fmt(f),
            Kind::Rejected(rejected) => rejected.fmt(f),
            Kind::NotApplied(not_applied) => not_applied.fmt(f),
            Kind::NotSent(not_sent) => not_sent.fmt(f),
            Kind::Unknown(unknown) => unknown.fmt(f),
        }
    }
}

/// An error of the executor says nothing about the effect, so it is *unknown*, never failure.
impl<E: Display> From<Result<Receipt, E>> for Receipt {
    fn from(result: Result<Receipt, E>) -> Self {
        result.unwrap_or_else(|error| Receipt::unknown(format_args!("the executor failed: {error}")))
    }
}

/// A result that the service would refuse is dropped, and the log says so.
pub(crate) fn fitting(result: Vec<u8>) -> Option<Vec<u8>> {
    if result.len() <= LARGEST_RESULT {
        return Some(result);
    }
    tracing::warn!(
        result.bytes = result.len(),
        result.bytes_max = LARGEST_RESULT,
        "the result is too large to be kept and is left out; the evidence itself is reported"
    );
    None
}
