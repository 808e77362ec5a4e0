//! The record of writes: a generation for every unit of a file's region, in memory.
//!
//! A write increments the generation of each unit that it covers when it is issued. Until it is acknowledged, both the old and
//! the new content are right; so they are if it fails. Two writes never share a unit at the same time.

use std::ops::Range;
use thiserror::Error;

/// The flag of a unit with a write in flight.
const IN_FLIGHT: u32 = 1 << 31;

/// The last generation: later writes of a unit use it again.
const LAST: u32 = IN_FLIGHT - 1;

/// The generations that a unit may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The last acknowledged one: any older one is wrong.
    pub(crate) oldest: u32,
    /// The last issued one.
    pub(crate) newest: u32,
}

impl Expected {
    /// Only this generation.
    pub(crate) fn only(generation: u32) -> Self {
        Self { oldest: generation, newest: generation }
    }

    #[inline]
    pub(crate) fn admits(self, generation: u32) -> bool {
        (self.oldest..=self.newest).contains(&generation)
    }
}

/// A region with more units than memory holds.
#[derive(Debug, Error)]
#[error("verify can't remember {size_bytes} bytes in units of {unit_bytes}")]
pub(crate) struct LedgerError {
    size_bytes: u64,
    unit_bytes: u64,
}

/// The generations of one region.
#[derive(Debug)]
pub(crate) struct Ledger {
    base_bytes: u64,
    unit_bytes: u64,
    acknowledged: Vec<u32>,
    /// The last issued generation, with [`IN_FLIGHT`].
    issued: Vec<u32>,
}

impl Ledger {
    /// Creates a ledger for a region of whole units, all as laid out.
    ///
    /// # Errors
    /// When there are more units than an address space can hold.
    pub(crate) fn new(base_bytes: u64, size_bytes: u64, unit_bytes: u64) -> Result<Self, LedgerError> {
        let unit_bytes = unit_bytes.max(1);
        let units = usize::try_from(size_bytes / unit_bytes)
            .ok()
            .filter(|units| *units <= isize::MAX as usize / size_of::<u32>())
            .ok_or(LedgerError { size_bytes, unit_bytes })?;
        Ok(Self { base_bytes, unit_bytes, acknowledged: vec![0; units], issued: vec![0; units] })
    }

    pub(crate) fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.issued.len()
    }

    /// The units that a block covers, cut at the region's end.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there are no more units than memory holds")]
    pub(crate) fn units(&self, offset_bytes: u64, length_bytes: u64) -> Range<usize> {
        let first = offset_bytes.saturating_sub(self.base_bytes);
        let end = first.saturating_add(length_bytes).div_ceil(self.unit_bytes);
        let count = self.issued.len() as u64;
        (first / self.unit_bytes).min(count) as usize..end.min(count) as usize
    }

    /// The offset of a unit in the file or device.
    #[inline]
    pub(crate) fn offset_bytes(&self, unit: usize) -> u64 {
        self.base_bytes + unit as u64 * self.unit_bytes
    }

    /// Whether a write would overlap one in flight.
    #[inline]
    pub(crate) fn overlaps(&self, units: Range<usize>) -> bool {
        self.issued.get(units).unwrap_or_default().iter().any(|issued| issued & IN_FLIGHT != 0)
    }

    /// Begins a write: its units get a new generation. False if it overlaps one in flight; then nothing begins.
    #[inline]
    pub(crate) fn begin(&mut self, units: Range<usize>) -> bool {
        let issued = self.issued.get_mut(units).unwrap_or_default();
        if issued.iter().any(|issued| issued & IN_FLIGHT != 0) {
            return false;
        }
        for issued in issued {
            *issued = (*issued + 1).min(LAST) | IN_FLIGHT;
        }
        true
    }

    /// Records that a write was completed in full: no older content is right any more.
    #[inline]
    pub(crate) fn acknowledge(&mut self, units: Range<usize>) {
        let issued = self.issued.get_mut(units.clone()).unwrap_or_default();
        let acknowledged = self.acknowledged.get_mut(units).unwrap_or_default();
        for (issued, acknowledged) in issued.iter_mut().zip(acknowledged) {
            *issued &= LAST;
            *acknowledged = *issued;
        }
    }

    /// Records that a write failed or moved too few bytes: its content is unknown.
    #[cold]
    pub(crate) fn fail(&mut self, units: Range<usize>) {
        self.issued.get_mut(units).unwrap_or_default().iter_mut().for_each(|issued| *issued &= LAST);
    }

    /// Notes the oldest generations that a read may see if it begins now.
    #[inline]
    pub(crate) fn note_oldest(&self, units: Range<usize>, oldest: &mut [u32]) {
        let acknowledged = self.acknowledged.get(units).unwrap_or_default();
        oldest.iter_mut().zip(acknowledged).for_each(|(noted, acknowledged)| *noted = *acknowledged);
    }

    /// Notes the newest generations that a read may have seen if it ends now: those in flight, or issued last.
    #[inline]
    pub(crate) fn note_newest(&self, units: Range<usize>, newest: &mut [u32]) {
        let issued = self.issued.get(units).unwrap_or_default();
        newest.iter_mut().zip(issued).for_each(|(noted, issued)| *noted = issued & LAST);
    }

    /// The generations that a unit may have when nothing is in flight.
    #[inline]
    pub(crate) fn expected(&self, unit: usize) -> Expected {
        let (mut oldest, mut newest) = ([0], [0]);
        self.note_oldest(unit..unit + 1, &mut oldest);
        self.note_newest(unit..unit + 1, &mut newest);
        Expected { oldest: oldest[0], newest: newest[0] }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expected, LAST, Ledger};
    use proptest::prelude::{any, proptest};
    use proptest::sample::Index;

    fn ledger() -> Ledger {
        Ledger::new(1 << 20, 10 * 4096 + 100, 4096).unwrap()
    }

    #[test]
    fn blocks_cover_units() {
        let ledger = ledger();
        assert_eq!(ledger.len(), 10);
        assert_eq!(ledger.units(1 << 20, 4096), 0..1);
        assert_eq!(ledger.units((1 << 20) + 8192, 16384), 2..6);
        assert_eq!(ledger.units((1 << 20) + 9 * 4096, 8192), 9..10, "cut at the end");
        assert_eq!(ledger.offset_bytes(9), (1 << 20) + 9 * 4096);
    }

    #[test]
    fn the_old_is_right_until_the_new_is_acknowledged() {
        let mut ledger = ledger();
        assert_eq!(ledger.expected(3), Expected::only(0));
        assert!(ledger.begin(2..4));
        assert_eq!(ledger.expected(3), Expected { oldest: 0, newest: 1 });
        assert_eq!(ledger.expected(4), Expected::only(0));
        ledger.acknowledge(2..4);
        assert_eq!(ledger.expected(2), Expected::only(1));
    }

    #[test]
    fn after_a_failure_both_are_right_until_the_next_success() {
        let mut ledger = ledger();
        for _ in 0..3 {
            assert!(ledger.begin(0..2));
            ledger.fail(0..2);
        }
        assert_eq!(ledger.expected(1), Expected { oldest: 0, newest: 3 });
        assert!(ledger.begin(1..2));
        ledger.acknowledge(1..2);
        assert_eq!(ledger.expected(0), Expected { oldest: 0, newest: 3 });
        assert_eq!(ledger.expected(1), Expected::only(4));
    }

    #[test]
    fn a_read_may_see_all_since_it_began() {
        let mut ledger = ledger();
        let (mut oldest, mut newest) = ([9; 2], [9; 2]);
        ledger.note_oldest(4..6, &mut oldest);
        for _ in 0..2 {
            assert!(ledger.begin(5..6));
            ledger.acknowledge(5..6);
        }
        ledger.note_newest(4..6, &mut newest);
        assert_eq!((oldest, newest), ([0, 0], [0, 2]));
        ledger.note_oldest(4..6, &mut oldest);
        assert_eq!(oldest, [0, 2]);
    }

    #[test]
    fn generations_never_run_over() {
        let mut ledger = Ledger::new(0, 512, 512).unwrap();
        ledger.issued[0] = LAST - 1;
        for _ in 0..3 {
            assert!(ledger.begin(0..1));
            assert_eq!(ledger.expected(0).newest, LAST);
            assert!(!ledger.begin(0..1));
            ledger.acknowledge(0..1);
        }
        assert_eq!(ledger.expected(0), Expected::only(LAST));
    }

    #[test]
    fn too_much_to_remember_is_an_error() {
        assert!(Ledger::new(0, u64::MAX, 1).is_err());
    }

    proptest! {
        /// Compares with a plain model: a list of writes in flight and of the content that may be there.
        #[test]
        fn it_agrees_with_a_plain_model(steps in proptest::collection::vec((any::<Index>(), 0..3_u8, 0..10_usize, 1..5_usize), 1..200)) {
            let mut ledger = ledger();
            let mut in_flight: Vec<std::ops::Range<usize>> = Vec::new();
            let mut may = [(0_u32, 0_u32); 10];
            for (pick, what, first, count) in steps {
                if what == 0 || in_flight.is_empty() {
                    let units = first..(first + count).min(10);
                    let free = in_flight.iter().all(|other| other.end <= units.start || units.end <= other.start);
                    assert_eq!(ledger.overlaps(units.clone()), !free);
                    assert_eq!(ledger.begin(units.clone()), free);
                    if free {
                        units.clone().for_each(|unit| may[unit].1 += 1);
                        in_flight.push(units);
                    }
                } else {
                    let units = in_flight.swap_remove(pick.index(in_flight.len()));
                    if what == 1 {
                        ledger.acknowledge(units.clone());
                        units.for_each(|unit| may[unit].0 = may[unit].1);
                    } else {
                        ledger.fail(units);
                    }
                }
                for (unit, (oldest, newest)) in may.iter().enumerate() {
                    assert_eq!(ledger.expected(unit), Expected { oldest: *oldest, newest: *newest });
                }
            }
        }
    }
}
