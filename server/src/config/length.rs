//! Lengths of time as people write them on a command line: a whole number and a unit.

use std::time::Duration;

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Reads `250ms`, `1s`, `5m`, `24h`.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let Some((_, millis)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err("needs a whole number and a unit, such as 250ms, 1s, 5m or 24h".into());
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*millis))
        .map(Duration::from_millis)
        .ok_or_else(|| "is too long, or has no number before its unit".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_needs_its_unit() {
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "1", "s", "1.5s", "-1s", "1 s", "99999999999999999999h"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
