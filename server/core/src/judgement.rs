//! What goes into a judgement besides the action, and what comes out.

use crate::action::{Action, GrantKind};
use crate::event::Event;
use crate::id::{ActionKey, Caller, Fingerprint, Token};
use crate::reply::{Refusal, Reply};
use crate::text::ExternalId;
use crate::time::Timestamp;

/// What the store knows of this request id, this token and this external id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remembered {
    /// The call of this request id, if this action remembers one.
    pub request: Option<PastRequest>,
    /// What the token of this call did.
    pub token: Option<PastToken>,
    /// Which action the external id of this call proves, within namespace and tool.
    pub external_id: Option<ActionKey>,
}

/// A call that left a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastRequest {
    /// Of everything it said.
    pub fingerprint: Fingerprint,
    /// Who made it.
    pub caller: Caller,
    /// The grant it got.
    pub granted: Option<Token>,
    /// Whether the answer said that the gate had been passed.
    pub begun: bool,
}

/// What a token did, folded from the action's history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastToken {
    /// To whom it was granted; for a token of which only reports are known, who reported.
    pub holder: Caller,
    /// What it allowed.
    pub kind: GrantKind,
    /// The attempt that was begun or recorded under it.
    pub attempt: Option<u32>,
    /// The latest expiry that its holder was told.
    pub lease_end: Timestamp,
}

/// A judgement of one command. The store writes `next` and `events` together or not at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// For the caller, after the commit.
    pub reply: Result<Reply, Refusal>,
    /// The row to write; absent if it stays as it is.
    pub next: Option<Box<Action>>,
    /// History to append.
    pub events: Vec<Event>,
    /// An external id that from now on proves this action.
    pub registers: Option<ExternalId>,
    /// The reply repeats what was read, not written: a grant, or that evidence or a decision has been taken. It may not be
    /// replicated yet, so the store must commit something synchronously first.
    pub reads_back: bool,
    /// The other action that names the same effect; it is to be flagged.
    pub contests: Option<(ActionKey, ExternalId)>,
}
