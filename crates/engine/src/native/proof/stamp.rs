//! The content of a unit (a block of the smallest size) under `verify`: a header that identifies it, and a body that follows from
//! the header.
//!
//! | byte | what (little endian) |
//! | --- | --- |
//! | 0 | magic, `dskproof` |
//! | 8 | CRC-32C of all other bytes of the unit |
//! | 12 | number of the file, in the order of the trial's files |
//! | 16 | the trial |
//! | 24 | the unit's place, from the beginning of the file or device |
//! | 32 | generation: 0 as laid out, n as written for the nth time |
//! | 36 | length of the unit |
//! | 40 | the body, at the declared compressibility |

use crate::native::buffer::Pattern;
use crate::native::random::{Random, SplitMix};

/// The size that storage writes atomically, as far as any promise goes.
pub(crate) const SECTOR_BYTES: usize = 512;

/// The length of a header.
pub(crate) const HEADER_BYTES: usize = 40;

const MAGIC: [u8; 8] = *b"dskproof";

/// The place of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The file's number.
    pub(crate) file: u32,
    /// From the beginning of the file or device.
    pub(crate) offset_bytes: u64,
}

/// The fields of a unit's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) trial: u64,
    pub(crate) spot: Spot,
    pub(crate) generation: u32,
    pub(crate) length_bytes: u32,
}

impl Header {
    /// A unit's header, if it has one.
    #[inline]
    pub(crate) fn read(unit: &[u8]) -> Option<Self> {
        if unit.get(..8)? != MAGIC {
            return None;
        }
        Some(Self {
            trial: long(unit, 16)?,
            spot: Spot { file: word(unit, 12)?, offset_bytes: long(unit, 24)? },
            generation: word(unit, 32)?,
            length_bytes: word(unit, 36)?,
        })
    }

    #[inline]
    fn write(self, unit: &mut [u8]) {
        put(unit, 0, &MAGIC);
        put(unit, 12, &self.spot.file.to_le_bytes());
        put(unit, 16, &self.trial.to_le_bytes());
        put(unit, 24, &self.spot.offset_bytes.to_le_bytes());
        put(unit, 32, &self.generation.to_le_bytes());
        put(unit, 36, &self.length_bytes.to_le_bytes());
    }
}

#[inline]
fn word(unit: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*unit.get(at..)?.first_chunk()?))
}

#[inline]
fn long(unit: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*unit.get(at..)?.first_chunk()?))
}

#[inline]
fn put(unit: &mut [u8], at: usize, bytes: &[u8]) {
    unit.iter_mut().skip(at).zip(bytes).for_each(|(target, byte)| *target = *byte);
}

/// Whether a unit's bytes match its checksum.
#[inline]
pub(crate) fn is_whole(unit: &[u8]) -> bool {
    word(unit, 8).is_some_and(|told| told == checksum(unit))
}

#[inline]
fn checksum(unit: &[u8]) -> u32 {
    let (magic, rest) = unit.split_at(8.min(unit.len()));
    let after = rest.get(4..).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c(magic), after)
}

/// Generates a trial's units, any number of times.
#[derive(Clone)]
pub(crate) struct Stamper {
    trial: u64,
    pattern: Pattern,
}

impl Stamper {
    /// Creates a stamper; the same trial and compressibility give the same units.
    pub(crate) fn new(trial: u64, compress_percentage: u8) -> Self {
        Self { trial, pattern: Pattern::new(Random::new(trial, 0x7665_7269_6679), compress_percentage) }
    }

    pub(crate) fn trial(&self) -> u64 {
        self.trial
    }

    /// Generates a unit of a generation.
    #[inline]
    pub(crate) fn stamp(&self, spot: Spot, generation: u32, unit: &mut [u8]) {
        self.pattern.fill(self.content(spot, generation), unit);
        self.header(spot, generation, unit.len()).write(unit);
        let sum = checksum(unit);
        put(unit, 8, &sum.to_le_bytes());
    }

    /// Generates one piece of a unit's body, without the header that covers the beginning of the first one.
    pub(crate) fn body(&self, spot: Spot, generation: u32, piece: u64, part: &mut [u8]) {
        self.pattern.fill_from(self.content(spot, generation), piece, part);
    }

    /// The header of one of our units.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "block sizes are below 4 GiB")]
    pub(crate) fn header(&self, spot: Spot, generation: u32, length: usize) -> Header {
        Header { trial: self.trial, spot, generation, length_bytes: length as u32 }
    }

    /// The word that determines a unit's body.
    #[inline]
    fn content(&self, spot: Spot, generation: u32) -> u64 {
        let mixed = |seed: u64, word: u64| SplitMix::new(seed ^ word).next();
        mixed(mixed(mixed(self.trial, spot.offset_bytes), spot.file.into()), generation.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_BYTES, Header, Spot, Stamper, is_whole};
    use crate::native::buffer::PIECE_BYTES;
    use crate::native::proof::testing::{Case, case};
    use proptest::prelude::{any, proptest};

    #[test]
    fn the_layout_is_as_documented() {
        let mut unit = vec![0; 512];
        let spot = Spot { file: 0x0403_0201, offset_bytes: 0x1817_1615_1413_1211 };
        Stamper::new(0x2827_2625_2423_2221, 0).stamp(spot, 0x3433_3231, &mut unit);
        assert_eq!(&unit[..8], b"dskproof");
        assert_eq!(&unit[12..16], [1, 2, 3, 4]);
        assert_eq!(&unit[16..24], [0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28]);
        assert_eq!(&unit[24..32], [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
        assert_eq!(&unit[32..36], [0x31, 0x32, 0x33, 0x34]);
        assert_eq!(&unit[36..40], 512_u32.to_le_bytes());
        let others: Vec<u8> = unit[..8].iter().chain(&unit[12..]).copied().collect();
        assert_eq!(&unit[8..12], crc32c::crc32c(&others).to_le_bytes());
    }

    #[test]
    fn the_checksum_is_the_castagnoli_one() {
        // The check value of CRC-32C (RFC 3720).
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn what_is_not_ours_has_no_header() {
        for length in [0, 7, 8, 39, 40, 512] {
            assert_eq!(Header::read(&vec![0; length]), None);
        }
        assert!(!is_whole(&[]));
        assert!(!is_whole(&[0; 11]));
    }

    proptest! {
        #[test]
        fn a_unit_says_what_it_is(case in case()) {
            let Case { stamper, spot, generation, unit } = case;
            assert_eq!(Header::read(&unit), Some(stamper.header(spot, generation, unit.len())));
            assert!(is_whole(&unit));
            let mut again = vec![0xee; unit.len()];
            stamper.stamp(spot, generation, &mut again);
            assert!(again == unit, "made again, it is another");
        }

        #[test]
        fn the_body_can_be_made_piece_by_piece(case in case()) {
            let Case { stamper, spot, generation, unit } = case;
            for (piece, expected) in (0..).zip(unit.chunks(PIECE_BYTES)) {
                let mut part = vec![0xee; expected.len()];
                stamper.body(spot, generation, piece, &mut part);
                let from = if piece == 0 { HEADER_BYTES } else { 0 };
                assert_eq!(part[from..], expected[from..]);
            }
        }

        #[test]
        fn a_flipped_bit_breaks_it(case in case(), place in any::<proptest::sample::Index>(), bit in 0..8) {
            let Case { mut unit, .. } = case;
            let place = place.index(unit.len());
            unit[place] ^= 1_u8 << bit;
            assert!(!is_whole(&unit));
        }
    }
}
