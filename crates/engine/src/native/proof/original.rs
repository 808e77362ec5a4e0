//! The content of a region after the layout: every unit in its generation 0.

use super::stamp::{Spot, Stamper};

/// Generates any part of a region.
pub(crate) struct Original<'a> {
    stamper: &'a Stamper,
    file: u32,
    base_bytes: u64,
    units: u64,
    unit_bytes: u64,
    /// The number and the content of a unit that is only partly requested.
    cut: (Option<u64>, Vec<u8>),
}

impl<'a> Original<'a> {
    /// Creates the content of the whole units in `size_bytes` from `spot` on.
    pub(crate) fn new(stamper: &'a Stamper, spot: Spot, size_bytes: u64, unit_bytes: u64) -> Self {
        let unit_bytes = unit_bytes.max(1);
        let Spot { file, offset_bytes } = spot;
        let units = size_bytes / unit_bytes;
        Self { stamper, file, base_bytes: offset_bytes, units, unit_bytes, cut: (None, Vec::new()) }
    }

    /// Overwrites the parts of a piece that belong to units, and leaves the rest as it is.
    #[expect(clippy::cast_possible_truncation, reason = "parts of a piece that is in memory")]
    pub(crate) fn fill(&mut self, piece_offset: u64, piece: &mut [u8]) {
        let end = piece_offset + piece.len() as u64;
        let last = self.base_bytes + self.units * self.unit_bytes;
        let mut at = piece_offset.max(self.base_bytes);
        while at < end.min(last) {
            let unit = (at - self.base_bytes) / self.unit_bytes;
            let from = self.base_bytes + unit * self.unit_bytes;
            let until = (from + self.unit_bytes).min(end);
            let target = piece.get_mut((at - piece_offset) as usize..(until - piece_offset) as usize);
            let target = target.unwrap_or_default();
            if target.len() as u64 == self.unit_bytes {
                self.stamper.stamp(Spot { file: self.file, offset_bytes: from }, 0, target);
            } else {
                let part = self.cut(unit).get((at - from) as usize..(until - from) as usize);
                target.copy_from_slice(part.unwrap_or_default());
            }
            at = until;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "block sizes are below 4 GiB")]
    fn cut(&mut self, unit: u64) -> &[u8] {
        if self.cut.0 != Some(unit) {
            self.cut.1.resize(self.unit_bytes as usize, 0);
            let offset_bytes = self.base_bytes + unit * self.unit_bytes;
            self.stamper.stamp(Spot { file: self.file, offset_bytes }, 0, &mut self.cut.1);
            self.cut.0 = Some(unit);
        }
        &self.cut.1
    }
}

#[cfg(test)]
mod tests {
    use super::Original;
    use crate::native::proof::stamp::{Spot, Stamper};
    use proptest::prelude::proptest;

    proptest! {
        #[test]
        fn pieces_of_any_length_make_the_same(base in 0_u64..5000, sectors in 1_u64..12, units in 0_u64..9, rest in 0_u64..500, piece in 1_usize..9000) {
            let stamper = Stamper::new(3, 20);
            let unit = 512 * sectors;
            let spot = Spot { file: 1, offset_bytes: base };
            let mut original = Original::new(&stamper, spot, units * unit + rest, unit);
            let whole = usize::try_from(base + units * unit).unwrap();
            let mut found = vec![0xaa; whole + 700];
            let mut at = 0;
            for part in found.chunks_mut(piece) {
                original.fill(at, part);
                at += part.len() as u64;
            }
            let base = usize::try_from(base).unwrap();
            let outside = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0xaa);
            assert!(outside(&found[..base]) && outside(&found[whole..]), "only whole units are stamped");
            let mut expected = vec![0; usize::try_from(unit).unwrap()];
            for (number, there) in (0..).zip(found[base..whole].chunks(expected.len())) {
                stamper.stamp(Spot { offset_bytes: spot.offset_bytes + number * unit, ..spot }, 0, &mut expected);
                assert!(there == expected, "unit {number}");
            }
        }
    }
}
