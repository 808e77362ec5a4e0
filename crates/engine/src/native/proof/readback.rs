//! Reads the data of all jobs back after the load; each job's files are read by their own thread.

use super::books::Proof;
use super::faults::Faults;
use super::stamp::Stamper;
use super::sweep::{Action, ReadBackError, SweepVisitor, sweep};
use crate::native::clock::monotonic_ns;
use crate::native::hang::{Waiting, Watch};
use crate::native::kind::Kind;
use crate::native::lane::Finished;
use crate::native::tally::{Failure, Tally};
use crate::native::task::{JobTask, Task};
use record::trial::{FaultKind, Verified};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Reads everything back, except what is known to be unreadable, and returns all that was checked. Faults become errors of their
/// jobs.
///
/// # Errors
/// When there isn't enough memory.
pub(crate) fn read_back(
    task: &Task,
    finished: &mut [Finished],
    say: &mut dyn FnMut(String),
) -> Result<Option<Verified>, ReadBackError> {
    if !task.verifies() {
        return Ok(None);
    }
    if finished.iter().any(|lane| lane.tally.ended_by_io(task)) {
        say("verify: what was written is not read back, since an I/O error ended the load".to_owned());
    } else {
        all(task, finished, say)?;
    }
    let mut faults = Faults::default();
    finished.iter_mut().filter_map(|lane| lane.proof.take()).for_each(|proof| faults.merge(proof.faults));
    Ok(Some(faults.record(|number| path(task, number))))
}

fn path(task: &Task, number: u32) -> &Path {
    let mut places = task.jobs.iter().flat_map(|job| &job.places);
    places.find(|place| place.number == number).map_or(Path::new(""), |place| &place.path)
}

fn all(task: &Task, finished: &mut [Finished], say: &mut dyn FnMut(String)) -> Result<(), ReadBackError> {
    let watch = Watch::default();
    let mut known = BTreeSet::new();
    let mut readers = Vec::new();
    for Finished { proof, tally, .. } in finished {
        let Some(Proof { job, faults, books }) = proof else { continue };
        // A file that jobs share is read once.
        let books: Vec<_> = books.drain(..).filter(|(book, _)| known.insert(book.number)).collect();
        if let Some(asked) = task.jobs.get(*job as usize).filter(|_| !books.is_empty()) {
            readers.push((Reader { job: *job, asked, tally, waiting: watch.thread(*job) }, faults, books));
        }
    }
    std::thread::scope(|scope| {
        let (ended, ends) = channel::<()>();
        let mut handles = Vec::new();
        for (mut reader, faults, books) in readers {
            let ended = ended.clone();
            handles.push(scope.spawn(move || {
                let _ended = ended;
                let stamper = Stamper::new(task.proof, reader.asked.buffer_compress_percentage);
                books.iter().try_for_each(|(book, file)| sweep(file, book, &stamper, faults, &mut reader))
            }));
        }
        drop(ended);
        while ends.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            watch.hangs(monotonic_ns()).into_iter().for_each(&mut *say);
        }
        handles.into_iter().try_for_each(|handle| handle.join().unwrap_or(Err(ReadBackError::Panicked)))
    })
}

/// The findings of a thread.
struct Reader<'a> {
    job: u32,
    asked: &'a JobTask,
    tally: &'a mut Tally,
    waiting: Arc<Waiting>,
}

impl SweepVisitor for Reader<'_> {
    fn flushing(&mut self) {
        self.waiting.begin(Kind::Sync, 0, monotonic_ns());
    }

    fn reading(&mut self, offset_bytes: u64) -> bool {
        self.waiting.begin(Kind::Read, offset_bytes, monotonic_ns());
        true
    }

    fn done(&mut self) {
        self.waiting.end();
    }

    fn wrong(&mut self, kind: FaultKind, offset_bytes: u64) -> bool {
        self.tally.error(self.job, Kind::Read, Failure::Content(kind), offset_bytes);
        true
    }

    fn failed(&mut self, action: Action, error: &io::Error, offset_bytes: u64) -> bool {
        let kind = match action {
            Action::Flush => Kind::Sync,
            Action::Read => Kind::Read,
        };
        let failure = match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::Short,
            _ => Failure::Errno(error.raw_os_error().unwrap_or(libc::EIO)),
        };
        self.tally.error(self.job, kind, failure, offset_bytes);
        self.asked.continue_on_error.of(kind)
    }
}
