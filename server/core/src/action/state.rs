//! What is known of an action, and what keeps it from going on.

use crate::text::Principal;
use crate::time::Timestamp;

/// What is known about the effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Recorded; nobody may act before a person approves.
    AwaitingApproval,
    /// Nothing has been sent, or the sender proved that nothing was done.
    Planned,
    /// A holder passed *begin*; the effect may exist.
    Sent,
    /// The receiver took the command; the effect is still to be seen.
    Accepted,
    /// Some of the facts hold and some do not.
    Partial,
    /// It may have happened.
    Unknown,
    /// Absence proven after the last possible send.
    NotFound,
    /// The effect is proven. Final.
    Confirmed,
    /// Refused before any effect. Final, but for an operator and for proof.
    Rejected,
    /// Closed by an operator. Final, but for an operator and for proof.
    Abandoned,
}

impl State {
    /// Every state, in the order of the protocol.
    pub const ALL: [Self; 10] = [
        Self::AwaitingApproval,
        Self::Planned,
        Self::Sent,
        Self::Accepted,
        Self::Partial,
        Self::Unknown,
        Self::NotFound,
        Self::Confirmed,
        Self::Rejected,
        Self::Abandoned,
    ];

    /// Whether callers are told `Settled`.
    pub fn settled(self) -> bool {
        matches!(self, Self::Confirmed | Self::Rejected | Self::Abandoned)
    }
}

/// Why an action is `UNKNOWN`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Doubt {
    /// The lease of a holder that had begun lapsed.
    LeaseLapsed,
    /// The executor reported that it does not know.
    Reported,
    /// A begun grant was released.
    Released,
    /// A send was reported that never passed *begin*, or whose grant a failover lost.
    Ungated,
    /// The last attempt left nothing, but an earlier one may have.
    EarlierAttempt,
    /// An operator's decision took the lease of a holder that had begun, or re-opened the action.
    Decided,
    /// Evidence contradicts itself.
    Contradiction,
}

/// A stop that lasts until proof or an operator's decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// Evidence contradicts itself.
    Contradiction,
    /// A lookup still saw the work pending after the effect deadline.
    EffectDeadlinePassed,
}

/// Whether a person has to approve, or has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Approval {
    /// Not asked for.
    NotRequired,
    /// Asked for.
    Pending {
        /// When the request expires.
        expires_at: Timestamp,
    },
    /// Given; it does not expire.
    Given {
        /// When.
        at: Timestamp,
        /// By whom.
        by: Principal,
    },
}
