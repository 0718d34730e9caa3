//! Deadlines: how long a call may take, from its `grpc-timeout` header.

use std::time::{Duration, Instant};

use http::HeaderMap;

use crate::service::Line;

/// A caller that names no deadline still wants an answer before it has forgotten the question.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);

/// No call is worked on for longer, whatever its caller allows: a longer wait is asked for again.
pub const MAX_DEADLINE: Duration = Duration::from_secs(60);

/// What is kept back of a caller's deadline where an answer must still arrive within it: more than a round trip.
const MARGIN: Duration = Duration::from_millis(250);

/// The one call whose caller names the wait in the message, so that only the maximum bounds it.
const WAITING_CALL: &str = "/deed.v1.Ledger/WaitAction";

/// The life of one call, put into its extensions by the envelope.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// When it arrived at this replica.
    pub arrived: Instant,
    /// When its caller gives up, or when the replica does.
    pub deadline: Instant,
    /// With whose calls it takes turns.
    pub line: Line,
}

impl Life {
    /// A call that arrives now.
    pub fn of(path: &str, headers: &HeaderMap) -> Self {
        let default = if path == WAITING_CALL {
            MAX_DEADLINE
        } else {
            DEFAULT_DEADLINE
        };
        let allowed = headers
            .get("grpc-timeout")
            .and_then(|value| value.to_str().ok())
            .and_then(timeout)
            .unwrap_or(default)
            .min(MAX_DEADLINE);
        Self::lasting(allowed)
    }

    /// A call that arrives now and may take this long.
    pub fn lasting(allowed: Duration) -> Self {
        let arrived = Instant::now();
        Self {
            arrived,
            deadline: arrived + allowed,
            line: Line::Connection(None),
        }
    }

    /// The same life, ending a little earlier: so that its answer still arrives within the caller's.
    pub fn shortened(self) -> Self {
        let margin = MARGIN.min(self.left() / 4);
        Self {
            deadline: self.deadline - margin,
            ..self
        }
    }

    /// How much time is left.
    pub fn left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// `grpc-timeout`: 1 to 8 digits and a unit. Anything else counts as none, as in other servers.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let plain = (1..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = plain.then(|| digits.parse().ok())??;
    Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_read_as_grpc_defines_it() {
        let cases = [
            ("10S", Some(Duration::from_secs(10))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3_600))),
            ("1M", Some(Duration::from_secs(60))),
            ("250m", Some(Duration::from_millis(250))),
            ("7u", Some(Duration::from_micros(7))),
            ("0n", Some(Duration::ZERO)),
            ("", None),
            ("S", None),
            ("10", None),
            ("-1S", None),
            ("+1S", None),
            ("123456789S", None),
            ("1é", None),
        ];
        for (text, expected) in cases {
            assert_eq!(timeout(text), expected, "{text}");
        }
    }

    #[test]
    fn no_call_lives_longer_than_the_maximum() {
        let mut headers = HeaderMap::new();
        let life = |path, headers: &HeaderMap| {
            let life = Life::of(path, headers);
            life.deadline - life.arrived
        };
        assert_eq!(life("/deed.v1.Ownership/Claim", &headers), DEFAULT_DEADLINE);
        assert_eq!(life(WAITING_CALL, &headers), MAX_DEADLINE);
        headers.insert("grpc-timeout", "5M".parse().unwrap());
        assert_eq!(life("/deed.v1.Ownership/Claim", &headers), MAX_DEADLINE);
        headers.insert("grpc-timeout", "5S".parse().unwrap());
        assert_eq!(life(WAITING_CALL, &headers), Duration::from_secs(5));
    }
}
