//! Zones of accesses: fio's `random_distribution=zoned` and `zoned_abs`.
//!
//! A zone has a share of the accesses and a part of the region, in order; inside a zone all blocks are equally likely.

use super::random::Random;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The part of the region that a zone covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extent {
    /// In percent of the region.
    Percent(u8),
    /// In bytes.
    Bytes(u64),
}

/// A zone as requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Zone {
    /// Its percentage of the accesses.
    pub(crate) accesses: u8,
    pub(crate) extent: Extent,
}

/// Parses fio's notation, without the kind: `60/10:30/20:10/70` (or `60/1g:40/2g`).
pub(crate) fn parse(text: &str, absolute: bool) -> Option<Vec<Zone>> {
    let zone = |part: &str| {
        let (accesses, extent) = part.split_once('/')?;
        let extent = match absolute {
            false => Extent::Percent(extent.parse().ok().filter(|p| *p > 0)?),
            true => Extent::Bytes(bytes(extent).filter(|b| *b > 0)?),
        };
        Some(Zone { accesses: accesses.parse().ok()?, extent })
    };
    let zones = text.split(':').map(zone).collect::<Option<Vec<Zone>>>()?;
    let accesses: u32 = zones.iter().map(|z| u32::from(z.accesses)).sum();
    let percent = zones.iter().map(|z| match z.extent {
        Extent::Percent(percent) => u32::from(percent),
        Extent::Bytes(_) => 0,
    });
    let whole = absolute || percent.sum::<u32>() == 100;
    (accesses == 100 && whole).then_some(zones)
}

/// A number with fio's suffix, a power of 1024.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text.get(digits.len()..)?.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1024_u64.pow(power))
}

/// A zone that its region doesn't hold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a zone of random_distribution would be bytes {from} to {to} of {has}; use a larger size")]
pub(crate) struct ZoneError {
    from: u64,
    to: u64,
    has: u64,
}

/// Zones of a region, in blocks.
#[derive(Debug, Clone)]
pub(crate) struct Zones {
    /// Of each zone: the percentage of the accesses up to its end, its first block, and its number of blocks.
    zones: Vec<(u64, u64, u64)>,
}

impl Zones {
    /// # Errors
    /// When the region doesn't hold a zone.
    pub(crate) fn new(asked: &[Zone], blocks: u64, block_bytes: u64) -> Result<Self, ZoneError> {
        let (mut accesses, mut percent, mut bytes, mut first) = (0, 0, 0_u64, 0);
        let mut zones = Vec::with_capacity(asked.len());
        for zone in asked {
            let end = match zone.extent {
                Extent::Percent(share) => {
                    percent += u128::from(share);
                    u64::try_from(u128::from(blocks) * percent / 100).unwrap_or(blocks)
                }
                Extent::Bytes(extent) => {
                    bytes = bytes.saturating_add(extent);
                    bytes / block_bytes.max(1)
                }
            };
            if end > blocks || end <= first {
                let (from, to) = (first * block_bytes, end.saturating_mul(block_bytes));
                return Err(ZoneError { from, to, has: blocks * block_bytes });
            }
            accesses += u64::from(zone.accesses);
            zones.push((accesses, first, end - first));
            first = end;
        }
        Ok(Self { zones })
    }

    #[inline]
    pub(crate) fn next(&self, random: &mut Random) -> u64 {
        let point = random.below(100);
        for (accesses, first, blocks) in &self.zones {
            if point < *accesses {
                return first + random.below(*blocks);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, Zone, Zones, parse};
    use crate::native::random::Random;
    use crate::native::testing::{chi_square, chi_square_limit};

    /// How many of ten seeds exceed the value that one of 1000 exceeds by chance.
    fn misfits(zones: &Zones, shares: &[f64]) -> usize {
        let exceeds = |seed: &u64| {
            let mut random = Random::new(*seed, 0);
            let mut counts = vec![0; shares.len()];
            (0..200_000).for_each(|_| counts[usize::try_from(zones.next(&mut random)).unwrap()] += 1);
            chi_square(&counts, shares) > chi_square_limit(shares.len() - 1)
        };
        (0..10).filter(exceeds).count()
    }

    /// Shares of 200 blocks.
    fn shares(zones: &[(f64, usize)]) -> Vec<f64> {
        zones.iter().flat_map(|(percent, blocks)| vec![percent / 100.0 / *blocks as f64; *blocks]).collect()
    }

    #[test]
    fn fios_example_fits() {
        let zones = Zones::new(&parse("60/10:30/20:8/30:2/40", false).unwrap(), 200, 4096).unwrap();
        let wanted = [(60.0, 20), (30.0, 40), (8.0, 60), (2.0, 80)];
        assert!(misfits(&zones, &shares(&wanted)) <= 1);
        let other = [(57.0, 20), (33.0, 40), (8.0, 60), (2.0, 80)];
        assert_eq!(misfits(&zones, &shares(&other)), 10, "the test can tell");
    }

    #[test]
    fn absolute_zones_fit_and_leave_the_rest_alone() {
        let zones = Zones::new(&parse("75/40k:25/160K", true).unwrap(), 200, 4096).unwrap();
        let mut random = Random::new(1, 0);
        let drawn: Vec<u64> = (0..10_000).map(|_| zones.next(&mut random)).collect();
        assert_eq!(drawn.iter().max(), Some(&49));
        let wanted = shares(&[(75.0, 10), (25.0, 40)]);
        assert!(misfits(&zones, &wanted) <= 1);
    }

    #[test]
    fn fios_notation() {
        let zone = |accesses, percent| Zone { accesses, extent: Extent::Percent(percent) };
        assert_eq!(parse("90/10:10/90", false), Some(vec![zone(90, 10), zone(10, 90)]));
        for wrong in ["90/10:10/80", "90/10:20/90", "100", "a/b", "", "90/10:10/90,50/50", "100/0"] {
            assert_eq!(parse(wrong, false), None, "{wrong}");
        }
        for wrong in ["100/1kb", "100/x", "100/0", "50/1g"] {
            assert_eq!(parse(wrong, true), None, "{wrong}");
        }
    }

    #[test]
    fn a_region_must_hold_all_zones() {
        let zones = parse("50/1:50/99", false).unwrap();
        assert!(Zones::new(&zones, 99, 4096).unwrap_err().to_string().contains("larger size"));
        assert!(Zones::new(&zones, 100, 4096).is_ok());
        let zones = parse("50/1m:50/1g", true).unwrap();
        assert!(Zones::new(&zones, 1000, 4096).is_err());
    }
}
