//! What an executor and a verifier are handed: everything that they pass on to the receiver, and the time they have.
//!
//! Owns no lease: the views here are live, but only `perform` starts, cancels and reports.

use std::fmt;
use std::time::{Duration, SystemTime};

use deed_proto::v1;
pub use deed_proto::v1::Guarantee;
use tokio::time::Instant;

use crate::guard::Guard;
use crate::observation::{Observation, Seen};
use crate::span;

/// A fencing token. It only grows for one action, and names the attempt or the lookup. Text in JSON: it may exceed 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    pub(crate) fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, for receivers that compare it.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Leave to send once. No retries under it, not in an SDK, a proxy or a queue either; a re-send carries the same bytes.
#[derive(Clone, Debug)]
pub struct Grant {
    pub(crate) token: FencingToken,
    pub(crate) attempt: u32,
    pub(crate) outward_key: String,
    pub(crate) guarantee: Guarantee,
    pub(crate) resend: bool,
    pub(crate) resumes: Option<Vec<String>>,
    pub(crate) send_timeout: Duration,
    pub(crate) until: Instant,
    pub(crate) guard: Guard,
}

impl Grant {
    /// Goes to a receiver that refuses stale tokens.
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// The attempt's number, from 1, as people read it.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The idempotency key for the receiver: 32 characters a-z0-9, the same for every attempt.
    pub fn outward_key(&self) -> &str {
        &self.outward_key
    }

    /// What Deed promises for this action.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// An earlier attempt may have had its effect, and the receiver deduplicates: send the same bytes.
    pub fn resend(&self) -> bool {
        self.resend
    }

    /// Where this execution completes partial work: the declared facts that do not hold yet.
    pub fn resumes(&self) -> Option<&[String]> {
        self.resumes.as_deref()
    }

    /// Longest time from the start of the send to its certain end.
    pub fn send_timeout(&self) -> Duration {
        self.send_timeout
    }

    /// Time left for the send, now: of the lease or of the send timeout, whichever is less. Renewals prolong the lease.
    /// When it is zero, do not send: answer [`Receipt::not_sent`](crate::Receipt::not_sent) if nothing has left yet.
    pub fn time_left(&self) -> Duration {
        let send = self.until.saturating_duration_since(Instant::now());
        self.guard.time_left().min(send)
    }
}

/// Leave to look once, on a source no staler than the settle window.
#[derive(Clone, Debug)]
pub struct Lookup {
    pub(crate) wire: v1::VerifyEffect,
    pub(crate) guard: Guard,
}

impl Lookup {
    /// A receiver that refuses stale tokens is shown it by the lookup too, which raises its floor.
    pub fn token(&self) -> FencingToken {
        FencingToken::new(self.wire.fencing_token)
    }

    /// The idempotency key that the attempts carried.
    pub fn outward_key(&self) -> &str {
        &self.wire.outward_key
    }

    /// What the receiver calls the effect or command, as far as known.
    pub fn external_id(&self) -> Option<&str> {
        Some(self.wire.external_id.as_str()).filter(|id| !id.is_empty())
    }

    /// The declared facts to observe.
    pub fn facts(&self) -> &[String] {
        &self.wire.facts
    }

    /// Attempts begun so far.
    pub fn attempts(&self) -> u32 {
        self.wire.attempts
    }

    /// The attempts that may have had an effect, oldest first.
    pub fn undisproved(&self) -> &[v1::Attempt] {
        &self.wire.undisproved
    }

    /// When the first attempt under this outward key was begun, by the database's clock.
    pub fn first_sent_at(&self) -> Option<SystemTime> {
        span::time_from_wire(self.wire.first_sent_at)
    }

    /// From when an absence counts, by the database's clock; the service decides it by the time of this grant.
    pub fn absence_counts_from(&self) -> Option<SystemTime> {
        span::time_from_wire(self.wire.absence_counts_from)
    }

    /// Lease time left, now.
    pub fn time_left(&self) -> Duration {
        self.guard.time_left()
    }

    /// The observation that follows from the declared facts as they were seen: all true is *confirmed* (under
    /// `external_id`), all false *not found*, a mix *partial*; otherwise *unknown*.
    pub fn judge<Name: Into<String>, How: Into<Seen>>(
        &self,
        external_id: &str,
        seen: impl IntoIterator<Item = (Name, How)>,
    ) -> Observation {
        let seen: Vec<(String, Seen)> = seen
            .into_iter()
            .map(|(name, how)| (name.into(), how.into()))
            .collect();
        Observation::judged(self.facts(), &seen, external_id)
    }
}
