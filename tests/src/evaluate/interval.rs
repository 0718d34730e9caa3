//! Shares with their 95 % intervals, and medians.

use std::time::Duration;

/// The two-sided 95 % point of the normal distribution.
const Z: f64 = 1.959_964;

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub hits: u32,
    pub of: u32,
}

impl Share {
    pub fn value(self) -> f64 {
        if self.of == 0 {
            0.0
        } else {
            f64::from(self.hits) / f64::from(self.of)
        }
    }

    /// Wilson's interval: unlike the normal one it says something at 0 of n, which is the case that matters here.
    pub fn interval(self) -> (f64, f64) {
        if self.of == 0 {
            return (0.0, 1.0);
        }
        let n = f64::from(self.of);
        let p = self.value();
        let centre = p + Z * Z / (2.0 * n);
        let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z * Z / n;
        (
            ((centre - spread) / scale).max(0.0),
            ((centre + spread) / scale).min(1.0),
        )
    }
}

impl std::iter::Sum for Share {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), |sum, share| Self {
            hits: sum.hits + share.hits,
            of: sum.of + share.of,
        })
    }
}

/// The value that the given part of all values does not exceed; zero of none.
pub fn quantile(lengths: &[Duration], part: f64) -> Duration {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index between 0 and the number of episodes"
    )]
    let index = (last as f64 * part).round() as usize;
    sorted.get(index.min(last)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(hits: u32, of: u32) -> (f64, f64) {
        let (low, high) = Share { hits, of }.interval();
        ((low * 1_000.0).round() / 10.0, (high * 1_000.0).round() / 10.0)
    }

    #[test]
    fn intervals_are_wilsons() {
        assert_eq!(percent(0, 25), (0.0, 13.3));
        assert_eq!(percent(25, 25), (86.7, 100.0));
        assert_eq!(percent(13, 25), (33.5, 70.0));
        assert_eq!(percent(0, 1_000), (0.0, 0.4));
    }

    #[test]
    fn the_median_is_the_middle_one() {
        let lengths = [3, 1, 2].map(Duration::from_millis);
        assert_eq!(quantile(&lengths, 0.5), Duration::from_millis(2));
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }
}
