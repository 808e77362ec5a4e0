//! A small generator for permutations and null distributions. Its sequence never changes, so a verdict never does either.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// `SplitMix64`. Source: Steele, Lea, Flood (2014), "Fast Splittable Pseudorandom Number Generators", OOPSLA.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds exactly")]
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a uniform integer in 0 .. n (Lemire's multiplication; its bias, n / 2⁶⁴, is negligible here).
    #[expect(clippy::cast_possible_truncation, reason = "the upper half of the product is below n")]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}
