//! The worlds in which every claim must hold: one contract each, with exactly the premises that its guarantee needs.

use deed_core::action::State as Known;
use deed_core::contract::{ApprovalNeed, EffectClass, OnPartial, Terms};
use deed_core::reply::BlockReason;

use super::setting::{Habit, Setting, Tick, Word, ticks};
use super::sights::Sight;
use super::terms::{asynchronous, by_lookup, cautious, deduplicated, fenced, serialized};

/// How much of a world is explored: for how long, with how many claims of each worker, with how many crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Seconds, in every run of the tests.
    Quick,
    /// Minutes, all worlds together.
    Full,
    /// Hours.
    Deep,
}

/// Horizon, claims and crashes of each size.
type Sizes = [(Tick, [u8; 2], u8); 3];

fn sized(size: Size, sizes: Sizes, setting: Setting) -> Setting {
    let (horizon, claims, crashes) = match size {
        Size::Quick => sizes[0],
        Size::Full => sizes[1],
        Size::Deep => sizes[2],
    };
    Setting {
        horizon,
        claims,
        crashes,
        ..setting
    }
}

/// All of them.
pub fn all(size: Size) -> Vec<Setting> {
    let make: [fn(Size) -> Setting; 14] = [
        plain,
        stepping,
        talkative,
        operated,
        doubtful,
        budgeted,
        keyed,
        fencing,
        frozen,
        at_most_once,
        approving,
        resuming,
        queueing,
        failing_over,
    ];
    make.into_iter().map(|make| make(size)).collect()
}

/// Absence can be proven, and nothing is late.
fn plain(size: Size) -> Setting {
    let sizes = [(5, [1, 1], 0), (6, [2, 1], 0), (7, [2, 2], 1)];
    let setting = Setting {
        habits: &[Habit::GoesOn],
        shows: &[
            Sight::Known(Known::Planned),
            Sight::Known(Known::Sent),
            Sight::Known(Known::Unknown),
            Sight::Known(Known::NotFound),
            Sight::Known(Known::Confirmed),
            Sight::TakenOver,
            Sight::Retried,
            Sight::LateEvidence,
        ],
        ..Setting::new("SERIALIZED", serialized())
    };
    sized(size, sizes, setting)
}

/// The database's clock steps forward, by no more than is allowed for.
fn stepping(size: Size) -> Setting {
    let sizes = [(5, [1, 1], 0), (7, [1, 1], 0), (8, [2, 1], 0)];
    let setting = Setting {
        allowed_step: 1,
        clock_steps: 1,
        habits: &[Habit::GoesOn],
        shows: &[Sight::TakenOver],
        ..Setting::new("SERIALIZED, the clock steps", serialized())
    };
    sized(size, sizes, setting)
}

/// Long leases, renewed and given back; workers say that they do not know while another thread may still send.
fn talkative(size: Size) -> Setting {
    let sizes = [(4, [1, 1], 0), (7, [1, 1], 0), (8, [2, 1], 0)];
    let terms = Terms {
        lease: ticks(2),
        ..serialized()
    };
    let setting = Setting {
        habits: &[Habit::GoesOn, Habit::Despairs, Habit::Renews, Habit::Releases],
        shows: &[Sight::LateEvidence, Sight::TakenOver],
        ..Setting::new("SERIALIZED, renewed and given up", terms)
    };
    sized(size, sizes, setting)
}

/// The receiver refuses, lookups cannot tell, and an operator decides.
fn operated(size: Size) -> Setting {
    let sizes = [(4, [1, 1], 0), (5, [2, 1], 0), (6, [2, 2], 0)];
    let mut terms = by_lookup();
    terms.retry.max_verifications = 1;
    terms.retry.max_attempts = 1;
    let setting = Setting {
        decisions: 1,
        words: &[
            Word::Absent,
            Word::Confirmed,
            Word::Rejected,
            Word::Abandoned,
            Word::Reopen,
        ],
        habits: &[Habit::Busy, Habit::Refuses, Habit::Blinks],
        shows: &[
            Sight::Known(Known::Accepted),
            Sight::Known(Known::Rejected),
            Sight::Known(Known::Abandoned),
            Sight::Blocked(BlockReason::VerificationsExhausted),
            Sight::Blocked(BlockReason::AttemptsExhausted),
        ],
        ..Setting::new("SERIALIZED, by lookup, with an operator", terms)
    };
    sized(size, sizes, setting)
}

/// The receiver hides effects for longer than it says. One attempt only, so that it cannot double.
fn doubtful(size: Size) -> Setting {
    let sizes = [(5, [1, 1], 0), (7, [1, 2], 0), (8, [2, 2], 0)];
    let mut terms = by_lookup();
    terms.retry.max_attempts = 1;
    let setting = Setting {
        hides: 9,
        shows: &[Sight::Blocked(BlockReason::Contradiction)],
        ..Setting::new("SERIALIZED, contradicting itself", terms)
    };
    sized(size, sizes, setting)
}

/// Executions may begin for two ticks only.
fn budgeted(size: Size) -> Setting {
    let sizes = [(4, [1, 1], 0), (6, [2, 1], 0), (7, [2, 2], 0)];
    let mut terms = serialized();
    terms.retry.total_budget = ticks(2);
    let setting = Setting {
        habits: &[Habit::BeginApart, Habit::Busy],
        shows: &[Sight::Blocked(BlockReason::BudgetExhausted)],
        ..Setting::new("SERIALIZED, gate apart, within a budget", terms)
    };
    sized(size, sizes, setting)
}

/// The receiver honours the outward key, for a while.
fn keyed(size: Size) -> Setting {
    let sizes = [(5, [1, 1], 0), (6, [2, 1], 0), (8, [2, 2], 0)];
    let mut terms = deduplicated(4);
    terms.lease = ticks(2);
    terms.retry.max_attempts = 3;
    let setting = Setting {
        decisions: 1,
        words: &[Word::Confirmed, Word::NewKey, Word::Reopen],
        habits: &[Habit::Busy, Habit::Renews],
        shows: &[
            Sight::Resent,
            Sight::Blocked(BlockReason::DeduplicationWindowPassed),
        ],
        ..Setting::new("DEDUPLICATED", terms)
    };
    sized(size, sizes, setting)
}

/// The receiver refuses stale tokens; nobody needs it.
fn fencing(size: Size) -> Setting {
    let sizes = [(5, [1, 1], 0), (6, [2, 1], 0), (7, [2, 2], 0)];
    let setting = Setting {
        habits: &[Habit::GoesOn],
        shows: &[Sight::Retried],
        ..Setting::new("FENCED", fenced())
    };
    sized(size, sizes, setting)
}

/// Workers freeze between begin and their first byte; lookups read what has landed and raise the floor.
fn frozen(size: Size) -> Setting {
    let sizes = [(5, [1, 1], 0), (7, [1, 1], 0), (8, [2, 1], 0)];
    let setting = Setting {
        hides: 0,
        habits: &[Habit::GoesOn, Habit::Freezes],
        shows: &[Sight::LateEvidence],
        ..Setting::new("FENCED, workers freeze", fenced())
    };
    sized(size, sizes, setting)
}

/// Nothing is known of the receiver, and workers freeze. A person closes it, or confirms what he sees.
fn at_most_once(size: Size) -> Setting {
    let sizes = [(4, [1, 1], 0), (5, [2, 1], 0), (6, [2, 2], 1)];
    let setting = Setting {
        decisions: 2,
        words: &[Word::Confirmed, Word::Rejected, Word::Abandoned, Word::Reopen],
        habits: &[Habit::BeginApart, Habit::Freezes, Habit::Busy],
        shows: &[
            Sight::Blocked(BlockReason::Unverifiable),
            Sight::Known(Known::Abandoned),
        ],
        ..Setting::new("AT_MOST_ONCE, workers freeze", cautious())
    };
    sized(size, sizes, setting)
}

/// A person approves, and says so when there is nothing.
fn approving(size: Size) -> Setting {
    let sizes = [(4, [1, 1], 0), (5, [1, 1], 1), (6, [2, 2], 1)];
    let terms = Terms {
        approval: ApprovalNeed::Required,
        ..cautious()
    };
    let setting = Setting {
        decisions: 2,
        words: &[Word::Approve, Word::Deny, Word::Absent, Word::Reopen],
        habits: &[Habit::Despairs],
        shows: &[
            Sight::Known(Known::AwaitingApproval),
            Sight::Known(Known::Rejected),
        ],
        ..Setting::new("AT_MOST_ONCE, approved, with an operator who looks", terms)
    };
    sized(size, sizes, setting)
}

/// Two facts; what is missing is done once.
fn resuming(size: Size) -> Setting {
    let sizes = [(4, [2, 1], 0), (5, [2, 1], 0), (6, [2, 2], 0)];
    let terms = Terms {
        effect_class: EffectClass::Reversible,
        on_partial: OnPartial::Resume,
        ..serialized()
    };
    let setting = Setting {
        facts: 2,
        habits: &[Habit::GoesOn, Habit::Halves],
        shows: &[
            Sight::Known(Known::Partial),
            Sight::Resumed,
            Sight::Blocked(BlockReason::Partial),
        ],
        ..Setting::new("RESUME", terms)
    };
    sized(size, sizes, setting)
}

/// The receiver answers before the effect; jobs fail, and webhooks tell.
fn queueing(size: Size) -> Setting {
    let sizes = [(3, [1, 1], 0), (4, [1, 1], 0), (5, [2, 1], 0)];
    let setting = Setting {
        habits: &[Habit::GoesOn, Habit::JobsFail, Habit::Witnesses],
        shows: &[
            Sight::Known(Known::Accepted),
            Sight::Known(Known::NotFound),
            Sight::Retried,
            Sight::Blocked(BlockReason::EffectDeadlinePassed),
        ],
        ..Setting::new("asynchronous", asynchronous())
    };
    sized(size, sizes, setting)
}

/// A synchronous standby is promoted, and commits may be cut off on their way to it.
fn failing_over(size: Size) -> Setting {
    let sizes = [(4, [1, 1], 0), (6, [1, 1], 0), (7, [2, 1], 0)];
    let setting = Setting {
        failovers: 1,
        habits: &[Habit::CutOff, Habit::GoesOn],
        shows: &[Sight::FailedOver],
        ..Setting::new("SERIALIZED, a failover", serialized())
    };
    sized(size, sizes, setting)
}
