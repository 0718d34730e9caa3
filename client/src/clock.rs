//! The worker's two clocks. A lease is measured on both: the monotonic clock stands still while a machine sleeps, the wall
//! clock can be set back, and only a lease that is live on both is surely live.
//!
//! Owns reading them. What follows from a reading is the guard's; how long to sleep is tokio's.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

/// Where the client reads the time. Replaceable, so that a test can let a machine sleep.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Never runs backwards; may stand still while the machine sleeps. Counts from anywhere.
    fn monotonic(&self) -> Duration;

    /// Time of day since 1970; goes on while the machine sleeps.
    fn wall(&self) -> Duration;
}

/// The clocks of this machine.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> Duration {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
    }
}

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub monotonic: Duration,
    pub wall: Duration,
}

impl Moment {
    pub fn now(clock: &dyn Clock) -> Self {
        Self {
            monotonic: clock.monotonic(),
            wall: clock.wall(),
        }
    }

    pub fn plus(self, length: Duration) -> Self {
        Self {
            monotonic: self.monotonic.saturating_add(length),
            wall: self.wall.saturating_add(length),
        }
    }

    /// How far this lies ahead of `now` on the clock that says less.
    pub fn ahead_of(self, now: Self) -> Duration {
        let monotonic = self.monotonic.saturating_sub(now.monotonic);
        let wall = self.wall.saturating_sub(now.wall);
        monotonic.min(wall)
    }
}
