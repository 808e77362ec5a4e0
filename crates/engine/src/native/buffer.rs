//! Generates the data to write, with the declared compressibility and duplication, fast enough not to limit the measurement.
//!
//! Random words come from a pool that stays in the CPU's cache. Every piece of 1 KiB begins at a random place in the pool and is
//! XORed with its own word, so no two pieces share a run of bytes that a compressor could find, however far it looks back. For
//! compressible data the first part of each piece is random and the rest zero, like fio's (fio's pieces of 512 bytes are too
//! short for lz4 to reach the requested ratio). Duplicates repeat the block before them.

use super::random::{Random, SplitMix};

/// The size of the pieces that are part random, part zero.
pub(crate) const PIECE_BYTES: usize = 1024;
const WORD_BYTES: usize = 8;
const PIECE_WORDS: usize = PIECE_BYTES / WORD_BYTES;

/// The bytes generated in one step.
const STEP_BYTES: usize = 32;

/// The words of the pool: 64 KiB.
const POOL_WORDS: usize = 8192;

/// Generates any block from one word: the same word always gives the same bytes.
#[derive(Clone)]
pub(crate) struct Pattern {
    pool: Box<[u8]>,
    random_percent: usize,
}

impl Pattern {
    /// Creates the pattern; `compress_percentage` is the share of zeros in every piece.
    pub(crate) fn new(mut random: Random, compress_percentage: u8) -> Self {
        let pool = (0..POOL_WORDS + PIECE_WORDS).flat_map(|_| random.next().to_ne_bytes()).collect();
        Self { pool, random_percent: usize::from(100 - compress_percentage.min(100)) }
    }

    /// Fills a block from the word `content`.
    #[inline]
    pub(crate) fn fill(&self, content: u64, block: &mut [u8]) {
        self.fill_from(content, 0, block);
    }

    /// Fills the part of a block that begins at its piece number `first`.
    #[inline]
    pub(crate) fn fill_from(&self, content: u64, first: u64, part: &mut [u8]) {
        let mut mix = SplitMix::new(content);
        mix.skip(2 * first);
        for piece in part.chunks_mut(PIECE_BYTES) {
            self.fill_piece(piece, mix.next(), mix.next());
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the pool's words")]
    fn fill_piece(&self, piece: &mut [u8], place: u64, key: u64) {
        let from = (place as usize & (POOL_WORDS - 1)) * WORD_BYTES;
        let random_bytes = piece.len() * self.random_percent / 100;
        let (random, zeros) = piece.split_at_mut(random_bytes);
        zeros.fill(0);
        mix(random, self.pool.get(from..).unwrap_or_default(), key);
    }
}

/// XORs bytes of the pool with a key, repeatedly: in steps of fixed length, which become vector instructions, and as a separate
/// function, so that its speed doesn't depend on its callers.
#[inline(never)]
fn mix(target: &mut [u8], pool: &[u8], key: u64) {
    let key: [u8; STEP_BYTES] = std::array::from_fn(|i| key.to_ne_bytes()[i % WORD_BYTES]);
    let (steps, rest) = target.as_chunks_mut::<STEP_BYTES>();
    let (pool_steps, _) = pool.as_chunks::<STEP_BYTES>();
    let done = steps.len() * STEP_BYTES;
    for (step, from) in steps.iter_mut().zip(pool_steps) {
        for ((byte, from), key) in step.iter_mut().zip(from).zip(&key) {
            *byte = from ^ key;
        }
    }
    let pool_rest = pool.get(done..).unwrap_or_default();
    for ((byte, from), key) in rest.iter_mut().zip(pool_rest).zip(&key) {
        *byte = from ^ key;
    }
}

/// Fills one block after another.
#[derive(Clone)]
pub(crate) struct Generator {
    pattern: Pattern,
    random: Random,
    dedupe_percentage: u8,
    content: u64,
}

impl Generator {
    /// Creates a generator. `compress_percentage`: the share of zeros in every piece. `dedupe_percentage`: the share of blocks
    /// that repeat the one before.
    pub(crate) fn new(seed: u64, stream: u64, compress_percentage: u8, dedupe_percentage: u8) -> Self {
        let mut random = Random::new(seed, stream ^ 0x6461_7461);
        let pattern = Pattern::new(Random::new(seed, stream ^ 0x706f_6f6c), compress_percentage);
        let content = random.next();
        Self { pattern, random, dedupe_percentage, content }
    }

    /// Fills a block.
    #[inline]
    pub(crate) fn fill(&mut self, block: &mut [u8]) {
        if self.dedupe_percentage == 0 || !self.random.percent(self.dedupe_percentage) {
            self.content = self.random.next();
        }
        self.pattern.fill(self.content, block);
    }
}

#[cfg(test)]
mod tests {
    use super::{Generator, PIECE_BYTES, Pattern};
    use crate::native::random::Random;
    use std::collections::BTreeSet;
    use std::io::Write as _;

    const RECORD: usize = 128 << 10;

    fn record(compress: u8, block: usize) -> Vec<u8> {
        let mut generator = Generator::new(1, 2, compress, 0);
        let mut bytes = vec![0xaa; RECORD];
        bytes.chunks_mut(block).for_each(|b| generator.fill(b));
        bytes
    }

    fn ratios(bytes: &[u8]) -> [(&'static str, f64); 3] {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        zlib.write_all(bytes).unwrap();
        let ratio =
            |n: usize| f64::from(u32::try_from(bytes.len()).unwrap()) / f64::from(u32::try_from(n).unwrap());
        [
            ("lz4", ratio(lz4_flex::block::compress(bytes).len())),
            ("zstd", ratio(zstd::bulk::compress(bytes, 3).unwrap().len())),
            ("zlib", ratio(zlib.finish().unwrap().len())),
        ]
    }

    #[test]
    fn compressors_obtain_what_was_declared() {
        for (percent, wanted) in [(0, 1.0), (33, 1.5), (50, 2.0), (75, 4.0)] {
            for block in [4096, 16 << 10, RECORD] {
                for (compressor, ratio) in ratios(&record(percent, block)) {
                    assert!(
                        (ratio / wanted - 1.0).abs() < 0.05,
                        "{percent} % in blocks of {block}: {compressor} obtains {ratio:.3}, declared {wanted}"
                    );
                }
            }
        }
    }

    #[test]
    fn nothing_repeats_however_far_a_compressor_looks() {
        let mut generator = Generator::new(3, 0, 0, 0);
        let mut bytes = vec![0; 16 << 20];
        bytes.chunks_mut(4096).for_each(|b| generator.fill(b));
        let mut zstd = zstd::Encoder::new(Vec::new(), 3).unwrap();
        zstd.long_distance_matching(true).unwrap();
        zstd.window_log(25).unwrap();
        zstd.write_all(&bytes).unwrap();
        assert!(zstd.finish().unwrap().len() >= bytes.len());
    }

    #[test]
    fn duplicates_are_as_many_as_declared() {
        for percent in [0, 20, 50, 100] {
            let mut generator = Generator::new(4, 0, 0, percent);
            let mut seen = BTreeSet::new();
            let mut block = vec![0; 512];
            for _ in 0..10_000 {
                generator.fill(&mut block);
                seen.insert(block.clone());
            }
            let wanted = 100 * (100 - usize::from(percent));
            assert!(seen.len().abs_diff(wanted) < 260, "{percent} %: {} different of 10000", seen.len());
        }
    }

    #[test]
    fn any_length_is_filled_to_its_end() {
        for length in [1, 7, 8, 511, 512, 513, 1000, 4097] {
            let mut generator = Generator::new(5, 0, 0, 0);
            let mut or = vec![0_u8; length];
            for _ in 0..32 {
                let mut block = vec![0; length];
                generator.fill(&mut block);
                or.iter_mut().zip(block).for_each(|(o, b)| *o |= b);
            }
            assert!(or.iter().all(|b| *b != 0), "length {length}");
        }
    }

    #[test]
    fn seeds_and_streams_give_different_data() {
        let first = |seed, stream| {
            let mut block = vec![0; 64];
            Generator::new(seed, stream, 0, 0).fill(&mut block);
            block
        };
        assert_eq!(first(1, 1), first(1, 1));
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }

    #[test]
    fn any_part_of_a_block_can_be_made_again() {
        for compress in [0, 40, 100] {
            let pattern = Pattern::new(Random::new(6, 0), compress);
            let mut block = vec![1; 5 * PIECE_BYTES + 300];
            pattern.fill(77, &mut block);
            for (first, expected) in (0..).zip(block.chunks(PIECE_BYTES)) {
                let mut part = vec![2; expected.len()];
                pattern.fill_from(77, first, &mut part);
                assert_eq!(part, expected, "piece {first} at {compress} %");
            }
        }
    }
}
