//! Evidence: what an executor reports and what a lookup found. Append-only facts; nothing here decides.

use std::collections::BTreeMap;

use crate::text::{ExternalId, FactName, Note};
use crate::time::Span;

/// Why nothing left the process. Each is a proof, not a guess.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotSentReason {
    /// The guard refused: the lease was not surely live any more.
    LeaseNotLive,
    /// No connection could be made, so no byte of the request was written.
    NotConnected,
    /// Cancelled before the send began.
    Cancelled,
    /// The input could not be built.
    InputUnavailable,
    /// The worker stops.
    ShuttingDown,
    /// Something else that proves it; the detail says what.
    Other,
}

/// What the executor reports about its attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Receipt {
    /// The receiver said that the effect is done.
    Completed {
        /// What the receiver calls it.
        external_id: Option<ExternalId>,
        /// Stored and handed to whoever asks again.
        result: Option<Vec<u8>>,
    },
    /// The receiver took the command; the effect is still to be seen.
    Accepted {
        /// What the receiver calls the work.
        external_id: Option<ExternalId>,
        /// When a lookup makes sense.
        retry_after: Span,
    },
    /// Refused before any effect, for good.
    Rejected {
        /// For people.
        reason: Note,
    },
    /// The receiver answered and did nothing (429, lock, maintenance).
    NotApplied {
        /// The receiver's own wish.
        retry_after: Span,
        /// For people.
        reason: Note,
    },
    /// Proven: nothing left this process.
    NotSent {
        /// The proof.
        reason: NotSentReason,
        /// For people.
        detail: Note,
    },
    /// It may have happened.
    Unknown {
        /// For people.
        reason: Note,
        /// The send is over: the call returned, or can no longer leave this process.
        ended: bool,
    },
}

impl Receipt {
    /// The external id that it names.
    pub fn external_id(&self) -> Option<&ExternalId> {
        match self {
            Self::Completed { external_id, .. } | Self::Accepted { external_id, .. } => external_id.as_ref(),
            Self::Rejected { .. } | Self::NotApplied { .. } | Self::NotSent { .. } | Self::Unknown { .. } => {
                None
            }
        }
    }

    /// Whether it says that the effect exists.
    pub fn proof(&self) -> bool {
        match self {
            Self::Completed { .. } => true,
            Self::Accepted { .. }
            | Self::Rejected { .. }
            | Self::NotApplied { .. }
            | Self::NotSent { .. }
            | Self::Unknown { .. } => false,
        }
    }

    /// Whether the send is over, by what the receipt says.
    pub fn ended(&self) -> bool {
        match self {
            Self::Unknown { ended, .. } => *ended,
            Self::Completed { .. }
            | Self::Accepted { .. }
            | Self::Rejected { .. }
            | Self::NotApplied { .. }
            | Self::NotSent { .. } => true,
        }
    }
}

/// How a lookup saw one fact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Seen {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// The lookup did not look, or could not tell.
    NotSeen,
}

/// What a lookup found in the receiver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The effect exists.
    Confirmed {
        /// What the receiver calls it.
        external_id: Option<ExternalId>,
        /// Stored and handed to whoever asks again.
        result: Option<Vec<u8>>,
    },
    /// Nothing of it exists.
    NotFound,
    /// Under way.
    Pending {
        /// When to look again; absent: by the contract's backoff.
        retry_after: Option<Span>,
    },
    /// The receiver's final word that no effect came or will come, for the work it names.
    Failed {
        /// The work by the receiver's id.
        external_id: Option<ExternalId>,
        /// The work by its attempt number.
        attempt: Option<u32>,
        /// For people.
        reason: Note,
    },
    /// Some facts hold and some do not.
    Partial,
    /// The lookup could not tell.
    Unknown {
        /// For people.
        reason: Note,
    },
}

/// One lookup: its verdict and the facts it saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    /// What it found.
    pub verdict: Verdict,
    /// The declared facts it looked at.
    pub facts: BTreeMap<FactName, Seen>,
    /// For people.
    pub detail: Note,
}

impl Observation {
    /// Whether it says that the effect exists.
    pub fn proof(&self) -> bool {
        matches!(self.verdict, Verdict::Confirmed { .. })
    }

    /// The external id that it names.
    pub fn external_id(&self) -> Option<&ExternalId> {
        match &self.verdict {
            Verdict::Confirmed { external_id, .. } | Verdict::Failed { external_id, .. } => {
                external_id.as_ref()
            }
            Verdict::NotFound | Verdict::Pending { .. } | Verdict::Partial | Verdict::Unknown { .. } => None,
        }
    }
}
