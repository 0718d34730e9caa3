//! Leases and the attempts that were made under them.

use crate::id::{Caller, RequestId, Token};
use crate::text::{ExternalId, FactName};
use crate::time::Timestamp;

/// What a grant allows: one thing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GrantKind {
    /// One begin, one send.
    Execute,
    /// One lookup.
    Verify,
}

/// How a grant ended other than by time that nobody has written down yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ended {
    /// Its holder brought the evidence.
    Evidence,
    /// Its holder gave it back.
    Released,
    /// Its lease ran out.
    Lapsed,
    /// Newer knowledge or a decision overtook it.
    Fenced,
}

/// The grant of the action's current token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The token, and so the one thing that it allows.
    pub token: Token,
    /// Who holds it.
    pub holder: Caller,
    /// The request that asked for it.
    pub request: RequestId,
    /// What it allows.
    pub kind: GrantKind,
    /// The attempt that it would be, or is. Zero for a lookup.
    pub attempt: u32,
    /// Facts that a resuming execution has to bring about.
    pub resumes: Vec<FactName>,
    /// Whether an earlier attempt is undisproved.
    pub resend: bool,
    /// Database time of the grant; the lease counts from it.
    pub granted_at: Timestamp,
    /// The latest expiry that the holder was told.
    pub expires_at: Timestamp,
    /// No renewal goes beyond this.
    pub hold_until: Timestamp,
    /// When the gate was passed.
    pub begun_at: Option<Timestamp>,
    /// How it ended, if it did.
    pub ended: Option<Ended>,
}

impl Grant {
    /// Whether it still keeps everyone else out.
    pub fn live(&self, now: Timestamp) -> bool {
        self.ended.is_none() && now < self.expires_at
    }

    /// Whether its holder has announced the send.
    pub fn begun(&self) -> bool {
        self.begun_at.is_some()
    }
}

/// An execution that may have left an effect, or may still leave one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// From 1, never reused.
    pub number: u32,
    /// The token it ran under.
    pub token: Token,
    /// The latest expiry that its holder was ever told.
    pub lease_end: Timestamp,
    /// When its holder reported that the send is over.
    pub ended_at: Option<Timestamp>,
    /// What the receiver calls it.
    pub external_id: Option<ExternalId>,
    /// The strongest word of its executor that stands.
    pub word: Word,
}

/// What an executor's receipt said about an attempt that has not been disproved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Word {
    /// Nothing, or that it does not know.
    None,
    /// The receiver took the command.
    Accepted,
    /// The receiver said that the effect is done.
    Completed,
}
