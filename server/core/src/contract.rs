//! What a tool's receiver can and cannot do, and the guarantee that follows from it.
//!
//! `Terms` is what a caller writes down; `Contract` is terms that do not contradict themselves. A contract is fixed with
//! the action when it is created.

use std::ops::{Deref, RangeInclusive};

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

/// Allowed lengths of time, with their fields. Lower bounds keep a round trip inside a lease; upper bounds keep every
/// sum far from overflow and every wait within the life of an operator's memory.
const LEASE: RangeInclusive<Span> = Span::from_millis(100)..=Span::from_hours(1);
const SEND_TIMEOUT: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_days(1);
const MAX_HOLD: RangeInclusive<Span> = Span::from_millis(100)..=Span::from_days(7);
const SETTLE_WINDOW: RangeInclusive<Span> = Span::ZERO..=Span::from_days(30);
const EFFECT_DEADLINE: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_days(90);
const WINDOW: RangeInclusive<Span> = Span::from_secs(1)..=Span::from_days(366);
const BACKOFF: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_days(1);
const TOTAL_BUDGET: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_days(366);
const MULTIPLIER: RangeInclusive<u32> = 1_000..=100_000;
const MAX_ATTEMPTS: RangeInclusive<u32> = 1..=1_000;
const MAX_VERIFICATIONS: RangeInclusive<u32> = 1..=10_000;

fn within<T: PartialOrd + std::fmt::Debug>(
    field: &'static str,
    value: T,
    range: &RangeInclusive<T>,
) -> Result<(), Contradiction> {
    if range.contains(&value) {
        return Ok(());
    }
    let reason = format!(
        "is {value:?}; it must be from {:?} to {:?}",
        range.start(),
        range.end()
    );
    Err(Contradiction { field, reason })
}

fn refuse_if(wrong: bool, field: &'static str, reason: &str) -> Result<(), Contradiction> {
    if wrong {
        Err(Contradiction {
            field,
            reason: reason.to_owned(),
        })
    } else {
        Ok(())
    }
}

impl Contract {
    /// Checks the terms: first each length by itself, then the combinations.
    pub fn new(terms: Terms) -> Result<Self, Contradiction> {
        check_ranges(&terms)?;
        check_combinations(&terms)?;
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

    /// How long after a send its effect may be invisible; zero where nothing can be looked up.
    pub fn settle_window(&self) -> Span {
        match self.verification {
            Verification::Postcondition { settle_window, .. } => settle_window,
            Verification::None => Span::ZERO,
        }
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

fn check_ranges(terms: &Terms) -> Result<(), Contradiction> {
    within("lease", terms.lease, &LEASE)?;
    within("send_timeout", terms.send_timeout, &SEND_TIMEOUT)?;
    within("max_hold", terms.max_hold, &MAX_HOLD)?;
    if let Deduplication::IdempotencyKey { window } = terms.deduplication {
        within("deduplication.idempotency_key.window", window, &WINDOW)?;
    }
    if let Verification::Postcondition {
        settle_window,
        effect_deadline,
    } = terms.verification
    {
        within(
            "verification.postcondition.settle_window",
            settle_window,
            &SETTLE_WINDOW,
        )?;
        within(
            "verification.postcondition.effect_deadline",
            effect_deadline,
            &EFFECT_DEADLINE,
        )?;
    }
    let retry = &terms.retry;
    within("retry.max_attempts", retry.max_attempts, &MAX_ATTEMPTS)?;
    within("retry.initial_backoff", retry.initial_backoff, &BACKOFF)?;
    within("retry.multiplier", retry.multiplier_thousandths, &MULTIPLIER)?;
    within("retry.max_backoff", retry.max_backoff, &BACKOFF)?;
    within("retry.total_budget", retry.total_budget, &TOTAL_BUDGET)?;
    within(
        "retry.max_verifications",
        retry.max_verifications,
        &MAX_VERIFICATIONS,
    )
}

fn check_combinations(terms: &Terms) -> Result<(), Contradiction> {
    let unverifiable = terms.verification == Verification::None;
    let by_receipt = terms.confirm_by == ConfirmBy::Receipt;
    let resumes = terms.on_partial == OnPartial::Resume;
    refuse_if(
        terms.asynchronous && by_receipt,
        "confirm_by",
        "is RECEIPT, but an asynchronous tool answers before its effect: use POSTCONDITION",
    )?;
    refuse_if(
        !by_receipt && unverifiable,
        "confirm_by",
        "is POSTCONDITION, but verification is NONE: nothing could ever confirm the action",
    )?;
    refuse_if(
        terms.deduplication == Deduplication::FencingToken && unverifiable,
        "deduplication",
        "is FENCING_TOKEN, but verification is NONE: a lookup must raise the receiver's floor",
    )?;
    refuse_if(
        resumes && terms.effect_class == EffectClass::Irreversible,
        "on_partial",
        "is RESUME, but partial work of an IRREVERSIBLE tool always stops",
    )?;
    refuse_if(
        resumes && unverifiable,
        "on_partial",
        "is RESUME, but verification is NONE: nothing could ever see what is missing",
    )?;
    refuse_if(
        terms.lease > terms.max_hold,
        "max_hold",
        "is shorter than the lease",
    )?;
    refuse_if(
        terms.retry.max_backoff < terms.retry.initial_backoff,
        "retry.max_backoff",
        "is shorter than retry.initial_backoff",
    )?;
    let settle = Contract(*terms).settle_window();
    if let Deduplication::IdempotencyKey { window } = terms.deduplication {
        refuse_if(
            window <= terms.send_timeout.plus(settle),
            "deduplication.idempotency_key.window",
            "is not longer than send_timeout plus settle_window: no re-send could ever be safe",
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postcondition() -> Verification {
        Verification::Postcondition {
            settle_window: Span::from_secs(30),
            effect_deadline: Span::from_hours(1),
        }
    }

    #[test]
    fn every_guarantee_follows_from_its_contract() {
        let cautious = Terms::cautious(EffectClass::Irreversible);
        let window = Span::from_hours(24);
        let cases = [
            (Terms::cautious(EffectClass::Read), Guarantee::Repeatable),
            (
                Terms {
                    deduplication: Deduplication::IdempotencyKey { window },
                    ..cautious
                },
                Guarantee::Deduplicated,
            ),
            (
                Terms {
                    deduplication: Deduplication::FencingToken,
                    verification: postcondition(),
                    ..cautious
                },
                Guarantee::Fenced,
            ),
            (
                Terms {
                    verification: postcondition(),
                    ..cautious
                },
                Guarantee::Serialized,
            ),
            (cautious, Guarantee::AtMostOnce),
        ];
        for (terms, guarantee) in cases {
            assert_eq!(
                Contract::new(terms).map(|contract| contract.guarantee()),
                Ok(guarantee)
            );
        }
    }

    #[test]
    fn every_contradiction_is_refused_with_its_field() {
        let cautious = Terms::cautious(EffectClass::Irreversible);
        let short = Deduplication::IdempotencyKey {
            window: Span::from_secs(30),
        };
        let cases = [
            (
                Terms {
                    asynchronous: true,
                    verification: postcondition(),
                    ..cautious
                },
                "confirm_by",
            ),
            (
                Terms {
                    confirm_by: ConfirmBy::Postcondition,
                    ..cautious
                },
                "confirm_by",
            ),
            (
                Terms {
                    deduplication: Deduplication::FencingToken,
                    ..cautious
                },
                "deduplication",
            ),
            (
                Terms {
                    on_partial: OnPartial::Resume,
                    verification: postcondition(),
                    ..cautious
                },
                "on_partial",
            ),
            (
                Terms {
                    on_partial: OnPartial::Resume,
                    ..Terms::cautious(EffectClass::Reversible)
                },
                "on_partial",
            ),
            (
                Terms {
                    max_hold: Span::from_secs(1),
                    ..cautious
                },
                "max_hold",
            ),
            (
                Terms {
                    deduplication: short,
                    ..cautious
                },
                "deduplication.idempotency_key.window",
            ),
            (
                Terms {
                    lease: Span::ZERO,
                    ..cautious
                },
                "lease",
            ),
            (
                Terms {
                    send_timeout: Span::ZERO,
                    ..cautious
                },
                "send_timeout",
            ),
        ];
        for (terms, field) in cases {
            assert_eq!(
                Contract::new(terms).map_err(|error| error.field),
                Err(field),
                "{terms:?}"
            );
        }
    }

    #[test]
    fn every_retry_limit_has_its_range() {
        let cautious = Terms::cautious(EffectClass::Reversible);
        let retry = cautious.retry;
        let cases = [
            (
                Retry {
                    max_attempts: 0,
                    ..retry
                },
                "retry.max_attempts",
            ),
            (
                Retry {
                    initial_backoff: Span::ZERO,
                    ..retry
                },
                "retry.initial_backoff",
            ),
            (
                Retry {
                    multiplier_thousandths: 999,
                    ..retry
                },
                "retry.multiplier",
            ),
            (
                Retry {
                    max_backoff: Span::from_millis(10),
                    ..retry
                },
                "retry.max_backoff",
            ),
            (
                Retry {
                    total_budget: Span::ZERO,
                    ..retry
                },
                "retry.total_budget",
            ),
            (
                Retry {
                    max_verifications: 0,
                    ..retry
                },
                "retry.max_verifications",
            ),
        ];
        for (retry, field) in cases {
            assert_eq!(
                Contract::new(Terms { retry, ..cautious }).map_err(|error| error.field),
                Err(field)
            );
        }
    }

    #[test]
    fn backoff_grows_to_its_maximum_and_stays_there() {
        let retry = Terms::DEFAULT_RETRY;
        let seconds = [1, 2, 3, 9, 10, 1_000_000].map(|nth| retry.backoff(nth).micros() / 1_000_000);
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }
}
