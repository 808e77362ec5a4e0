//! Sizes of files: a distribution as a table of quantiles. Integers only, so that they are the same on every machine.

use crate::native::permutation::Scatter;
use crate::native::random::Random;

/// The shares in a table are parts of this.
const MILLION: u64 = 1_000_000;

/// Points of a distribution function: the number of files per million that are smaller than this many bytes. It is linear between
/// two points.
pub(crate) type Quantiles = &'static [(u64, u64)];

/// Mail: half of the files are below 1.7 KB, the most frequent size is about 2.5 KB, and a long tail raises the mean to 7,831
/// bytes.
pub(crate) const MAIL: Quantiles = &[
    (0, 310),
    (120_000, 620),
    (500_000, 1_700),
    (550_000, 2_380),
    (740_000, 2_620),
    (800_000, 3_600),
    (850_000, 5_200),
    (900_000, 9_000),
    (950_000, 18_000),
    (980_000, 50_000),
    (990_000, 110_000),
    (995_000, 205_000),
    (999_000, 640_000),
    (1_000_000, 1_406_600),
];

/// Source code: many small files, few large ones; the mean is about 16 KB, as in large C projects.
pub(crate) const SOURCE_TREE: Quantiles = &[
    (0, 0),
    (10_000, 40),
    (100_000, 480),
    (250_000, 1_600),
    (500_000, 4_300),
    (750_000, 12_000),
    (900_000, 30_000),
    (970_000, 68_000),
    (995_000, 200_000),
    (1_000_000, 900_000),
];

/// Photos of a camera with a 12 to 24 megapixel sensor.
pub(crate) const PHOTOS: Quantiles = &[
    (0, 900_000),
    (50_000, 1_800_000),
    (250_000, 2_900_000),
    (500_000, 3_700_000),
    (750_000, 4_700_000),
    (950_000, 7_200_000),
    (1_000_000, 11_000_000),
];

/// The sizes of a corpus: the files divide the distribution evenly, so that a small corpus resembles a large one.
pub(crate) struct Sizes {
    quantiles: Quantiles,
    files: u64,
    scatter: Scatter,
}

impl Sizes {
    /// Creates the sizes; `files` must not be 0.
    pub(crate) fn new(quantiles: Quantiles, files: u64, seed: u64) -> Self {
        let mut random = Random::new(seed, u64::MAX);
        Self { quantiles, files, scatter: Scatter::new(files, &mut random) }
    }

    /// The size of the file with this number.
    pub(crate) fn of(&self, number: u64) -> u64 {
        // The middle of the file's share, in parts of a million times 2^16: fine enough for any number of files.
        let rank = u128::from(self.scatter.block(number));
        let part = (2 * rank + 1) * u128::from(MILLION << 16) / (2 * u128::from(self.files));
        let at = u64::try_from(part).unwrap_or(MILLION << 16);
        let above = self.quantiles.iter().position(|(share, _)| share << 16 > at);
        let above = above.unwrap_or(self.quantiles.len() - 1).max(1);
        let ((from, low), (to, high)) = (self.quantiles[above - 1], self.quantiles[above]);
        let (into, width) = (u128::from(at - (from << 16)), u128::from((to - from) << 16));
        low + u64::try_from(u128::from(high - low) * into / width).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAIL, PHOTOS, SOURCE_TREE, Sizes};
    use record::copy::CorpusKind;

    fn sorted(files: u64, seed: u64) -> Vec<u64> {
        let sizes = Sizes::new(MAIL, files, seed);
        let mut all: Vec<u64> = (0..files).map(|n| sizes.of(n)).collect();
        all.sort_unstable();
        all
    }

    fn mode(sorted: &[u64], bin: u64) -> u64 {
        let mut bins = std::collections::BTreeMap::<u64, u64>::new();
        for size in sorted {
            *bins.entry(size / bin).or_default() += 1;
        }
        let (place, _) = bins.into_iter().max_by_key(|(_, count)| *count).unwrap();
        place * bin + bin / 2
    }

    /// The real archive: 273,273 files, 2.14 GB, mean 8 KB, median 1.7 KB, most frequent size about 2.5 KB.
    #[test]
    fn mail_has_the_sizes_of_the_archive() {
        let all = sorted(273_273, 1);
        let sum: u64 = all.iter().sum();
        assert!((2.13e9..2.15e9).contains(&(sum as f64)), "{sum} bytes");
        let mean = sum as f64 / 273_273.0;
        assert!((mean / 7831.0 - 1.0).abs() < 0.005, "mean {mean}");
        assert!((1_690..=1_710).contains(&all[all.len() / 2]), "median {}", all[all.len() / 2]);
        assert!((2_400..=2_600).contains(&mode(&all, 100)), "mode {}", mode(&all, 100));
        assert!((CorpusKind::Mail.mean_bytes() as f64 - mean).abs() <= 2.0, "{mean}");
    }

    #[test]
    fn a_small_corpus_resembles_the_whole() {
        for files in [1_000, 10_000] {
            let all = sorted(files, 7);
            let mean = all.iter().sum::<u64>() as f64 / files as f64;
            assert!((mean / 7831.0 - 1.0).abs() < 0.02, "{files} files: mean {mean}");
            assert!((1_650..=1_750).contains(&all[all.len() / 2]));
        }
    }

    #[test]
    fn means_of_the_others_are_as_said() {
        for (quantiles, kind) in [(SOURCE_TREE, CorpusKind::SourceTree), (PHOTOS, CorpusKind::Photos)] {
            let sizes = Sizes::new(quantiles, 20_000, 3);
            let mean = (0..20_000).map(|n| sizes.of(n)).sum::<u64>() as f64 / 20_000.0;
            assert!((mean / kind.mean_bytes() as f64 - 1.0).abs() < 0.01, "{kind:?}: {mean}");
        }
    }

    #[test]
    fn order_depends_on_the_seed_and_the_sizes_do_not() {
        assert_eq!(sorted(500, 1), sorted(500, 2));
        let of = |seed| (0..50).map(|n| Sizes::new(MAIL, 500, seed).of(n)).collect::<Vec<_>>();
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1));
    }
}
