//! What `perform` comes back with: decided, blocked, or still open.

use std::fmt;
use std::time::{Duration, SystemTime};

use deed_proto::v1;
pub use deed_proto::v1::{BlockedReason, GrantKind, State, WaitReason};
use v1::next_step::Kind;

use crate::span;

/// How an action stands after `perform`.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a blocked or pending action has not been done"]
pub enum Outcome {
    /// Decided for good, by this worker or another.
    Settled(Settled),
    /// A person is needed.
    Blocked(Blocked),
    /// Not decided within the patience, or nothing that this caller can do.
    Pending(Pending),
}

impl Outcome {
    /// The effect is proven.
    pub fn confirmed(&self) -> bool {
        matches!(self, Self::Settled(settled) if settled.state == State::Confirmed)
    }

    /// Where it is decided: how.
    pub fn settled(&self) -> Option<&Settled> {
        match self {
            Self::Settled(settled) => Some(settled),
            Self::Blocked(_) | Self::Pending(_) => None,
        }
    }
}

/// Decided for good.
#[derive(Clone, PartialEq)]
pub struct Settled {
    /// `Confirmed`, `Rejected` or `Abandoned`.
    pub state: State,
    /// How it ended.
    pub outcome: v1::Outcome,
    /// The id of the deciding evidence; empty where none decided.
    pub effect_id: String,
    /// The kind of the deciding evidence.
    pub evidence: v1::EvidenceKind,
    /// The receiver's name for the effect; empty where none is known.
    pub external_id: String,
    /// What the tool answered, where it was stored.
    pub result: Option<Vec<u8>>,
    /// When it was decided, by the database's clock.
    pub settled_at: Option<SystemTime>,
    /// The receiver's refusal or the operator's words, for people.
    pub note: String,
}

/// Shows the size of the result instead of the result, which is kept out of logs.
impl fmt::Debug for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settled")
            .field("state", &self.state)
            .field("outcome", &self.outcome)
            .field("effect_id", &self.effect_id)
            .field("evidence", &self.evidence)
            .field("external_id", &self.external_id)
            .field("result.bytes", &self.result.as_ref().map(Vec::len))
            .field("settled_at", &self.settled_at)
            .field("note", &self.note)
            .finish()
    }
}

/// A person is needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocked {
    /// Why.
    pub reason: BlockedReason,
    /// What is known and what to do, for people.
    pub detail: String,
}

/// Not decided yet: the next step.
#[derive(Clone, Debug, PartialEq)]
pub enum Pending {
    /// Come back later.
    Wait {
        /// From the answer on.
        retry_after: Duration,
        /// Why.
        reason: WaitReason,
        /// The same by the database's clock; for people.
        due_at: Option<SystemTime>,
    },
    /// Somebody else holds the lease.
    Held {
        /// Who.
        owner: String,
        /// Lease time left, from the answer on; renewals may prolong it.
        lease_left: Duration,
        /// When asking again makes sense, from the answer on.
        retry_after: Duration,
    },
    /// A claim would get this, but the caller has nothing to do it with.
    Claimable(GrantKind),
}

/// An answer of the service that grants nothing, or a grant as it came.
#[derive(Debug)]
pub(crate) enum Step {
    Execute(v1::Execute),
    Verify(v1::VerifyEffect),
    Open(Pending),
    Settled(Settled),
    Blocked(Blocked),
}

impl Step {
    /// None where the answer names no step that this client knows.
    pub fn from_wire(answer: Option<v1::Answer>) -> Option<Self> {
        Some(match answer?.next_step?.kind? {
            Kind::Execute(execute) => Self::Execute(execute),
            Kind::VerifyEffect(verify) => Self::Verify(verify),
            Kind::Claimable(claimable) => Self::Open(Pending::Claimable(claimable.kind())),
            Kind::Wait(wait) => Self::Open(Pending::Wait {
                retry_after: span::from_wire(wait.retry_after),
                reason: wait.reason(),
                due_at: span::time_from_wire(wait.due_at),
            }),
            Kind::Held(held) => Self::Open(Pending::Held {
                lease_left: span::from_wire(held.lease_left),
                retry_after: span::from_wire(held.retry_after),
                owner: held.owner,
            }),
            Kind::Settled(settled) => Self::Settled(Settled {
                state: settled.state(),
                outcome: settled.outcome(),
                evidence: settled.evidence(),
                settled_at: span::time_from_wire(settled.settled_at),
                effect_id: settled.effect_id,
                external_id: settled.external_id,
                result: settled.result,
                note: settled.note,
            }),
            Kind::Blocked(blocked) => Self::Blocked(Blocked {
                reason: blocked.reason(),
                detail: blocked.detail,
            }),
        })
    }
}
