//! Lengths of time as people say them, and as the wire carries them. Knows no clock: `clock` does.

use std::time::{Duration, SystemTime};

/// So many seconds.
pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// So many minutes.
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(60))
}

/// So many hours.
pub const fn hours(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(60 * 60))
}

/// So many days of 24 hours.
pub const fn days(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(24 * 60 * 60))
}

/// For the wire, in whole microseconds. A length beyond what the wire can carry becomes the longest that it can: the
/// service refuses it with the field's name.
pub(crate) fn to_wire(length: Duration) -> prost_types::Duration {
    let seconds = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
    // Below 1e9 by construction, so the conversion holds.
    let nanos = i32::try_from(length.subsec_micros() * 1_000).unwrap_or_default();
    prost_types::Duration { seconds, nanos }
}

/// From the wire; unset or negative is zero: no time left, nothing to wait for.
pub(crate) fn from_wire(length: Option<prost_types::Duration>) -> Duration {
    length
        .and_then(|length| Duration::try_from(length).ok())
        .unwrap_or_default()
}

/// A time of the database, for people and logs.
pub(crate) fn time_from_wire(time: Option<prost_types::Timestamp>) -> Option<SystemTime> {
    time.and_then(|time| SystemTime::try_from(time).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_carried_in_whole_microseconds() {
        let wire = to_wire(Duration::new(3, 1_999));
        assert_eq!((wire.seconds, wire.nanos), (3, 1_000));
        assert_eq!(from_wire(Some(wire)), Duration::from_nanos(3_000_001_000));
    }

    #[test]
    fn a_negative_length_leaves_no_time() {
        let negative = prost_types::Duration {
            seconds: -1,
            nanos: 0,
        };
        assert_eq!(from_wire(Some(negative)), Duration::ZERO);
        assert_eq!(from_wire(None), Duration::ZERO);
    }
}
