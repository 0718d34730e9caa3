//! What an episode is put into: the level of faults, or late commits; the arm; how many workers.
//!
//! Owns the published probabilities and turns them into the receiver's dials.

use std::fmt;
use std::time::Duration;

use super::scale::Scale;
use super::task::Task;
use crate::receiver::{Dials, Fault, Idempotency, Magnitudes, Odds, StoredRefusals};

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// Sends again when it has no good answer.
    Blind,
    /// The published wrapper: looks once before it sends again, and trusts what it sees.
    Verify,
    Deed,
}

impl Arm {
    pub const ALL: [Self; 3] = [Self::Blind, Self::Verify, Self::Deed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Blind => "blind retry",
            Self::Verify => "verify, then retry",
            Self::Deed => "Deed",
        }
    }
}

/// How often the four faults strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not at all: what the arms cost by themselves.
    Calm,
    Low,
    Medium,
    High,
}

impl Level {
    /// The published ones.
    pub const PUBLISHED: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    pub fn name(self) -> &'static str {
        match self {
            Self::Calm => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Probabilities of timeout after dispatch, delayed visibility, partial success and stale conflict, per send.
    pub fn probabilities(self) -> [f64; 4] {
        match self {
            Self::Calm => [0.0; 4],
            Self::Low => [0.05, 0.05, 0.03, 0.02],
            Self::Medium => [0.20, 0.15, 0.10, 0.05],
            Self::High => [0.35, 0.25, 0.15, 0.10],
        }
    }
}

/// Whether the receiver honours the idempotency key that every send carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keys {
    Ignored,
    Honoured,
}

/// How late the receiver commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lateness {
    /// Within the settle window that Deed was told.
    InWindow,
    /// The premise is broken: nobody was told of a commit so late.
    BeyondWindow,
}

/// What the receiver does to sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trouble {
    Faults(Level),
    LateCommits(Keys, Lateness),
}

/// The probability of a late commit: that of a timeout at the high level.
pub const LATE_COMMITS: f64 = 0.35;

/// A key outlives every episode.
const KEY_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

impl Trouble {
    pub fn keys(self) -> Keys {
        match self {
            Self::Faults(_) => Keys::Ignored,
            Self::LateCommits(keys, _) => keys,
        }
    }

    /// How long after its arrival the last effect may come about.
    pub fn last_landing(self, scale: &Scale) -> Duration {
        match self {
            Self::Faults(_) => scale.service,
            Self::LateCommits(_, Lateness::InWindow) => scale.commit_in_window,
            Self::LateCommits(_, Lateness::BeyondWindow) => scale.commit_beyond_window,
        }
    }

    /// One seed for all: the draw is by business id, which names the episode's seed and not the arm.
    pub fn dials(self, scale: &Scale) -> Dials {
        let mut odds = Odds::default();
        match self {
            Self::Faults(level) => {
                let [timeout, hidden, partial, conflict] = level.probabilities();
                odds.answer_late = timeout;
                odds.hide = hidden;
                odds.part_only = partial;
                odds.conflict = conflict;
            }
            Self::LateCommits(..) => odds.apply_late = LATE_COMMITS,
        }
        let idempotency = match self.keys() {
            Keys::Ignored => Idempotency::Ignored,
            Keys::Honoured => Idempotency::Honoured {
                retention_ms: millis(KEY_RETENTION),
                refusals: StoredRefusals::Forgotten,
            },
        };
        Dials {
            idempotency,
            every: Fault::apply_after(millis(scale.service)),
            odds,
            magnitudes: Magnitudes {
                answer_late_ms: millis(scale.answer_late),
                apply_late_ms: millis(self.last_landing(scale)),
                hide_ms: millis(scale.hidden),
                ..Magnitudes::default()
            },
            ..Dials::default()
        }
    }
}

/// One cell of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub trouble: Trouble,
    pub task: Task,
    pub arm: Arm,
    pub workers: usize,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trouble,
            task,
            arm,
            workers,
        } = self;
        write!(
            f,
            "{}, {}, {trouble}, {workers} worker(s)",
            arm.name(),
            task.name()
        )
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faults(level) => write!(f, "faults {}", level.name()),
            Self::LateCommits(keys, lateness) => {
                let keys = match keys {
                    Keys::Ignored => "ignored",
                    Keys::Honoured => "honoured",
                };
                let lateness = match lateness {
                    Lateness::InWindow => "within the settle window",
                    Lateness::BeyondWindow => "beyond the settle window",
                };
                write!(f, "commits late, {lateness}, keys {keys}")
            }
        }
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
