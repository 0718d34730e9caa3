//! Lengths and points of time. The core counts whole microseconds; a part of one counts as a whole one.

use std::ops::RangeInclusive;

use deed_core::time::{Span, Timestamp};

use super::{At, Invalid};

/// Nanoseconds in a second, as the well-known types bound them.
const NANOS: RangeInclusive<i32> = 0..=999_999_999;

/// The longest wait that a receiver can ask for: what it wants later than in a year is another action.
pub const LONGEST_RETRY_AFTER: Span = Span::from_days(366);

/// A length of time. None was sent: None, and the default applies; a value that was sent is never replaced by it.
pub fn span(message: Option<prost_types::Duration>, field: &str) -> Result<Option<Span>, Invalid> {
    message.map(length).transpose().at(field)
}

fn length(message: prost_types::Duration) -> Result<Span, Invalid> {
    if message.seconds < 0 || message.nanos < 0 {
        return Err(Invalid::because("is negative; it must be a length of time"));
    }
    if !NANOS.contains(&message.nanos) {
        let reason = format!("has {} nanos; at most 999999999 are allowed", message.nanos);
        return Err(Invalid::because(reason));
    }
    let too_long = || Invalid::because("is too long to be counted in microseconds");
    let seconds = u64::try_from(message.seconds).map_err(|_| too_long())?;
    let nanos = u64::try_from(message.nanos).map_err(|_| too_long())?;
    seconds
        .checked_mul(1_000_000)
        .and_then(|micros| micros.checked_add(nanos.div_ceil(1_000)))
        .map(Span::from_micros)
        .ok_or_else(too_long)
}

/// A length of time within bounds.
pub fn span_within(
    message: Option<prost_types::Duration>,
    range: RangeInclusive<Span>,
    field: &str,
) -> Result<Option<Span>, Invalid> {
    let parsed = span(message, field)?;
    match parsed {
        Some(span) if !range.contains(&span) => {
            let reason = format!("is {span}; it must be from {} to {}", range.start(), range.end());
            Err(Invalid::because(reason)).at(field)
        }
        parsed => Ok(parsed),
    }
}

/// What a receiver asks to wait; no time at all where nothing was sent.
pub fn retry_after(message: Option<prost_types::Duration>) -> Result<Span, Invalid> {
    let parsed = span_within(message, Span::ZERO..=LONGEST_RETRY_AFTER, "retry_after")?;
    Ok(parsed.unwrap_or(Span::ZERO))
}

/// A point in time.
pub fn timestamp(message: Option<prost_types::Timestamp>, field: &str) -> Result<Option<Timestamp>, Invalid> {
    message.map(point).transpose().at(field)
}

/// The years 1 to 9999, as the well-known type bounds them; the database holds them all.
const SECONDS: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

fn point(message: prost_types::Timestamp) -> Result<Timestamp, Invalid> {
    if !NANOS.contains(&message.nanos) {
        let reason = format!("has {} nanos; from 0 to 999999999 are allowed", message.nanos);
        return Err(Invalid::because(reason));
    }
    if !SECONDS.contains(&message.seconds) {
        return Err(Invalid::because("lies outside the years 1 to 9999"));
    }
    let micros = message.seconds * 1_000_000 + i64::from(message.nanos) / 1_000;
    Ok(Timestamp::from_micros(micros))
}

/// Whether a point in time, in microseconds, is one that a caller could have been told.
pub fn plausible(micros: i64) -> bool {
    SECONDS.contains(&micros.div_euclid(1_000_000))
}
