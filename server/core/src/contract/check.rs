//! Which terms are refused: each length by itself, then the combinations that contradict themselves.

use std::ops::RangeInclusive;

use super::{ConfirmBy, Contradiction, Deduplication, EffectClass, OnPartial, Terms, Verification};
use crate::time::Span;

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

pub(super) fn ranges(terms: &Terms) -> Result<(), Contradiction> {
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

pub(super) fn combinations(terms: &Terms) -> Result<(), Contradiction> {
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
    let settle = terms.settle_window();
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
    use crate::contract::{Contract, Guarantee, Retry};

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
