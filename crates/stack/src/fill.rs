//! Incompressible data.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// xoshiro256** (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", 2018), seeded by splitmix64 as its authors
/// advise. No cipher, but nothing compresses or deduplicates it.
#[derive(Debug, Clone)]
pub(crate) struct Noise(Xoshiro256StarStar);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256StarStar::seed_from_u64(seed))
    }

    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        self.0.fill_bytes(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::Noise;

    #[test]
    fn seeds_differ_and_bytes_are_even() {
        let (mut a, mut b) = (vec![0_u8; 65_537], vec![0_u8; 65_537]);
        Noise::new(1).fill(&mut a);
        Noise::new(2).fill(&mut b);
        assert_ne!(a, b);
        let mut counts = [0_u32; 256];
        a.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (150..=370).contains(count)), "{counts:?}");
    }
}
