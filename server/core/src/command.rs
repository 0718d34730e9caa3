//! What callers ask for. Valid by construction: the edge parses, the core never validates text.

use uuid::Uuid;

use crate::action::Flag;
use crate::evidence::{Observation, Receipt};
use crate::id::{ActionKey, Caller, Fingerprint, RequestId, Token, Version};
use crate::spec::{InputHash, Specification};
use crate::text::{ActionId, ExternalId, Note, Owner, Principal};

/// One call about one action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The action.
    pub key: ActionKey,
    /// Who asks, and how a repeat is recognised.
    pub request: Request,
    /// For what.
    pub ask: Ask,
}

/// Who asks, and how a repeat is recognised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The same for every repeat.
    pub id: RequestId,
    /// Of everything the call says.
    pub fingerprint: Fingerprint,
    /// The owner name of a lease is bound to the authenticated principal. For an operator or a witness both are its name.
    pub caller: Caller,
}

impl Request {
    /// A look: it is not a call, and nothing remembers it.
    pub(crate) fn look() -> Self {
        Self {
            id: RequestId(Uuid::nil()),
            fingerprint: Fingerprint([0; 16]),
            caller: Caller {
                owner: Owner::nobody(),
                principal: Principal::nobody(),
            },
        }
    }
}

/// What a caller wants after its evidence has been recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Then {
    /// Nothing: its lease ends.
    Nothing,
    /// A grant, if one is due.
    Grant,
    /// A grant, begun at once if it is to execute.
    BegunGrant,
}

/// The calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Record without a lease.
    Plan {
        /// What it is.
        spec: Box<Specification>,
    },
    /// Record if absent, and take the lease if it is free.
    Claim {
        /// What it is.
        spec: Box<Specification>,
        /// Whether to pass the gate in the same transaction.
        begin: bool,
    },
    /// Pass the gate.
    Begin {
        /// The grant.
        token: Token,
    },
    /// Evidence of an execution.
    Report {
        /// The grant.
        token: Token,
        /// The evidence.
        receipt: Receipt,
        /// What next.
        then: Then,
        /// The claim's specification, for an action that a failover lost.
        spec: Option<Box<Specification>>,
    },
    /// Evidence of a lookup.
    Verify {
        /// The grant.
        token: Token,
        /// The evidence.
        observation: Observation,
        /// What next.
        then: Then,
    },
    /// Keep the lease.
    Renew {
        /// The grant.
        token: Token,
    },
    /// Give the lease back.
    Release {
        /// The grant.
        token: Token,
    },
    /// Evidence without a lease. The verdict is `Confirmed`, `Failed` or `Pending`.
    Observe {
        /// The evidence.
        observation: Observation,
    },
    /// Write down what time has decided.
    Sweep,
    /// Flag the other action of a contested external id.
    Contest {
        /// The action that came second.
        by: ActionId,
        /// The id that both name.
        external_id: ExternalId,
    },
    /// An operator's word.
    Decide {
        /// The version that the operator looked at.
        version: Version,
        /// Why.
        note: Note,
        /// What.
        decision: Decision,
    },
}

/// What an operator decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Let it be executed.
    Approve {
        /// The input that the operator saw.
        input: InputHash,
    },
    /// Never execute it.
    Deny,
    /// Name who reconciles it.
    Assign {
        /// Nobody, to clear it.
        assignee: Option<Owner>,
    },
    /// Say what happened.
    Resolve {
        /// What.
        resolution: Resolution,
        /// A written reference to the proof.
        proof: Option<Note>,
    },
    /// Open it again.
    Reopen {
        /// Raise the key generation, so that the receiver sees a new outward key.
        new_key: bool,
        /// A written reference to the proof.
        proof: Option<Note>,
    },
    /// Clear a mark.
    Acknowledge {
        /// Which.
        flag: Flag,
    },
}

/// What happened, by an operator's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// The effect exists.
    Confirmed {
        /// What the receiver calls it.
        external_id: Option<ExternalId>,
    },
    /// No effect exists, and none will come.
    Absent,
    /// The receiver refused it.
    Rejected,
    /// The effect was undone by another action.
    Compensated {
        /// Which.
        by: ActionId,
    },
    /// Closed; the effect may remain unknown.
    Abandoned,
}
