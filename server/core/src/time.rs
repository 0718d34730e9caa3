//! Points and lengths of time, as numbers.
//!
//! The core never reads a clock: every time it sees is the database's, handed in by the store. Both types count whole
//! microseconds, the resolution of Postgres, and saturate instead of overflowing.

use std::fmt;

/// A point in time: microseconds since the Unix epoch, by the database's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A length of time in microseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the Unix epoch; zero before it. Fencing tokens grow along this number.
    pub fn millis(self) -> u64 {
        u64::try_from(self.0 / 1_000).unwrap_or(0)
    }

    /// The time `span` later.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }

    /// The time `span` earlier.
    #[must_use]
    pub const fn minus(self, span: Span) -> Self {
        Self(self.0.saturating_sub_unsigned(span.0))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Span {
        Span(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// From seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// From hours.
    pub const fn from_hours(hours: u64) -> Self {
        Self::from_secs(hours.saturating_mul(3_600))
    }

    /// From days of 24 hours.
    pub const fn from_days(days: u64) -> Self {
        Self::from_hours(days.saturating_mul(24))
    }

    /// In microseconds.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Whether this is no time at all.
    pub const fn empty(self) -> bool {
        self.0 == 0
    }

    /// Both lengths one after the other.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Scaled by `thousandths` / 1000.
    #[must_use]
    pub fn scaled(self, thousandths: u32) -> Self {
        let scaled = u128::from(self.0) * u128::from(thousandths) / 1_000;
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}us", self.0)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1_000_000) {
            write!(f, "{} s", self.0 / 1_000_000)
        } else if self.0.is_multiple_of(1_000) {
            write!(f, "{} ms", self.0 / 1_000)
        } else {
            write!(f, "{} us", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_saturates_instead_of_overflowing() {
        let end = Timestamp::from_micros(i64::MAX);
        assert_eq!(end.plus(Span::from_secs(1)), end);
        assert_eq!(Timestamp::from_micros(5).since(end), Span::ZERO);
        assert_eq!(
            Span::from_micros(u64::MAX).scaled(2_000),
            Span::from_micros(u64::MAX)
        );
    }

    #[test]
    fn a_time_before_the_epoch_gives_no_token_floor() {
        assert_eq!(Timestamp::from_micros(-1_500).millis(), 0);
        assert_eq!(Timestamp::from_micros(1_999).millis(), 1);
    }
}
