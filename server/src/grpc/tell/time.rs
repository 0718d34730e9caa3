//! Lengths and points of time.

use std::time::Duration;

use deed_core::time::{Span, Timestamp};

/// Microseconds in a second.
const MICROS: i64 = 1_000_000;

/// A point in time.
pub fn point(at: Timestamp) -> prost_types::Timestamp {
    let micros = at.micros();
    prost_types::Timestamp {
        seconds: micros.div_euclid(MICROS),
        // Below a million, so a thousand of it fits.
        nanos: i32::try_from(micros.rem_euclid(MICROS) * 1_000).unwrap_or_default(),
    }
}

/// A length of time.
pub fn span(span: Span) -> prost_types::Duration {
    length(Duration::from_micros(span.micros()))
}

/// A length of the replica's own time.
pub fn length(length: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(length.subsec_nanos()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_the_epoch_keep_their_nanos_positive() {
        let before = point(Timestamp::from_micros(-1));
        assert_eq!((before.seconds, before.nanos), (-1, 999_999_000));
        let after = point(Timestamp::from_micros(1_500_000));
        assert_eq!((after.seconds, after.nanos), (1, 500_000_000));
    }

    #[test]
    fn the_longest_span_still_has_a_message() {
        assert_eq!(span(Span::from_micros(u64::MAX)).seconds, 18_446_744_073_709);
    }
}
