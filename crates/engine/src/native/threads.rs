//! A job on pread and pwrite: one thread for every I/O in flight, for where io_uring is refused or not wanted.

use super::buffers::Buffers;
use super::chooser::Choice;
use super::clock::Clock;
use super::content::Content;
use super::lane::{Finished, Shared, Sources, Start};
use super::tally::{Failure, Kind, Tally};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A sleep is cut into pieces no longer than this, so that the end of the load is noticed.
const LOOK_NS: u64 = 100_000_000;

/// One thread of a job.
pub(crate) struct Thread<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) job: u32,
    pub(crate) files: &'a [File],
    /// The job's own, taken in turn by its threads.
    pub(crate) sources: &'a Mutex<Sources>,
    /// This thread's data.
    pub(crate) content: Content,
    pub(crate) buffers: Buffers,
}

impl Thread<'_> {
    /// Runs until the load ends.
    pub(crate) fn run(&mut self, start: &Start) -> Finished {
        let mut clock = start.clock.clone();
        let mut tally = Tally::new(start.span);
        let mut now_ns = clock.now_ns();
        while now_ns < start.span.end_ns && !self.shared.stopped() {
            let (choice, due_ns) = self.next();
            let since_ns = match due_ns {
                None => None,
                Some(due_ns) if self.sleep_until(due_ns, start.span.end_ns, &clock) => Some(due_ns),
                Some(_) => break,
            };
            if choice.kind == Kind::Write {
                self.content.fill(self.buffers.block(0, choice.length_bytes), &choice);
            }
            let since_ns = since_ns.unwrap_or_else(|| clock.now_ns());
            let done = self.perform(choice);
            now_ns = clock.now_ns();
            if tally.is_over(now_ns) {
                tally.roll(now_ns);
                clock.adjust();
            }
            match done {
                Ok(bytes) => tally.add(choice.kind, now_ns.saturating_sub(since_ns), bytes),
                Err(failure) => {
                    tally.error(self.job, choice.kind, failure, choice.offset_bytes);
                    self.shared.fail();
                }
            }
        }
        Finished { tally, end_ns: clock.now_ns() }
    }

    fn next(&self) -> (Choice, Option<u64>) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let due_ns = sources.arrivals.as_mut().and_then(|arrivals| {
            let due_ns = arrivals.due_ns();
            arrivals.take(due_ns)
        });
        (sources.chooser.next(), due_ns)
    }

    /// False when the load ended meanwhile.
    fn sleep_until(&self, due_ns: u64, end_ns: u64, clock: &Clock) -> bool {
        loop {
            let now_ns = clock.now_ns();
            if now_ns >= end_ns || self.shared.stopped() {
                return false;
            }
            if now_ns >= due_ns {
                return true;
            }
            std::thread::sleep(Duration::from_nanos((due_ns.min(end_ns) - now_ns).min(LOOK_NS)));
        }
    }

    /// The bytes moved.
    fn perform(&mut self, choice: Choice) -> Result<u64, Failure> {
        let Some(file) = self.files.get(choice.file as usize) else {
            return Err(Failure::Errno(libc::EBADF));
        };
        let block = self.buffers.block(0, choice.length_bytes);
        let moved = match choice.kind {
            Kind::Read => file.read_at(block, choice.offset_bytes),
            Kind::Write => file.write_at(block, choice.offset_bytes),
            Kind::Trim => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
            Kind::Sync if choice.data_only => file.sync_data().map(|()| 0),
            Kind::Sync => file.sync_all().map(|()| 0),
        };
        match moved {
            Ok(bytes) if bytes == choice.length_bytes as usize => Ok(bytes as u64),
            Ok(_) => Err(Failure::Short),
            Err(error) => Err(failure(&error)),
        }
    }
}

/// Rust's own errors without a number come only from its wrappers; they count as EIO.
pub(crate) fn failure(error: &io::Error) -> Failure {
    Failure::Errno(error.raw_os_error().unwrap_or(libc::EIO))
}
