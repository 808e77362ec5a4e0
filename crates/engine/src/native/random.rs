//! Random numbers: small, fast, seeded, and the same on every machine, always.
//!
//! xoshiro256++ (Blackman, Vigna 2019), seeded by splitmix64 as its authors advise.

/// The increment of splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// splitmix64: turns any seed into well mixed words.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Skips `count` words at once.
    #[inline]
    pub(crate) fn skip(&mut self, count: u64) {
        self.0 = self.0.wrapping_add(STEP.wrapping_mul(count));
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

/// xoshiro256++.
#[derive(Debug, Clone)]
pub(crate) struct Random([u64; 4]);

impl Random {
    /// Creates a stream; streams of different seeds, or of different `stream`s of one seed, are independent.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut mix = SplitMix::new(seed ^ SplitMix::new(stream).next());
        Self([mix.next(), mix.next(), mix.next(), mix.next()])
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let t = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= t;
        *d = d.rotate_left(45);
        result
    }

    /// A number below `bound`, by multiplication (Lemire 2019); its bias is below `bound` / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in 0.0..1.0 with 53 random bits.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits are just what a float holds")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// True in `percent` of 100 cases.
    #[inline]
    pub(crate) fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, SplitMix};

    #[test]
    fn splitmix_gives_its_authors_numbers() {
        // The reference values of Steele, Lea and Flood for seed 1234567.
        let mut mix = SplitMix::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| mix.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn words_can_be_skipped() {
        let (mut one_by_one, mut at_once) = (SplitMix::new(9), SplitMix::new(9));
        for _ in 0..1000 {
            one_by_one.next();
        }
        at_once.skip(1000);
        assert_eq!(one_by_one.next(), at_once.next());
    }

    #[test]
    fn xoshiro_gives_its_authors_numbers() {
        // The reference implementation's first words with state 1, 2, 3, 4.
        let mut random = Random([1, 2, 3, 4]);
        let first: Vec<u64> = (0..4).map(|_| random.next()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let mut all: Vec<u64> = (0..1000).map(|stream| Random::new(7, stream).next()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
    }

    #[test]
    fn a_mix_is_within_its_binomial_bounds() {
        let mut random = Random::new(3, 0);
        for percent in [0, 1, 30, 50, 70, 99, 100] {
            let n = 200_000.0;
            let hits = (0..200_000).filter(|_| random.percent(percent)).count();
            let p = f64::from(percent) / 100.0;
            // Five standard deviations.
            let allowed = 5.0 * (n * p * (1.0 - p)).sqrt();
            assert!((f64::from(u32::try_from(hits).unwrap()) - n * p).abs() <= allowed, "{percent}: {hits}");
        }
    }
}
