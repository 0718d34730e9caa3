//! What a tool's receiver can and cannot do, and the guarantee that follows from it.
//!
//! `Terms` is what a caller writes down; `Contract` is terms that do not contradict themselves. A contract is fixed with
//! the action when it is created.

mod check;

use std::ops::Deref;

use crate::time::Span;

/// How bad a second effect would be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EffectClass {
    /// Leaves nothing behind: may be run again freely.
    Read,
    /// An operator may close it as compensated.
    Reversible,
    /// Partial work always stops; an operator's word alone does not re-open it.
    Irreversible,
}

/// How the receiver recognises a second send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Deduplication {
    /// It does not.
    None,
    /// By the outward key, for `window` after the first send.
    IdempotencyKey {
        /// The receiver's retention of keys.
        window: Span,
    },
    /// It refuses a token that is lower than one it has seen, or used; lookups raise its floor.
    FencingToken,
}

/// What proves the effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConfirmBy {
    /// The executor's receipt.
    Receipt,
    /// A lookup; a receipt only leads to `ACCEPTED`.
    Postcondition,
}

/// Whether the effect can be looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verification {
    /// It cannot.
    None,
    /// It can, by a lookup of the postcondition.
    Postcondition {
        /// How long after a send is over its effect may still be invisible.
        settle_window: Span,
        /// How long an accepted command may stay pending.
        effect_deadline: Span,
    },
}

/// What an external id says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExternalIdMeaning {
    /// One id proves one action.
    IdentifiesEffect,
    /// Many actions may name it: updates of one ticket, one batch.
    IdentifiesObject,
}

/// What happens after a partial effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OnPartial {
    /// A person decides.
    Stop,
    /// One execution of what is missing.
    Resume,
}

/// Whether a person must approve the exact input first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalNeed {
    /// Nobody needs to.
    None,
    /// An operator must.
    Required,
}

/// The limits of retrying, kept by the service.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Retry {
    /// Attempts in all; an attempt that provably never left its process does not count.
    pub max_attempts: u32,
    /// Wait after the first failed attempt or lookup.
    pub initial_backoff: Span,
    /// Growth of the wait, in thousandths (2000 doubles it).
    pub multiplier_thousandths: u32,
    /// Longest wait.
    pub max_backoff: Span,
    /// Time since creation (or approval) in which executions may begin; never stops lookups.
    pub total_budget: Span,
    /// Inconclusive lookups before an operator is asked.
    pub max_verifications: u32,
}

impl Retry {
    /// The wait after the `nth` failure in a row, counted from 1.
    pub fn backoff(&self, nth: u32) -> Span {
        let mut wait = self.initial_backoff;
        for _ in 1..nth {
            if wait >= self.max_backoff {
                break;
            }
            wait = wait.scaled(self.multiplier_thousandths);
        }
        wait.min(self.max_backoff)
    }
}

/// What a caller says about its tool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Terms {
    /// How bad a second effect would be.
    pub effect_class: EffectClass,
    /// The receiver answers before the effect.
    pub asynchronous: bool,
    /// How the receiver recognises a second send.
    pub deduplication: Deduplication,
    /// What proves the effect.
    pub confirm_by: ConfirmBy,
    /// Whether it can be looked up.
    pub verification: Verification,
    /// What an external id says.
    pub external_id: ExternalIdMeaning,
    /// The limits of retrying.
    pub retry: Retry,
    /// Longest time from the start of a send to its certain end; the client enforces it.
    pub send_timeout: Span,
    /// Length of a lease.
    pub lease: Span,
    /// Renewals end this long after the grant.
    pub max_hold: Span,
    /// What happens after a partial effect.
    pub on_partial: OnPartial,
    /// Whether a person must approve first.
    pub approval: ApprovalNeed,
}

impl Terms {
    /// 30 s: long enough for a slow call, short enough that a dead worker is noticed soon.
    pub const DEFAULT_LEASE: Span = Span::from_secs(30);
    /// 1 h: a send that takes longer is a job, and jobs are asynchronous.
    pub const DEFAULT_MAX_HOLD: Span = Span::from_hours(1);
    /// 24 h: an accepted command that shows nothing for a day wants a person.
    pub const DEFAULT_EFFECT_DEADLINE: Span = Span::from_hours(24);
    /// The documented defaults of retrying.
    pub const DEFAULT_RETRY: Retry = Retry {
        max_attempts: 3,
        initial_backoff: Span::from_secs(1),
        multiplier_thousandths: 2_000,
        max_backoff: Span::from_secs(300),
        total_budget: Span::from_hours(24),
        max_verifications: 20,
    };
    /// 24 h: how long a request for approval stays open.
    pub const APPROVAL_EXPIRES: Span = Span::from_hours(24);

    /// The terms of a tool about whose receiver nothing is known: nothing deduplicates, nothing can be looked up.
    pub const fn cautious(effect_class: EffectClass) -> Self {
        Self {
            effect_class,
            asynchronous: false,
            deduplication: Deduplication::None,
            confirm_by: ConfirmBy::Receipt,
            verification: Verification::None,
            external_id: ExternalIdMeaning::IdentifiesEffect,
            retry: Self::DEFAULT_RETRY,
            send_timeout: Self::DEFAULT_LEASE,
            lease: Self::DEFAULT_LEASE,
            max_hold: Self::DEFAULT_MAX_HOLD,
            on_partial: OnPartial::Stop,
            approval: ApprovalNeed::None,
        }
    }

    /// How long after a send its effect may be invisible; zero where nothing can be looked up.
    pub fn settle_window(&self) -> Span {
        match self.verification {
            Verification::Postcondition { settle_window, .. } => settle_window,
            Verification::None => Span::ZERO,
        }
    }
}

/// Which promise Deed can keep for an action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Guarantee {
    /// May be run again freely.
    Repeatable,
    /// Re-sending inside the receiver's window is harmless.
    Deduplicated,
    /// The receiver refuses a paused owner that wakes up late.
    Fenced,
    /// One owner at a time; a duplicate needs a send that outlives lease, send timeout and settle window.
    Serialized,
    /// Never sent again on its own after *begin*; doubt goes to a person.
    AtMostOnce,
}

/// Why terms were refused: the field, and what contradicts it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Contradiction {
    /// The field of the contract.
    pub field: &'static str,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// Terms that do not contradict themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Contract(Terms);

impl Contract {
    /// Checks the terms: first each length by itself, then the combinations.
    pub fn new(terms: Terms) -> Result<Self, Contradiction> {
        check::ranges(&terms)?;
        check::combinations(&terms)?;
        Ok(Self(terms))
    }

    /// The guarantee that follows.
    pub fn guarantee(&self) -> Guarantee {
        match (self.effect_class, self.deduplication, self.verification) {
            (EffectClass::Read, _, _) => Guarantee::Repeatable,
            (_, Deduplication::IdempotencyKey { .. }, _) => Guarantee::Deduplicated,
            (_, Deduplication::FencingToken, _) => Guarantee::Fenced,
            (_, Deduplication::None, Verification::Postcondition { .. }) => Guarantee::Serialized,
            (_, Deduplication::None, Verification::None) => Guarantee::AtMostOnce,
        }
    }

    /// Whether a lookup can be asked for.
    pub fn verifiable(&self) -> bool {
        matches!(self.verification, Verification::Postcondition { .. })
    }

    /// How long an accepted command may stay pending.
    pub fn effect_deadline(&self) -> Span {
        match self.verification {
            Verification::Postcondition { effect_deadline, .. } => effect_deadline,
            Verification::None => Terms::DEFAULT_EFFECT_DEADLINE,
        }
    }
}

impl Deref for Contract {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.0
    }
}
