//! Promises that somebody breaks: the receiver, a worker, the operator, the clock, the standby.

use super::{Trap, plain, premise, world};
use crate::setting::{Habit, Setting, Word};
use crate::terms::{asynchronous, cautious, deduplicated, fenced, serialized};

/// All of them.
pub fn all() -> Vec<Trap> {
    let keyed = world(deduplicated(4), 5, [1, 1], &[]);
    let step = Setting {
        allowed_step: 1,
        clock_steps: 1,
        ..plain(4)
    };
    let frozen = Setting {
        hides: 0,
        habits: &[Habit::GoesOn, Habit::Freezes],
        ..world(fenced(), 4, [1, 1], &[])
    };
    let watched = Setting {
        decisions: 1,
        words: &[Word::Absent],
        ..world(cautious(), 4, [1, 1], &[])
    };
    let standby = Setting {
        failovers: 1,
        ..world(serialized(), 3, [1, 1], &[Habit::CutOff])
    };
    vec![
        premise(
            "the receiver is slower than the settle window",
            plain(5),
            |world| world.hides = 3,
        ),
        premise(
            "a worker skips the gate",
            Setting {
                habits: &[Habit::BeginApart],
                ..plain(4)
            },
            |world| {
                world.habits = &[Habit::BeginApart, Habit::SkipsTheGate];
            },
        ),
        premise("SERIALIZED: a worker freezes after begin", plain(4), |world| {
            world.habits = &[Habit::GoesOn, Habit::Freezes];
        }),
        premise("the clock steps further than is allowed for", step, |world| {
            world.allowed_step = 0
        }),
        premise("FENCED: lookups raise no floor (C6)", frozen.clone(), |world| {
            world.habits = &[Habit::GoesOn, Habit::Freezes, Habit::LeavesTheFloor];
        }),
        premise("FENCED: a worker freezes and lookups lag", frozen, |world| {
            world.hides = 1
        }),
        premise(
            "DEDUPLICATED: the receiver forgets keys too early",
            keyed.clone(),
            |world| world.remembers = 1,
        ),
        premise(
            "DEDUPLICATED: a worker freezes beyond the window",
            keyed,
            |world| {
                world.habits = &[Habit::Freezes];
            },
        ),
        premise(
            "asynchronous: jobs take longer than the deadline",
            world(asynchronous(), 6, [1, 1], &[Habit::GoesOn]),
            |world| {
                world.queues = 4;
            },
        ),
        premise(
            "an operator says \"absent\" while a worker is frozen",
            watched,
            |world| {
                world.habits = &[Habit::Freezes];
            },
        ),
        premise("nobody waits for the standby", standby, |world| {
            world.habits = &[Habit::CutOff, Habit::LazyStandby];
        }),
    ]
}
