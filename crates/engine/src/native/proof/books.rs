//! A job's ledgers, one for each of its files, which also decide which of its I/Os may begin.

use super::faults::Faults;
use super::ledger::{Ledger, LedgerError};
use super::stamp::Spot;
use crate::native::chooser::Choice;
use crate::native::kind::Kind;
use crate::native::task::JobTask;
use std::fs::File;
use std::ops::Range;

/// A file's ledger, and its number among the files of all jobs.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) number: u32,
    pub(crate) ledger: Ledger,
}

impl Book {
    /// The place of a unit.
    #[inline]
    pub(crate) fn spot(&self, unit: usize) -> Spot {
        Spot { file: self.number, offset_bytes: self.ledger.offset_bytes(unit) }
    }
}

/// The result of a lane under `verify`.
pub(crate) struct Proof {
    /// The number of the job.
    pub(crate) job: u32,
    /// The faults found during the load.
    pub(crate) faults: Faults,
    /// The ledgers and the files; one lane of a job has them.
    pub(crate) books: Vec<(Book, File)>,
}

/// The ledgers of a job.
#[derive(Debug)]
pub(crate) struct Books {
    books: Vec<Book>,
}

impl Books {
    /// # Errors
    /// When the ledgers exceed the address space.
    pub(crate) fn new(job: &JobTask) -> Result<Self, LedgerError> {
        let unit_bytes = job.sizes.smallest();
        let books = job.places.iter().map(|place| {
            let ledger = Ledger::new(place.offset_bytes, place.size_bytes, unit_bytes)?;
            Ok(Book { number: place.number, ledger })
        });
        Ok(Self { books: books.collect::<Result<_, LedgerError>>()? })
    }

    pub(crate) fn into_books(self) -> Vec<Book> {
        self.books
    }

    /// Whether an I/O may begin: a write must not overlap another one in flight.
    #[inline]
    pub(crate) fn may_begin(&self, choice: &Choice) -> bool {
        choice.kind != Kind::Write || self.of(choice).is_none_or(|(book, units)| !book.ledger.overlaps(units))
    }

    /// Begins an I/O, and notes for each of its units the generation of a write, or the oldest generation that a read may see.
    #[inline]
    pub(crate) fn begin(&mut self, choice: &Choice, noted: &mut [u32]) {
        let Some((book, units)) = self.of_mut(choice) else { return };
        match choice.kind {
            Kind::Write => {
                book.ledger.begin(units.clone());
                book.ledger.note_newest(units, noted);
            }
            _ => book.ledger.note_oldest(units, noted),
        }
    }

    /// Ends an I/O, and notes for each unit of a read the newest generation that it may have seen.
    #[inline]
    pub(crate) fn end(&mut self, choice: &Choice, good: bool, newest: &mut [u32]) {
        let Some((book, units)) = self.of_mut(choice) else { return };
        match (choice.kind, good) {
            (Kind::Write, true) => book.ledger.acknowledge(units),
            (Kind::Write, false) => book.ledger.fail(units),
            _ => book.ledger.note_newest(units, newest),
        }
    }

    #[inline]
    fn of(&self, choice: &Choice) -> Option<(&Book, Range<usize>)> {
        let book = self.books.get(choice.file as usize).filter(|_| has_content(choice))?;
        Some((book, book.ledger.units(choice.offset_bytes, choice.length_bytes.into())))
    }

    #[inline]
    fn of_mut(&mut self, choice: &Choice) -> Option<(&mut Book, Range<usize>)> {
        let book = self.books.get_mut(choice.file as usize).filter(|_| has_content(choice))?;
        let units = book.ledger.units(choice.offset_bytes, choice.length_bytes.into());
        Some((book, units))
    }
}

#[inline]
fn has_content(choice: &Choice) -> bool {
    matches!(choice.kind, Kind::Read | Kind::Write)
}
