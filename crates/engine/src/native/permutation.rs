//! Random orders that touch every block exactly once, without a map of touched blocks.
//!
//! A counter runs through 0..2^bits and is mixed by a bijection on that many bits: multiplications by odd numbers, additions and
//! right xor-shifts, which are all invertible. Results beyond the last block are skipped, on average less than one per block.

use super::random::Random;

/// A bijection on 0..2^bits.
#[derive(Debug, Clone)]
struct Mixer {
    mask: u64,
    shift: u32,
    odd: [u64; ROUNDS],
    add: [u64; ROUNDS],
}

/// The rounds of mixing. Two already look random in the tests below; this is one more.
const ROUNDS: usize = 3;

impl Mixer {
    fn new(blocks: u64, random: &mut Random) -> Self {
        let bits = 64 - blocks.saturating_sub(1).leading_zeros();
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        Self {
            mask,
            shift: bits.div_ceil(2).max(1),
            odd: std::array::from_fn(|_| random.next() | 1),
            add: std::array::from_fn(|_| random.next()),
        }
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        for (odd, add) in self.odd.iter().zip(self.add) {
            x = x.wrapping_mul(*odd).wrapping_add(add) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

/// All of 0..blocks in a random order, then in another, and so on.
#[derive(Debug, Clone)]
pub(crate) struct Permutation {
    blocks: u64,
    mixer: Mixer,
    next: Option<u64>,
    random: Random,
}

impl Permutation {
    /// Creates a permutation; `blocks` must not be 0.
    pub(crate) fn new(blocks: u64, mut random: Random) -> Self {
        let mixer = Mixer::new(blocks, &mut random);
        Self { blocks, mixer, next: Some(0), random }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        loop {
            let Some(counter) = self.next else {
                self.start_over();
                continue;
            };
            self.next = (counter < self.mixer.mask).then(|| counter + 1);
            let block = self.mixer.mix(counter);
            if block < self.blocks {
                return block;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn start_over(&mut self) {
        self.mixer = Mixer::new(self.blocks, &mut self.random);
        self.next = Some(0);
    }
}

/// A fixed bijection on 0..blocks: it scatters the most used blocks of a skewed distribution.
#[derive(Debug, Clone)]
pub(crate) struct Scatter {
    blocks: u64,
    mixer: Mixer,
}

impl Scatter {
    /// Creates the bijection; `blocks` must not be 0.
    pub(crate) fn new(blocks: u64, random: &mut Random) -> Self {
        Self { blocks, mixer: Mixer::new(blocks, random) }
    }

    /// The block of a rank below `blocks`. It mixes again until the result is below `blocks`, which follows a cycle of the
    /// bijection and so is a bijection too.
    #[inline]
    pub(crate) fn block(&self, rank: u64) -> u64 {
        let mut x = self.mixer.mix(rank);
        while x >= self.blocks {
            x = self.mixer.mix(x);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::{Permutation, Scatter};
    use crate::native::random::Random;
    use crate::native::testing::{chi_square, chi_square_limit};
    use proptest::prelude::{any, proptest};
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_block_once_in_each_pass(blocks in 1_u64..3000, seed in any::<u64>()) {
            let mut order = Permutation::new(blocks, Random::new(seed, 0));
            for _ in 0..3 {
                let seen: BTreeSet<u64> = (0..blocks).map(|_| order.next()).collect();
                assert_eq!(seen.len() as u64, blocks);
                assert_eq!(seen.last(), Some(&(blocks - 1)));
            }
        }

        #[test]
        fn scattering_is_a_bijection(blocks in 1_u64..3000, seed in any::<u64>()) {
            let scatter = Scatter::new(blocks, &mut Random::new(seed, 0));
            let seen: BTreeSet<u64> = (0..blocks).map(|rank| scatter.block(rank)).collect();
            assert_eq!(seen.len() as u64, blocks);
            assert_eq!(seen.last(), Some(&(blocks - 1)));
        }
    }

    #[test]
    fn a_large_region_is_covered_once() {
        let blocks = 1_000_003_u64;
        let mut order = Permutation::new(blocks, Random::new(5, 1));
        let mut seen = vec![false; usize::try_from(blocks).unwrap()];
        for _ in 0..blocks {
            let slot = &mut seen[usize::try_from(order.next()).unwrap()];
            assert!(!*slot);
            *slot = true;
        }
    }

    #[test]
    fn passes_and_seeds_differ() {
        let mut order = Permutation::new(1000, Random::new(1, 0));
        let pass = |order: &mut Permutation| (0..1000).map(|_| order.next()).collect::<Vec<_>>();
        let (first, second) = (pass(&mut order), pass(&mut order));
        assert_ne!(first, second);
        assert_ne!(first, pass(&mut Permutation::new(1000, Random::new(2, 0))));
        assert_eq!(first, pass(&mut Permutation::new(1000, Random::new(1, 0))));
    }

    /// What a drive sees looks random: the place in the region, the distance from the last one, and whether it is even or odd.
    #[test]
    fn positions_steps_and_parities_look_random() {
        let mut failed = 0;
        let mut checks = 0;
        for seed in 0..20 {
            let blocks = 100_000 + seed * 7919;
            let mut order = Permutation::new(blocks, Random::new(seed, 0));
            let picked: Vec<u64> = (0..20_000).map(|_| order.next()).collect();
            let mut position = vec![0_u64; 64];
            let mut pair = vec![0_u64; 64];
            let mut parity = vec![0_u64; 4];
            for two in picked.chunks(2) {
                let eighth = |x: u64| x * 8 / blocks;
                position[usize::try_from(two[0] * 64 / blocks).unwrap()] += 1;
                pair[usize::try_from(eighth(two[0]) * 8 + eighth(two[1])).unwrap()] += 1;
                parity[usize::try_from(two[0] % 2 * 2 + two[1] % 2).unwrap()] += 1;
            }
            for counts in [&position, &pair, &parity] {
                let even = vec![1.0 / f64::from(u32::try_from(counts.len()).unwrap()); counts.len()];
                checks += 1;
                failed += u32::from(chi_square(counts, &even) > chi_square_limit(counts.len() - 1));
            }
        }
        // Each one fails in one of 1000 cases by chance.
        assert!(failed <= 2, "{failed} of {checks} failed");
    }
}
