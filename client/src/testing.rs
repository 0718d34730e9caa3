//! A clock that stands still until a test moves it. Only for this crate's own unit tests.

use std::sync::Mutex;
use std::time::Duration;

use crate::clock::{Clock, Moment};
use crate::locked;

#[derive(Debug)]
pub struct ManualClock(Mutex<Moment>);

impl Default for ManualClock {
    fn default() -> Self {
        Self(Mutex::new(Moment {
            monotonic: Duration::from_secs(1_000),
            wall: Duration::from_secs(1_700_000_000),
        }))
    }
}

impl ManualClock {
    pub fn pass(&self, length: Duration) {
        let mut now = locked(&self.0);
        *now = now.plus(length);
    }

    /// Only the wall clock goes on while a machine sleeps.
    pub fn sleep_machine(&self, length: Duration) {
        locked(&self.0).wall += length;
    }

    pub fn set_wall_back(&self, length: Duration) {
        locked(&self.0).wall -= length;
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        locked(&self.0).monotonic
    }

    fn wall(&self) -> Duration {
        locked(&self.0).wall
    }
}
