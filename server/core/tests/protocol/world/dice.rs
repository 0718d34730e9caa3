//! Deterministic randomness: one number names a world.

use deed_core::time::Span;

/// A splitmix64 sequence (Steele, Lea, Flood 2014): no state but a counter, so that a seed is a world for good.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// A length of time up to `longest`, its end included: rules break at their edges.
    pub fn within(&mut self, longest: Span) -> Span {
        match self.below(10) {
            0 => longest,
            _ => Span::from_micros(self.below(longest.micros() + 1)),
        }
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = usize::try_from(self.below(from.len() as u64)).unwrap();
        &from[at]
    }
}
