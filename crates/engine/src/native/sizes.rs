//! The sizes of I/Os: fio's `bs`, `bsrange` and `bssplit`.

use super::random::Random;
use record::workload::{Options, SizeRange, SizeShare};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The draws that don't fit before the smallest size is used.
const TRIES: usize = 64;

/// Block sizes that can't be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum SizesError {
    #[error("a block size of {0} bytes can't be")]
    Bytes(u64),
    #[error("bsrange and bssplit exclude each other")]
    RangeAndSplit,
    #[error("bsrange: {high} is not a multiple of {low}")]
    NoMultiple { low: u32, high: u32 },
    #[error("the shares of bssplit add up to {0}, not to 100")]
    Shares(u32),
}

/// The sizes of a job's I/Os, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sizes {
    /// One size for all.
    One(u32),
    /// Multiples of the low end up to the high end, each equally often.
    Range {
        /// The smallest size, and the distance between sizes.
        low: u32,
        /// The largest size.
        high: u32,
    },
    /// Sizes, each with its percentage of the I/Os.
    Split(Vec<(u32, u8)>),
}

impl Sizes {
    /// # Errors
    /// Invalid sizes.
    pub(crate) fn new(options: &Options) -> Result<Self, SizesError> {
        let bytes = |n: u64| u32::try_from(n).ok().filter(|n| *n > 0).ok_or(SizesError::Bytes(n));
        match (&options.bsrange, options.bssplit.as_slice()) {
            (Some(_), [_, ..]) => Err(SizesError::RangeAndSplit),
            (Some(SizeRange { low_bytes, high_bytes }), []) => {
                let (low, high) = (bytes(*low_bytes)?, bytes(*high_bytes)?);
                if high < low || !high.is_multiple_of(low) {
                    return Err(SizesError::NoMultiple { low, high });
                }
                Ok(if low == high { Self::One(low) } else { Self::Range { low, high } })
            }
            (None, []) => bytes(options.bs_bytes).map(Self::One),
            (None, shares) => {
                let share = |s: &SizeShare| Ok((bytes(s.bs_bytes)?, s.percent));
                let shares = shares.iter().map(share).collect::<Result<Vec<_>, SizesError>>()?;
                match shares.iter().map(|(_, percent)| u32::from(*percent)).sum() {
                    100 => Ok(Self::Split(shares)),
                    other => Err(SizesError::Shares(other)),
                }
            }
        }
    }

    /// The smallest size in bytes: places are counted in it, and random offsets are its multiples.
    pub(crate) fn smallest(&self) -> u64 {
        match self {
            Self::One(bytes) | Self::Range { low: bytes, .. } => (*bytes).into(),
            Self::Split(shares) => shares.iter().map(|(bytes, _)| *bytes).min().unwrap_or(0).into(),
        }
    }

    /// The largest size in bytes, for which a buffer needs space.
    pub(crate) fn largest(&self) -> u64 {
        match self {
            Self::One(bytes) | Self::Range { high: bytes, .. } => (*bytes).into(),
            Self::Split(shares) => shares.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0).into(),
        }
    }

    /// Whether there are several sizes.
    pub(crate) fn vary(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    /// Draws a size of at most `room` bytes, where `room` must hold the smallest: one that doesn't fit is drawn again, as in fio.
    #[inline(never)]
    pub(crate) fn draw(&self, random: &mut Random, room: u64) -> u32 {
        match self {
            Self::One(bytes) => *bytes,
            Self::Range { low, high } => {
                let most = room.min((*high).into()) / u64::from(*low);
                let factor = 1 + random.below(most.max(1));
                u32::try_from(factor * u64::from(*low)).unwrap_or(*low)
            }
            Self::Split(shares) => {
                let fits = (0..TRIES).map(|_| one_of(shares, random)).find(|bytes| u64::from(*bytes) <= room);
                fits.unwrap_or_else(|| u32::try_from(self.smallest()).unwrap_or(0))
            }
        }
    }
}

fn one_of(shares: &[(u32, u8)], random: &mut Random) -> u32 {
    let mut point = random.below(100);
    for (bytes, percent) in shares {
        match point.checked_sub(u64::from(*percent)) {
            Some(rest) => point = rest,
            None => return *bytes,
        }
    }
    shares.last().map_or(0, |(bytes, _)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::Sizes;
    use crate::native::random::Random;
    use crate::native::testing::{chi_square, chi_square_limit};
    use proptest::prelude::{any, prop, proptest};
    use record::workload::{Options, Rw, SizeRange, SizeShare};

    /// How many of ten seeds give counts that one of 1000 gives by chance.
    fn misfits(sizes: &Sizes, all: &[u32], shares: &[f64]) -> usize {
        let exceeds = |seed: &u64| {
            let mut random = Random::new(*seed, 0);
            let mut counts = vec![0; all.len()];
            for _ in 0..50_000 {
                let drawn = sizes.draw(&mut random, u64::MAX);
                counts[all.iter().position(|size| *size == drawn).unwrap()] += 1;
            }
            chi_square(&counts, shares) > chi_square_limit(all.len() - 1)
        };
        (0..10).filter(exceeds).count()
    }

    #[test]
    fn a_range_is_drawn_evenly() {
        let sizes = Sizes::Range { low: 4096, high: 65536 };
        let all: Vec<u32> = (1..=16).map(|n| n * 4096).collect();
        assert!(misfits(&sizes, &all, &[1.0 / 16.0; 16]) <= 1);
        let mut skew = [1.0 / 16.0; 16];
        (skew[0], skew[15]) = (0.07, 0.055);
        assert_eq!(misfits(&sizes, &all, &skew), 10, "the test can tell");
    }

    #[test]
    fn a_split_has_its_shares() {
        let sizes = Sizes::Split(vec![(65536, 5), (4096, 60), (8192, 35)]);
        assert!(misfits(&sizes, &[65536, 4096, 8192], &[0.05, 0.6, 0.35]) <= 1);
        assert_eq!(misfits(&sizes, &[65536, 4096, 8192], &[0.04, 0.61, 0.35]), 10, "the test can tell");
        assert_eq!((sizes.smallest(), sizes.largest()), (4096, 65536));
    }

    #[test]
    fn sizes_are_those_asked_for() {
        let plain = Options::new(Rw::Read, 4096, 1 << 20);
        assert_eq!(Sizes::new(&plain), Ok(Sizes::One(4096)));
        let range = |low_bytes, high_bytes| Options {
            bsrange: Some(SizeRange { low_bytes, high_bytes }),
            ..plain.clone()
        };
        assert_eq!(Sizes::new(&range(4096, 16384)), Ok(Sizes::Range { low: 4096, high: 16384 }));
        assert!(Sizes::new(&range(4096, 10_000)).is_err());
        assert!(Sizes::new(&range(4096, 1 << 33)).is_err());
        let split = |percent| Options {
            bssplit: vec![SizeShare { bs_bytes: 4096, percent: 50 }, SizeShare { bs_bytes: 65536, percent }],
            ..plain.clone()
        };
        assert_eq!(Sizes::new(&split(50)), Ok(Sizes::Split(vec![(4096, 50), (65536, 50)])));
        assert!(Sizes::new(&split(49)).unwrap_err().to_string().contains("99"));
    }

    proptest! {
        #[test]
        fn what_is_drawn_fits(
            seed in any::<u64>(), low in 1_u32..100_000, times in 1_u32..50, room in 0_u64..1 << 22,
            others in prop::collection::vec(1_u32..1 << 22, 0..5),
        ) {
            let mut random = Random::new(seed, 0);
            let shares = [low].iter().chain(&others).map(|bytes| (*bytes, 10)).collect();
            for sizes in [Sizes::Range { low, high: low * times }, Sizes::Split(shares)] {
                let room = room.max(sizes.smallest());
                for _ in 0..50 {
                    let drawn = u64::from(sizes.draw(&mut random, room));
                    assert!(drawn >= sizes.smallest() && drawn <= room && drawn <= sizes.largest());
                }
            }
        }
    }
}
