//! How long, how much and how often: what the person at the keyboard decides, and the numbers that everything else is
//! measured by.

use std::time::Duration;

/// Servers of the one database.
pub const SERVERS: usize = 3;

/// Worker processes; each works for every fleet.
pub const WORKERS: usize = 6;

/// One action of each fleet comes up this often. Two busy cores get this done with room for the backlog of a failover.
pub const PERIOD: Duration = Duration::from_millis(250);

/// Between the start of the workers and the first action: they connect first.
pub const HEAD_START: Duration = Duration::from_millis(300);

/// A run of this length injects every kind of fault at least [`FLOOR`] times; a shorter one in proportion.
pub const FULL: Duration = Duration::from_secs(60);

/// A kind that was injected fewer times tests nothing that could be relied on.
pub const FLOOR: usize = 10;

/// On a slow machine a failover takes long. The storm goes on until every kind has been injected often enough, but not
/// for longer than this many times the length that was asked for,
pub const PATIENCE: u32 = 4;

/// and this much, without which a short run could not wait for a single one.
pub const LEAST_PATIENCE: Duration = Duration::from_secs(60);

/// After the storm, what is open has this long to be decided: some leases, quiet times and backoffs.
pub const CALM: Duration = Duration::from_secs(120);

/// What one run is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    pub seed: u64,
    pub length: Duration,
}

impl Wishes {
    /// How many times each kind of fault has to be injected.
    pub fn floor(&self) -> usize {
        let share = self.length.as_secs_f64() / FULL.as_secs_f64();
        // Rounded down: a short run is a smoke test.
        let scaled = (0..=FLOOR)
            .rev()
            .find(|count| *count as f64 <= FLOOR as f64 * share);
        scaled.unwrap_or(FLOOR).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_run_injects_every_kind_ten_times_and_a_short_one_at_least_once() {
        let floor = |seconds| {
            let length = Duration::from_secs(seconds);
            Wishes { seed: 1, length }.floor()
        };
        assert_eq!(
            [floor(1), floor(8), floor(30), floor(60), floor(600)],
            [1, 1, 5, 10, 10]
        );
    }
}
