//! A small generator for permutations and null distributions. Its sequence never changes, so a verdict never does either.

/// `SplitMix64`. Source: Steele, Lea, Flood (2014), "Fast Splittable Pseudorandom Number Generators", OOPSLA.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
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
