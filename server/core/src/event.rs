//! History: one event for every fact, grant and decision. Append-only; evidence is never removed from an undecided action.

use crate::action::{Flag, GrantKind, State};
use crate::command::Decision;
use crate::evidence::{Observation, Receipt};
use crate::id::{Caller, Fingerprint, RequestId, Token};
use crate::text::{ActionId, ExternalId, Note};
use crate::time::Timestamp;

/// One row of history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// From 1, without gaps.
    pub sequence: u32,
    /// The database's time.
    pub at: Timestamp,
    /// The token that it speaks of.
    pub token: Option<Token>,
    /// The attempt that it speaks of.
    pub attempt: Option<u32>,
    /// Whose doing it was; absent where time decided.
    pub by: Option<Caller>,
    /// The call that it remembers.
    pub request: Option<Trace>,
    /// The state after it.
    pub state: State,
    /// What happened.
    pub what: What,
}

/// What is remembered of a call, so that a repeat gets the same answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The request id.
    pub id: RequestId,
    /// Of everything the call said.
    pub fingerprint: Fingerprint,
    /// The grant it was answered with.
    pub granted: Option<Token>,
    /// Whether that answer said that the gate had been passed.
    pub begun: bool,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// Recorded without a lease.
    Planned,
    /// A lease was given.
    Granted {
        /// To do what.
        kind: GrantKind,
        /// Until when, as told.
        expires_at: Timestamp,
        /// The gate was passed with it.
        begun: bool,
        /// An earlier attempt is undisproved.
        resend: bool,
    },
    /// The gate was passed.
    Begun,
    /// An executor's receipt.
    Reported {
        /// The receipt.
        receipt: Receipt,
        /// It came under a token that no longer was, or never was, the current grant's.
        late: bool,
    },
    /// A lookup.
    Observed {
        /// What it found.
        observation: Observation,
        /// It moved the state; else it is kept as evidence only.
        counted: bool,
    },
    /// A lease ran out.
    Lapsed {
        /// The latest expiry that its holder was told.
        expires_at: Timestamp,
    },
    /// A holder gave its lease back.
    Released {
        /// The latest expiry that it was told.
        expires_at: Timestamp,
    },
    /// A lease was overtaken by newer knowledge or a decision.
    Fenced {
        /// The latest expiry that its holder was told.
        expires_at: Timestamp,
    },
    /// The request for approval ran out.
    ApprovalExpired,
    /// An operator's word.
    Decided {
        /// What.
        decision: Decision,
        /// Why.
        note: Note,
    },
    /// Another action names the same effect.
    Contested {
        /// Which.
        by: ActionId,
        /// The id that both name.
        external_id: ExternalId,
    },
    /// A mark was set.
    Flagged {
        /// Which.
        flag: Flag,
    },
}
