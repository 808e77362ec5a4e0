//! After the load: reads everything back and compares it with what was written.

use super::books::Book;
use super::check::check;
use super::faults::Faults;
use super::stamp::Stamper;
use crate::native::buffers::{BufferError, Buffers};
use record::trial::FaultKind;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use thiserror::Error;

/// The bytes per read, in whole units.
const PIECE_BYTES: u64 = 4 << 20;

/// Why data can't be read back at all.
#[derive(Debug, Error)]
pub(crate) enum ReadBackError {
    #[error("bs is too large")]
    BlockSize,
    /// There isn't enough memory for a buffer.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    #[error("a thread that reads back panicked")]
    Panicked,
}

/// Receives the events of the sweep, which goes on while the answer is true.
pub(crate) trait SweepVisitor {
    /// A read is about to begin at an offset.
    fn reading(&mut self, offset_bytes: u64) -> bool;
    /// A flush of the file is about to begin.
    fn flushing(&mut self);
    /// The system call has ended.
    fn done(&mut self);
    /// A unit is wrong, and wasn't known to be.
    fn wrong(&mut self, kind: FaultKind, offset_bytes: u64) -> bool;
    /// A read or flush failed.
    fn failed(&mut self, action: Action, error: &io::Error, offset_bytes: u64) -> bool;
}

/// The operations that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Flush,
    Read,
}

/// Reads a file's region back from the storage, not from the page cache.
///
/// # Errors
/// When there isn't enough memory.
pub(crate) fn sweep(
    file: &File,
    book: &Book,
    stamper: &Stamper,
    faults: &mut Faults,
    told: &mut dyn SweepVisitor,
) -> Result<(), ReadBackError> {
    let unit_bytes = book.ledger.unit_bytes();
    let per_piece = (PIECE_BYTES / unit_bytes).max(1);
    let piece_bytes = usize::try_from(per_piece * unit_bytes).map_err(|_| ReadBackError::BlockSize)?;
    let mut sweep = Sweep { file, book, stamper, faults, told, buffers: Buffers::new(1, piece_bytes)? };
    let begin = book.ledger.offset_bytes(0);
    sweep.told.flushing();
    let flushed = file.sync_all();
    sweep.told.done();
    let dropped = flushed.and_then(|()| fadvise(file, begin, None, Advice::DontNeed).map_err(Into::into));
    if let Err(error) = dropped
        && !sweep.told.failed(Action::Flush, &error, begin)
    {
        return Ok(());
    }
    let per_piece = usize::try_from(per_piece).unwrap_or(usize::MAX);
    let mut first = 0;
    while first < book.ledger.len() {
        let end = first.saturating_add(per_piece).min(book.ledger.len());
        if !sweep.piece(first, end) {
            break;
        }
        first = end;
    }
    Ok(())
}

struct Sweep<'a> {
    file: &'a File,
    book: &'a Book,
    stamper: &'a Stamper,
    faults: &'a mut Faults,
    told: &'a mut dyn SweepVisitor,
    buffers: Buffers,
}

impl Sweep<'_> {
    /// Reads and checks some units; one by one if they can't be read at once.
    fn piece(&mut self, first: usize, end: usize) -> bool {
        match self.read(first, end) {
            Ok(true) => self.check(first, end),
            Ok(false) => false,
            Err(_) if end - first > 1 => (first..end).all(|unit| self.piece(unit, unit + 1)),
            Err(error) => {
                let offset_bytes = self.book.ledger.offset_bytes(first);
                self.told.failed(Action::Read, &error, offset_bytes)
            }
        }
    }

    fn length(&self, units: usize) -> u32 {
        u32::try_from(units as u64 * self.book.ledger.unit_bytes()).unwrap_or(u32::MAX)
    }

    fn read(&mut self, first: usize, end: usize) -> io::Result<bool> {
        let offset_bytes = self.book.ledger.offset_bytes(first);
        let length = self.length(end - first);
        if !self.told.reading(offset_bytes) {
            return Ok(false);
        }
        let read = self.file.read_exact_at(self.buffers.block(0, length), offset_bytes);
        self.told.done();
        read.map(|()| true)
    }

    fn check(&mut self, first: usize, end: usize) -> bool {
        let length = self.length(end - first);
        let unit_bytes = self.length(1) as usize;
        let block = self.buffers.block(0, length);
        self.faults.checked(block.len() as u64);
        for (number, unit) in (first..end).zip(block.chunks(unit_bytes)) {
            let spot = self.book.spot(number);
            let Some(fault) = check(self.stamper, spot, self.book.ledger.expected(number), unit) else {
                continue;
            };
            let (kind, offset_bytes) = (fault.kind, fault.offset_bytes);
            if self.faults.add(spot.file, spot.offset_bytes, fault) && !self.told.wrong(kind, offset_bytes) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, SweepVisitor, sweep};
    use crate::native::proof::books::Book;
    use crate::native::proof::faults::Faults;
    use crate::native::proof::ledger::Ledger;
    use crate::native::proof::original::Original;
    use crate::native::proof::stamp::{Spot, Stamper};
    use record::trial::FaultKind;
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt as _;

    const BASE: u64 = 8192;
    const UNIT: u64 = 12 << 10;
    const UNITS: u64 = 1000;

    #[derive(Default)]
    struct Log {
        wrong: Vec<(FaultKind, u64)>,
        failed: Vec<(Action, u64)>,
        stop_at: Option<u64>,
    }

    impl SweepVisitor for Log {
        fn reading(&mut self, offset_bytes: u64) -> bool {
            self.stop_at.is_none_or(|stop| offset_bytes < stop)
        }

        fn flushing(&mut self) {}

        fn done(&mut self) {}

        fn wrong(&mut self, kind: FaultKind, offset_bytes: u64) -> bool {
            self.wrong.push((kind, offset_bytes));
            true
        }

        fn failed(&mut self, action: Action, _: &io::Error, offset_bytes: u64) -> bool {
            self.failed.push((action, offset_bytes));
            true
        }
    }

    struct Bench {
        file: File,
        book: Book,
        stamper: Stamper,
    }

    impl Bench {
        fn new() -> Self {
            let stamper = Stamper::new(7, 30);
            let spot = Spot { file: 2, offset_bytes: BASE };
            let mut bytes = vec![0; usize::try_from(BASE + UNITS * UNIT).unwrap()];
            Original::new(&stamper, spot, UNITS * UNIT, UNIT).fill(0, &mut bytes);
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(&bytes, 0).unwrap();
            let book = Book { number: 2, ledger: Ledger::new(BASE, UNITS * UNIT, UNIT).unwrap() };
            Self { file, book, stamper }
        }

        /// Writes one unit; the ledger records it, and the storage gets it if it `lands`.
        fn write(&mut self, unit: usize, lands: bool) {
            assert!(self.book.ledger.begin(unit..unit + 1));
            let mut bytes = vec![0; 12 << 10];
            self.stamper.stamp(self.book.spot(unit), self.book.ledger.expected(unit).newest, &mut bytes);
            if lands {
                self.file.write_all_at(&bytes, self.book.ledger.offset_bytes(unit)).unwrap();
            }
            self.book.ledger.acknowledge(unit..unit + 1);
        }

        fn sweep(&self, log: &mut Log) -> u64 {
            let mut faults = Faults::default();
            sweep(&self.file, &self.book, &self.stamper, &mut faults, log).unwrap();
            faults.record(|_| std::path::Path::new("")).bytes
        }
    }

    #[test]
    fn all_is_read_and_what_is_wrong_is_told() {
        let mut bench = Bench::new();
        (0..20).for_each(|unit| bench.write(unit, true));
        let mut log = Log::default();
        assert_eq!(bench.sweep(&mut log), UNITS * UNIT);
        assert_eq!(log.wrong, []);
        bench.write(3, false);
        bench.write(500, false);
        let flipped = BASE + 999 * UNIT + 12_287;
        let mut byte = [0];
        bench.file.read_exact_at(&mut byte, flipped).unwrap();
        bench.file.write_all_at(&[byte[0] ^ 0x10], flipped).unwrap();
        bench.sweep(&mut log);
        let at = |unit: u64| BASE + unit * UNIT;
        let expected = [(FaultKind::Stale, at(3)), (FaultKind::Lost, at(500)), (FaultKind::Corrupt, flipped)];
        assert_eq!(log.wrong, expected);
        assert_eq!(log.failed, []);
    }

    #[test]
    fn what_cannot_be_read_is_told_unit_by_unit_and_the_rest_is_checked() {
        let bench = Bench::new();
        bench.file.set_len(BASE + 998 * UNIT + 1).unwrap();
        let mut log = Log::default();
        assert_eq!(bench.sweep(&mut log), 998 * UNIT);
        assert_eq!(log.failed, [(Action::Read, BASE + 998 * UNIT), (Action::Read, BASE + 999 * UNIT)]);
        assert_eq!(log.wrong, []);
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let bench = Bench::new();
        let mut log = Log { stop_at: Some(BASE + 1), ..Log::default() };
        assert_eq!(bench.sweep(&mut log), (4 << 20) / UNIT * UNIT);
    }
}
