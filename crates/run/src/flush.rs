//! Flushes and removes LVM caches after the measured time, and checks that the data on the volume survive it.

use record::lvm_cache::CacheRecord;
use record::printable::Shown as _;
use record::workload::{Ask, Workload};
use stack::settle::SettleError;
use stack::{Built, Journal, Machine, StackError};
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// The size of the pieces in which data are compared, in bytes.
const PIECE: usize = 1 << 20;

/// Why caches could not be flushed and removed, or what this did to the data.
#[derive(Debug, Error)]
pub(crate) enum FlushError {
    /// The data could not be read from the devices, because the page cache could not be dropped.
    #[error(transparent)]
    PageCache(#[from] SettleError),
    /// A cache could not be flushed or removed.
    #[error(transparent)]
    Cache(#[from] StackError),
    #[error("can't read {} to compare it", .path.shown())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "taking the cache away changed what lies on the volume: {pieces} of its pieces of 1 MiB, {first}"
    )]
    Changed { pieces: usize, first: String },
}

/// Flushes and removes the caches that the stack removes after the load, and records what each still had to write back. Where the
/// load verifies its writes, the data are read from the devices before and after, and compared.
pub(crate) fn caches(
    machine: &Machine<'_>,
    journal: &mut Journal,
    built: &Built,
    files: Option<&[PathBuf]>,
    workload: &Workload,
    cancel: &AtomicBool,
    records: &mut [CacheRecord],
) -> Result<(), FlushError> {
    let files = files.filter(|_| verifies(workload));
    let before = files.map(|files| Pieces::of(machine, files, cancel)).transpose()?;
    let all = built.flush_caches(machine, journal, cancel)?;
    let compared = match (files, before) {
        (Some(files), Some(before)) => Some(before.same(&Pieces::of(machine, files, cancel)?, files)?),
        _ => None,
    };
    for (record, flushed) in records.iter_mut().zip(all) {
        record.flushed = flushed;
        if let Some(flushed) = &mut record.flushed {
            flushed.compared_bytes = compared;
        }
    }
    Ok(())
}

fn verifies(workload: &Workload) -> bool {
    matches!(&workload.ask, Ask::Options(options) if options.verify.is_some())
}

/// A digest of each piece of each file.
#[derive(Debug, PartialEq, Eq)]
struct Pieces {
    digests: Vec<Vec<u64>>,
    bytes: u64,
}

impl Pieces {
    /// Reads the files from the devices: the page cache is dropped first.
    fn of(machine: &Machine<'_>, files: &[PathBuf], cancel: &AtomicBool) -> Result<Self, FlushError> {
        stack::settle::drop_caches(machine, files)?;
        let mut all = Self { digests: Vec::new(), bytes: 0 };
        for path in files {
            let failed = |source: io::Error| FlushError::Read { path: path.clone(), source };
            let file = File::open(path).map_err(failed)?;
            all.add(file, cancel).map_err(failed)?;
        }
        Ok(all)
    }

    fn add(&mut self, mut file: impl io::Read, cancel: &AtomicBool) -> io::Result<()> {
        let mut digests = Vec::new();
        let mut piece = Vec::with_capacity(PIECE);
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(io::Error::other("cancelled"));
            }
            piece.clear();
            let length = file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
            if length == 0 {
                break;
            }
            let mut hasher = DefaultHasher::new();
            piece.hash(&mut hasher);
            digests.push(hasher.finish());
            self.bytes += length as u64;
        }
        self.digests.push(digests);
        Ok(())
    }

    /// Returns the number of equal bytes if all pieces are equal, else an error.
    fn same(&self, after: &Self, files: &[PathBuf]) -> Result<u64, FlushError> {
        if self == after {
            return Ok(self.bytes);
        }
        let wrong = self.digests.iter().zip(&after.digests).zip(files).flat_map(|((before, after), path)| {
            let pieces = before.len().max(after.len());
            (0..pieces).filter(move |at| before.get(*at) != after.get(*at)).map(move |at| (path, at))
        });
        let mut wrong = wrong.peekable();
        let first = wrong.peek().map_or("another file".to_owned(), |(path, at)| {
            format!("the first at byte {} of {}", at * PIECE, path.shown())
        });
        Err(FlushError::Changed { pieces: wrong.count(), first })
    }
}

#[cfg(test)]
mod tests {
    use super::{PIECE, Pieces};
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn pieces(files: &[&[u8]]) -> Pieces {
        let mut all = Pieces { digests: Vec::new(), bytes: 0 };
        files.iter().for_each(|file| all.add(*file, &AtomicBool::new(false)).unwrap());
        all
    }

    #[test]
    fn one_byte_that_changed_is_found_and_told_where() {
        let (small, mut large) = (vec![7; 100], vec![1; PIECE * 2 + 5]);
        let names = [PathBuf::from("/d/a"), PathBuf::from("/d/b")];
        let before = pieces(&[&small, &large]);
        assert_eq!(before.same(&pieces(&[&small, &large]), &names).unwrap(), 100 + PIECE as u64 * 2 + 5);
        large[PIECE + 3] = 2;
        let error = before.same(&pieces(&[&small, &large]), &names).unwrap_err().to_string();
        assert!(error.contains(": 1 of its") && error.contains("byte 1048576 of /d/b"), "{error}");
        large.truncate(PIECE);
        let error = before.same(&pieces(&[&small, &large]), &names).unwrap_err().to_string();
        assert!(error.contains(": 2 of its"), "{error}");
    }

    #[test]
    fn whoever_asks_to_stop_is_heard_while_it_reads() {
        let mut all = Pieces { digests: Vec::new(), bytes: 0 };
        assert!(all.add(&[1_u8; 10][..], &AtomicBool::new(true)).is_err());
    }
}
