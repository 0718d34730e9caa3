//! What callers are told: one next step, the same for all worker calls, or a refusal of a call that could not be judged.

use crate::action::{Attempt, Basis, Closure, Flags, GrantKind, State};
use crate::contract::Guarantee;
use crate::id::{EvidenceId, OutwardKey, Token, Version};
use crate::text::{ExternalId, FactName, Note, Owner};
use crate::time::{Span, Timestamp};

/// A call that was judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// What may be done now, by whom, and from when.
    Step(Box<Answer>),
    /// The lease goes on.
    Renewed {
        /// How long, from the database's time of this renewal.
        lease_left: Span,
        /// Until when, by the database's clock.
        expires_at: Timestamp,
    },
}

/// The next step with what every answer says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What may be done now.
    pub step: NextStep,
    /// What Deed can promise for this action.
    pub guarantee: Guarantee,
    /// What is known.
    pub state: State,
    /// The version to decide on.
    pub version: Version,
    /// Marks for people.
    pub flags: Flags,
    /// The caller's contract or expected effect differs from the stored one, which holds.
    pub terms_differ: bool,
}

impl Answer {
    /// Whether re-executing now is safe: only with a grant to execute in hand.
    pub fn safe_to_retry(&self) -> bool {
        matches!(self.step, NextStep::Execute(_))
    }
}

/// What may be done now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// Perform the effect once, then report.
    Execute(Execute),
    /// Look the postcondition up once, then verify.
    VerifyEffect(VerifyEffect),
    /// What a claim would get now.
    Claimable(GrantKind),
    /// Come back later.
    Wait {
        /// From now.
        retry_after: Span,
        /// Why.
        reason: WaitReason,
    },
    /// Somebody holds it.
    Held {
        /// Who.
        owner: Owner,
        /// How long at least, unless it is renewed.
        lease_left: Span,
        /// When to ask again.
        retry_after: Span,
    },
    /// Go on without acting.
    Settled(Settled),
    /// A person is needed.
    Blocked {
        /// Why.
        reason: BlockReason,
        /// For people.
        detail: Note,
        /// The facts that a partial effect lacks.
        missing: Vec<FactName>,
    },
}

/// A grant to execute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execute {
    /// The fencing token.
    pub token: Token,
    /// The number that people read.
    pub attempt: u32,
    /// From the database's time of this answer.
    pub lease_left: Span,
    /// By the database's clock.
    pub expires_at: Timestamp,
    /// From the start of the send to its certain end.
    pub send_timeout: Span,
    /// For the receiver.
    pub outward_key: OutwardKey,
    /// Whether the gate has been passed.
    pub begun: bool,
    /// An earlier attempt is undisproved; the receiver deduplicates or the action only reads.
    pub resend: bool,
    /// The facts that are missing, where this resumes partial work.
    pub resumes: Vec<FactName>,
}

/// A grant to look up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyEffect {
    /// The fencing token.
    pub token: Token,
    /// From the database's time of this answer.
    pub lease_left: Span,
    /// By the database's clock.
    pub expires_at: Timestamp,
    /// What the receiver was handed.
    pub outward_key: OutwardKey,
    /// What the receiver calls the work, if it said so.
    pub external_id: Option<ExternalId>,
    /// How many attempts there were.
    pub attempts: u32,
    /// When the first was begun.
    pub first_sent_at: Option<Timestamp>,
    /// What to observe.
    pub facts: Vec<FactName>,
    /// A lookup granted before this proves no absence.
    pub absence_counts_from: Timestamp,
    /// The attempts that may have left an effect, oldest first.
    pub undisproved: Vec<Attempt>,
}

/// A final state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// Which.
    pub state: State,
    /// The deciding evidence.
    pub effect: Option<EvidenceId>,
    /// Its kind.
    pub basis: Option<Basis>,
    /// What the receiver calls the effect.
    pub external_id: Option<ExternalId>,
    /// Stored with it.
    pub result: Option<Vec<u8>>,
    /// How it was closed without proof.
    pub closure: Option<Closure>,
    /// In the words of whoever reported it.
    pub reason: Note,
    /// Since when.
    pub settled_at: Timestamp,
}

/// Why to come back later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitReason {
    /// Between attempts.
    Backoff,
    /// Absence cannot be believed yet.
    SettleWindow,
    /// Between lookups.
    VerifyBackoff,
    /// The receiver works on it.
    Pending,
    /// A person has to approve.
    Approval,
}

/// Why a person is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BlockReason {
    /// Nothing can be looked up, and the receiver does not deduplicate.
    Unverifiable,
    /// Some of the effect exists.
    Partial,
    /// Too many inconclusive lookups.
    VerificationsExhausted,
    /// Too many attempts.
    AttemptsExhausted,
    /// Too late for another attempt.
    BudgetExhausted,
    /// The receiver may have forgotten the key.
    DeduplicationWindowPassed,
    /// Still pending, too late.
    EffectDeadlinePassed,
    /// Evidence contradicts itself.
    Contradiction,
}

/// A call that could not be judged. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The key names nothing.
    #[error("no such action")]
    ActionNotFound,
    /// The key names another operation. Nothing of it is disclosed.
    #[error("the action id is taken by another tool or another input")]
    InputMismatch,
    /// A field that only the stored action can judge.
    #[error("{reason}")]
    InvalidField {
        /// Which.
        field: &'static str,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// The token is out of this database's reach.
    #[error("the fencing token was never issued")]
    TokenNeverIssued,
    /// The token is somebody else's, and what came under it is no proof of the effect.
    #[error("the fencing token belongs to another owner's grant")]
    NotYourGrant,
    /// The request id came with other content, or from somebody else.
    #[error("the request id was used before with other content")]
    RequestIdReused,
    /// The rules refuse it now.
    #[error("{why}")]
    DecisionNotAllowed {
        /// Why, and what would be allowed.
        why: String,
        /// From when it is allowed, where time alone will allow it.
        allowed_from: Option<Timestamp>,
    },
    /// The operator looked at an older row.
    #[error("the action has changed since version {seen}; it is at version {current}", seen = seen.0, current = current.0)]
    VersionChanged {
        /// What the operator looked at.
        seen: Version,
        /// What is.
        current: Version,
    },
}
