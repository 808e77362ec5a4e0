//! A lane's view of content: it stamps written blocks and checks read ones.

use super::check::check;
use super::faults::Faults;
use super::ledger::Expected;
use super::stamp::{Spot, Stamper};
use crate::native::chooser::Choice;
use crate::native::task::JobTask;
use record::trial::FaultKind;

/// The state of one lane.
pub(crate) struct Lens {
    stamper: Stamper,
    /// The numbers of the job's files.
    numbers: Vec<u32>,
    unit_bytes: usize,
    most_units: usize,
    /// For every unit of every slot: the generation to write, or the oldest that may be read.
    noted: Vec<u32>,
    /// For every unit of the block that is being checked: the newest generation that may be read.
    newest: Vec<u32>,
    pub(crate) faults: Faults,
}

impl Lens {
    /// Creates a lens for `slots` I/Os in flight.
    pub(crate) fn new(stamper: Stamper, job: &JobTask, slots: usize) -> Self {
        let unit_bytes = usize::try_from(job.sizes.smallest()).unwrap_or(usize::MAX).max(1);
        let most_units = job.buffer_bytes().div_ceil(unit_bytes);
        Self {
            stamper,
            numbers: job.places.iter().map(|place| place.number).collect(),
            unit_bytes,
            most_units,
            noted: vec![0; most_units * slots],
            newest: vec![0; most_units],
            faults: Faults::default(),
        }
    }

    /// The place for an I/O's generations when it begins.
    #[inline]
    pub(crate) fn noted(&mut self, slot: usize) -> &mut [u32] {
        let first = slot * self.most_units;
        self.noted.get_mut(first..first + self.most_units).unwrap_or_default()
    }

    /// The place for a read's generations when it ends.
    #[inline]
    pub(crate) fn newest(&mut self) -> &mut [u32] {
        &mut self.newest
    }

    /// Generates the block of a write that has begun.
    #[inline]
    pub(crate) fn stamp(&self, slot: usize, choice: &Choice, block: &mut [u8]) {
        let noted = self.noted.get(slot * self.most_units..).unwrap_or_default();
        let mut spot = self.spot(choice);
        for (unit, generation) in block.chunks_mut(self.unit_bytes).zip(noted) {
            self.stamper.stamp(spot, *generation, unit);
            spot.offset_bytes += unit.len() as u64;
        }
    }

    /// Checks the block of a successful read, and reports each unit that is found wrong for the first time.
    #[inline]
    pub(crate) fn look(
        &mut self,
        slot: usize,
        choice: &Choice,
        block: &[u8],
        mut tell: impl FnMut(FaultKind, u64),
    ) {
        let mut spot = self.spot(choice);
        let noted = self.noted.get(slot * self.most_units..).unwrap_or_default();
        for (unit, (oldest, newest)) in block.chunks(self.unit_bytes).zip(noted.iter().zip(&self.newest)) {
            let expected = Expected { oldest: *oldest, newest: *newest };
            if let Some(fault) = check(&self.stamper, spot, expected, unit) {
                let (kind, offset_bytes) = (fault.kind, fault.offset_bytes);
                if self.faults.add(spot.file, spot.offset_bytes, fault) {
                    tell(kind, offset_bytes);
                }
            }
            spot.offset_bytes += unit.len() as u64;
        }
        self.faults.checked(block.len() as u64);
    }

    #[inline]
    fn spot(&self, choice: &Choice) -> Spot {
        let file = self.numbers.get(choice.file as usize).copied().unwrap_or(u32::MAX);
        Spot { file, offset_bytes: choice.offset_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::Lens;
    use crate::native::chooser::Choice;
    use crate::native::kind::Kind;
    use crate::native::proof::books::Books;
    use crate::native::proof::stamp::Stamper;
    use crate::native::task::{JobTask, Place};
    use crate::native::testing::job;
    use record::trial::FaultKind;
    use record::workload::Rw;

    const UNIT: u64 = 4096;

    fn place(number: u32) -> Place {
        let path = number.to_string().into();
        Place { number, path, offset_bytes: 1 << 20, size_bytes: 16 * UNIT, block_device: false }
    }

    fn two_files() -> JobTask {
        JobTask { places: vec![place(3), place(4)], ..job(Rw::Randrw) }
    }

    fn choice(kind: Kind, file: u32, unit: u64) -> Choice {
        let offset_bytes = (1 << 20) + unit * UNIT;
        Choice { kind, data_only: false, file, length_bytes: 4096, offset_bytes }
    }

    /// A disk in memory, with the last written content.
    struct Bench {
        books: Books,
        lens: Lens,
        disk: std::collections::BTreeMap<(u32, u64), Vec<u8>>,
        told: Vec<(FaultKind, u64)>,
    }

    impl Bench {
        fn new() -> Self {
            let job = two_files();
            let lens = Lens::new(Stamper::new(5, 0), &job, 2);
            let books = Books::new(&job).unwrap();
            let mut bench = Self { books, lens, disk: Default::default(), told: Vec::new() };
            for (file, unit) in (0..2).flat_map(|file| (0..16).map(move |unit| (file, unit))) {
                let write = choice(Kind::Write, file, unit);
                let mut block = vec![0; 4096];
                bench.lens.noted(0)[0] = 0;
                bench.lens.stamp(0, &write, &mut block);
                bench.disk.insert((file, write.offset_bytes), block);
            }
            bench
        }

        fn write(&mut self, file: u32, unit: u64) {
            let write = choice(Kind::Write, file, unit);
            assert!(self.books.may_begin(&write));
            self.books.begin(&write, self.lens.noted(0));
            assert!(!self.books.may_begin(&write), "the next write of it waits");
            let mut block = vec![0; 4096];
            self.lens.stamp(0, &write, &mut block);
            self.disk.insert((file, write.offset_bytes), block);
            self.books.end(&write, true, self.lens.newest());
        }

        fn read(&mut self, file: u32, unit: u64) {
            let read = choice(Kind::Read, file, unit);
            assert!(self.books.may_begin(&read));
            self.books.begin(&read, self.lens.noted(1));
            self.books.end(&read, true, self.lens.newest());
            let told = &mut self.told;
            self.lens
                .look(1, &read, &self.disk[&(file, read.offset_bytes)], |kind, at| told.push((kind, at)));
        }
    }

    #[test]
    fn what_was_written_is_read_well() {
        let mut bench = Bench::new();
        for unit in 0..16 {
            (0..unit).for_each(|_| bench.write(1, unit));
            bench.read(0, unit);
            bench.read(1, unit);
        }
        assert_eq!(bench.told, []);
        let verified = bench.lens.faults.record(|_| std::path::Path::new(""));
        assert_eq!(verified.bytes, 32 * 4096);
    }

    #[test]
    fn another_file_is_elsewhere() {
        let mut bench = Bench::new();
        bench.write(0, 5);
        let offset_bytes = (1 << 20) + 5 * UNIT;
        bench.disk.insert((1, offset_bytes), bench.disk[&(0, offset_bytes)].clone());
        bench.read(1, 5);
        bench.read(1, 5);
        assert_eq!(bench.told, [(FaultKind::Misdirected, offset_bytes)], "told once");
    }

    #[test]
    fn a_block_of_several_units_is_checked_unit_by_unit() {
        let mut bench = Bench::new();
        let job = two_files();
        let mut wide = Lens::new(Stamper::new(5, 0), &job, 1);
        wide.unit_bytes = 512;
        wide.most_units = 8;
        wide.noted = vec![7, 8, 9, 1, 2, 3, 4, 5];
        wide.newest = wide.noted.clone();
        let write = choice(Kind::Write, 0, 2);
        let mut block = vec![0; 4096];
        wide.stamp(0, &write, &mut block);
        let told = &mut bench.told;
        wide.look(0, &write, &block, |kind, at| told.push((kind, at)));
        block[1024 + 77] ^= 1;
        wide.noted[7] = 6;
        wide.newest[7] = 6;
        wide.look(0, &write, &block, |kind, at| told.push((kind, at)));
        let at = write.offset_bytes;
        assert_eq!(*told, [(FaultKind::Corrupt, at + 1101), (FaultKind::Stale, at + 3584)]);
    }
}
