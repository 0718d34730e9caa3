//! The worker's own view of one lease: whether it is *surely* live.
//!
//! Owns the arithmetic. It refuses to ask anybody: `renewals` prolongs it with what the service answers, and `perform`
//! starts and cancels sends by it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Moment};
use crate::locked;

/// How often a waiting guard reads the clocks again. A sleeping machine's timers stand still, so after it wakes up the
/// loss of the lease is noticed this late at most; half a second is short beside any sensible settle window.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Whether one lease is surely live. Clones are views of the same lease.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    clock: Arc<dyn Clock>,
    end: Arc<Mutex<Moment>>,
    revoked: CancellationToken,
}

impl Guard {
    /// `asked` is the moment *before* the call was sent.
    pub fn new(clock: Arc<dyn Clock>, asked: Moment, waited: Duration, lease_left: Duration) -> Self {
        let end = end_of_lease(clock.as_ref(), asked, waited, lease_left);
        Self {
            clock,
            end: Arc::new(Mutex::new(end)),
            revoked: CancellationToken::new(),
        }
    }

    /// Takes over a longer lease; never a shorter one.
    pub fn extend(&self, asked: Moment, waited: Duration, lease_left: Duration) {
        let later = end_of_lease(self.clock.as_ref(), asked, waited, lease_left);
        let mut end = locked(&self.end);
        // SUBTLE: the pair is replaced as one. The larger of each would keep an old wall-clock end after the wall clock
        // was set back, and a machine that sleeps then would find its lease live for too long.
        if later.monotonic > end.monotonic {
            *end = later;
        }
    }

    /// The service said that the lease is lost, or the process stops.
    pub fn revoke(&self) {
        self.revoked.cancel();
    }

    /// Lease time left, on the clock that says less.
    pub fn time_left(&self) -> Duration {
        if self.revoked.is_cancelled() {
            return Duration::ZERO;
        }
        locked(&self.end).ahead_of(Moment::now(self.clock.as_ref()))
    }

    /// Whether the lease is surely live.
    pub fn live(&self) -> bool {
        self.time_left() > Duration::ZERO
    }

    /// Returns once the lease is no longer surely live.
    pub async fn lost(&self) {
        loop {
            let left = self.time_left();
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left.min(LOOK_AGAIN)) => {}
                () = self.revoked.cancelled() => return,
            }
        }
    }
}

/// The service read its time no earlier than `asked + waited`, and from there `lease_left` counts.
fn end_of_lease(clock: &dyn Clock, asked: Moment, waited: Duration, lease_left: Duration) -> Moment {
    // SUBTLE: the service cannot have waited for longer than the whole call took, whatever its clocks say; more would
    // give this worker time that it does not have.
    let took = Moment::now(clock).monotonic.saturating_sub(asked.monotonic);
    asked.plus(waited.min(took)).plus(lease_left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ManualClock;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// A lease of 10 s, granted by a call that took 4 s, of which the service waited `waited` before the grant.
    fn granted(waited: Duration) -> (Arc<ManualClock>, Guard) {
        let clock = Arc::new(ManualClock::default());
        let asked = Moment::now(clock.as_ref());
        clock.pass(seconds(4));
        (clock.clone(), Guard::new(clock, asked, waited, seconds(10)))
    }

    #[test]
    fn b08_time_waited_inside_the_service_does_not_count_against_the_lease() {
        assert_eq!(granted(seconds(3)).1.time_left(), seconds(9));
        assert_eq!(granted(Duration::ZERO).1.time_left(), seconds(6));
    }

    #[test]
    fn the_service_cannot_have_waited_for_longer_than_the_call_took() {
        assert_eq!(granted(seconds(60)).1.time_left(), seconds(10));
    }

    #[test]
    fn a_machine_that_slept_finds_its_lease_lost() {
        let (clock, guard) = granted(Duration::ZERO);
        clock.sleep_machine(seconds(7));
        assert!(!guard.live());
    }

    #[test]
    fn a_wall_clock_set_back_does_not_prolong_a_lease() {
        let (clock, guard) = granted(Duration::ZERO);
        clock.set_wall_back(seconds(3_600));
        clock.pass(seconds(6));
        assert!(!guard.live());
    }

    #[test]
    fn a_renewal_never_shortens() {
        let (clock, guard) = granted(Duration::ZERO);
        guard.extend(Moment::now(clock.as_ref()), Duration::ZERO, seconds(2));
        assert_eq!(guard.time_left(), seconds(6));
        guard.extend(Moment::now(clock.as_ref()), Duration::ZERO, seconds(10));
        assert_eq!(guard.time_left(), seconds(10));
    }

    #[tokio::test]
    async fn a_revoked_lease_is_lost_at_once() {
        let (_clock, guard) = granted(Duration::ZERO);
        guard.revoke();
        guard.lost().await;
        assert!(!guard.live());
    }
}
