//! A sample of a disk's contents: how many blocks hold data. It finds data without any signature.

use crate::candidate::Candidate;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt as _};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The size of a sampled block in bytes.
const BLOCK_BYTES: u64 = 4096;
/// The number of sweeps over the whole disk, so that a sample that ends early still covers the whole disk.
const SWEEPS: u64 = 16;

/// How thorough a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    blocks: u64,
    lasts: Duration,
}

impl Effort {
    /// For a disk that is about to be claimed.
    pub const CLAIM: Self = Self { blocks: 4096, lasts: Duration::from_secs(30) };
    /// For a list of all disks.
    pub const LIST: Self = Self { blocks: 128, lasts: Duration::from_millis(500) };
}

/// The contents of blocks at random places all over a disk. A block is blank when all its bytes are 00, or all are FF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The size of a block in bytes.
    pub block_bytes: u64,
    /// The number of blocks on the disk.
    pub disk_blocks: u64,
    /// The number of blocks that were read: one at a random place in each of as many equal parts of the disk.
    pub read_blocks: u64,
    /// The number of these blocks that aren't blank.
    pub data_blocks: u64,
    /// The number of blocks that could not be read, and so are neither blank nor data.
    pub unreadable_blocks: u64,
    /// The time of the sample, in milliseconds since 1970 (UTC).
    pub taken_unix_ms: u64,
}

impl Sample {
    /// Takes a sample of a disk.
    ///
    /// # Errors
    /// When the disk can't be opened, or none of its blocks can be read.
    pub fn of(disk: &Candidate, effort: Effort) -> io::Result<Self> {
        let open =
            |flags| File::options().read(true).custom_flags(libc::O_NONBLOCK | flags).open(disk.path());
        let size = disk.size_bytes();
        // O_DIRECT bypasses the page cache, which could answer for the disk and would be filled.
        let direct = open(libc::O_DIRECT).and_then(|file| Self::take(&file, size, effort, seed()));
        direct.or_else(|_| Self::take(&open(0)?, size, effort, seed()))
    }

    fn take(disk: &dyn FileExt, size_bytes: u64, effort: Effort, seed: u64) -> io::Result<Self> {
        let disk_blocks = size_bytes / BLOCK_BYTES;
        let mut sample = Self {
            block_bytes: BLOCK_BYTES,
            disk_blocks,
            read_blocks: 0,
            data_blocks: 0,
            unreadable_blocks: 0,
            taken_unix_ms: unix_ms(),
        };
        let (begun, mut failure) = (Instant::now(), None);
        for block in places(disk_blocks, effort.blocks, seed) {
            if begun.elapsed() > effort.lasts {
                break;
            }
            match is_blank(disk, block * BLOCK_BYTES) {
                Ok(blank) => {
                    sample.read_blocks += 1;
                    sample.data_blocks += u64::from(!blank);
                }
                Err(error) => {
                    sample.unreadable_blocks += 1;
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(error) if sample.read_blocks == 0 => Err(error),
            _ => Ok(sample),
        }
    }

    /// Whether any block holds data or could not be read.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data_blocks > 0 || self.unreadable_blocks > 0
    }

    /// Whether every block of the disk was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.read_blocks == self.disk_blocks
    }

    /// The share of the read blocks that hold data, in percent.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a few thousand blocks")]
    pub fn data_percent(&self) -> f64 {
        if self.read_blocks == 0 { 0.0 } else { 100.0 * self.data_blocks as f64 / self.read_blocks as f64 }
    }

    /// The share of the disk in percent that may hold data although no sampled block does, with 95 % confidence.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand blocks")]
    fn unseen_percent(&self) -> f64 {
        100.0 * (1.0 - 0.05_f64.powf(1.0 / self.read_blocks.max(1) as f64))
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.read_blocks;
        let of = if self.is_whole() { "of all" } else { "of a sample of" };
        let kib = self.block_bytes >> 10;
        match self.data_blocks {
            0 if self.is_whole() => write!(f, "none of its {read} blocks of {kib} KiB holds data")?,
            0 => write!(
                f,
                "none of a sample of {read} blocks of {kib} KiB holds data; at most {} % of the disk does (95 % confidence)",
                short(self.unseen_percent())
            )?,
            data => {
                let percent = short(self.data_percent());
                write!(f, "{data} {of} {read} blocks of {kib} KiB hold data ({percent} %)")?;
            }
        }
        if self.unreadable_blocks > 0 {
            write!(f, "; {} more can't be read", self.unreadable_blocks)?;
        }
        Ok(())
    }
}

/// Formats a percentage with two significant digits, as far as necessary.
fn short(percent: f64) -> String {
    let digits = if percent >= 10.0 {
        0
    } else if percent >= 1.0 {
        1
    } else {
        2
    };
    format!("{percent:.digits$}")
}

/// The block numbers of a sample: all if there are few, else a random one in each of `wanted` equal parts; in several sweeps.
fn places(disk_blocks: u64, wanted: u64, seed: u64) -> Vec<u64> {
    let parts = wanted.min(disk_blocks);
    let mut random = SplitMix64::seed_from_u64(seed);
    let in_part = |part: u64| {
        let edge = |part: u64| {
            u64::try_from(u128::from(part) * u128::from(disk_blocks) / u128::from(parts)).unwrap_or(u64::MAX)
        };
        let (from, to) = (edge(part), edge(part + 1));
        from + random.next_u64() % (to - from).max(1)
    };
    let all: Vec<u64> = (0..parts).map(in_part).collect();
    // The sweeps have the order 0, 8, 4, 12, 2...: after each one, the sampled parts are spread evenly over the disk.
    let sweeps = (0..SWEEPS).map(|n| n.reverse_bits() >> (u64::BITS - SWEEPS.trailing_zeros()));
    let step = usize::try_from(SWEEPS).unwrap_or(1);
    sweeps
        .flat_map(|first| all.iter().skip(usize::try_from(first).unwrap_or(0)).step_by(step).copied())
        .collect()
}

fn is_blank(disk: &dyn FileExt, offset: u64) -> io::Result<bool> {
    let length = usize::try_from(BLOCK_BYTES).unwrap_or(0);
    // O_DIRECT needs memory with the alignment of the disk's blocks.
    let mut memory = vec![0_u8; 2 * length];
    let start = memory.as_ptr().align_offset(length).min(length);
    let block = &mut memory[start..start + length];
    disk.read_exact_at(block, offset)?;
    Ok(matches!(block[0], 0x00 | 0xFF) && block.iter().all(|byte| *byte == block[0]))
}

fn seed() -> u64 {
    u64::from(std::process::id()) ^ unix_ms() << 20
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, Effort, Sample, places};
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;
    use std::time::Duration;

    const EFFORT: Effort = Effort { blocks: 256, lasts: Duration::from_secs(60) };

    fn disk(blocks: u64, data: impl Iterator<Item = u64>) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(blocks * BLOCK_BYTES).unwrap();
        for block in data {
            file.write_all_at(b"x", block * BLOCK_BYTES + 77).unwrap();
        }
        file
    }

    fn take(disk: &File, seed: u64) -> Sample {
        Sample::take(disk, disk.metadata().unwrap().len(), EFFORT, seed).unwrap()
    }

    #[test]
    fn a_small_disk_is_read_whole() {
        let blank = take(&disk(200, 0..0), 1);
        assert!(blank.is_whole() && !blank.has_data());
        assert_eq!(blank.to_string(), "none of its 200 blocks of 4 KiB holds data");
        let one = take(&disk(200, 137..138), 1);
        assert_eq!((one.read_blocks, one.data_blocks), (200, 1));
        assert_eq!(one.to_string(), "1 of all 200 blocks of 4 KiB hold data (0.50 %)");
    }

    #[test]
    fn a_large_one_is_sampled_and_told_so() {
        let quarter = disk(10_000, (0..10_000).filter(|block| block % 4 == 0));
        let sample = take(&quarter, 42);
        assert_eq!(sample.read_blocks, 256);
        assert!((15.0..35.0).contains(&sample.data_percent()), "{sample}");
        let text = take(&disk(10_000, 0..0), 42).to_string();
        assert_eq!(
            text,
            "none of a sample of 256 blocks of 4 KiB holds data; at most 1.2 % of the disk does (95 % confidence)"
        );
    }

    #[test]
    fn erased_flash_is_blank_and_half_a_block_is_not() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[0xFF; 4096], 0).unwrap();
        file.write_all_at(&[0xFF; 2048], 4096).unwrap();
        file.set_len(8192).unwrap();
        assert_eq!(take(&file, 1).data_blocks, 1);
    }

    #[test]
    fn every_part_of_the_disk_is_looked_at_also_when_time_runs_out() {
        let all = places(1 << 30, 4096, 7);
        assert_eq!(all.len(), 4096);
        let part = |block: &u64| block >> 18;
        let mut parts: Vec<u64> = all.iter().map(part).collect();
        parts.sort_unstable();
        assert!(parts.iter().copied().eq(0..4096), "one place in each part");
        let early: Vec<u64> = all.iter().take(512).map(part).collect();
        assert!(early.iter().any(|p| *p < 16) && early.iter().any(|p| *p > 4080));
        assert_ne!(all, places(1 << 30, 4096, 8), "other places each time");
        assert!(places(0, 4096, 7).is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_not_blank() {
        let short = disk(10, 0..0);
        let sample = Sample::take(&short, 20 * BLOCK_BYTES, EFFORT, 1).unwrap();
        assert_eq!((sample.read_blocks, sample.unreadable_blocks), (10, 10));
        assert!(sample.has_data() && sample.to_string().ends_with("10 more can't be read"), "{sample}");
        assert!(Sample::take(&disk(0, 0..0), 20 * BLOCK_BYTES, EFFORT, 1).is_err());
    }
}
