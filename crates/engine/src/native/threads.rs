//! A job with pread and pwrite: one thread for every I/O in flight, where io_uring is refused or not wanted.

use super::buffers::Buffers;
use super::chooser::Choice;
use super::clock::Clock;
use super::content::Content;
use super::kind::Kind;
use super::lane::{Finished, Shared, Start};
use super::meter::{Helpers, Meter};
use super::proof::books::Proof;
use super::sources::{Next, Sources};
use super::tally::{Failure, Tally};
use super::task::JobTask;
use super::trim::{self, TrimError};
use record::workload::SyncMode;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The longest part of a sleep, so that the end of the load is noticed.
const LOOK_NS: u64 = 100_000_000;

/// How often a thread checks whether others have completed what it waits for, in nanoseconds.
const OTHERS_NS: u64 = 100_000;

/// One thread of a job.
pub(crate) struct Thread<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) number: u32,
    pub(crate) job: &'a JobTask,
    pub(crate) files: &'a [File],
    /// The job's sources, which its threads share.
    pub(crate) sources: &'a Mutex<Sources>,
    /// This thread's data.
    pub(crate) content: Content,
    pub(crate) buffers: Buffers,
}

impl Thread<'_> {
    /// Runs until the load ends.
    ///
    /// # Errors
    /// When a place can't be trimmed at all.
    pub(crate) fn run(&mut self, start: &Start) -> Result<Finished, TrimError> {
        let mut clock = start.clock.clone();
        let mut tally = Tally::new(start.span)
            .with_durable_writes(self.job.sync != SyncMode::None)
            .with_board(self.shared.board.clone());
        let mut meter = Meter::new(start.span, Helpers::None);
        let watches = self.lock(|sources| sources.watches());
        let waiting = self.shared.watch.thread(self.number);
        let end_ns = start.span.end_ns;
        let mut now_ns = clock.now_ns();
        let mut over = false;
        while now_ns < end_ns && !self.shared.stopped() {
            // An I/O is taken before it is due; the thread waits until then.
            let (next, covered) = self.next(now_ns);
            let (choice, due_ns) = match next {
                Next::Io(choice, due_ns) => (choice, due_ns),
                Next::Later(wake_ns) => {
                    self.sleep_until(wake_ns.min(now_ns + OTHERS_NS), end_ns, &clock);
                    now_ns = clock.now_ns();
                    continue;
                }
                Next::Over => {
                    over = true;
                    break;
                }
            };
            if due_ns > 0 && !self.sleep_until(due_ns, end_ns, &clock) {
                break;
            }
            if choice.kind == Kind::Write {
                self.content.fill(0, self.buffers.block(0, choice.length_bytes), &choice);
            }
            let since_ns = if due_ns > 0 { due_ns } else { clock.now_ns() };
            waiting.begin(choice.kind, choice.offset_bytes, clock.now_ns());
            let done = self.perform(choice);
            waiting.end();
            now_ns = clock.now_ns();
            if tally.is_over(now_ns) {
                tally.roll(now_ns);
                meter.look(now_ns);
                clock.adjust();
            }
            match done {
                Ok(bytes) => tally.add(choice.kind, now_ns.saturating_sub(since_ns), bytes),
                Err(failure) => {
                    tally.error(self.number, choice.kind, failure, choice.offset_bytes);
                    self.shared.fail(self.job, choice.kind);
                    self.cannot_trim(choice, failure)?;
                }
            }
            if watches {
                self.ended((&choice, done.is_ok()), (since_ns, now_ns), covered, &mut tally);
            }
        }
        let faults = std::mem::replace(&mut self.content, Content::Plain(None)).into_faults();
        let proof = faults.map(|faults| Proof { job: self.number, faults, books: Vec::new() });
        let end_ns = clock.now_ns();
        Ok(Finished { tally, used: meter.close(end_ns), over, proof, end_ns })
    }

    /// The next action, and what it covers if it is a sync.
    fn next(&mut self, now_ns: u64) -> (Next, u64) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let next = sources.next(now_ns, u64::MAX);
        let mut covered = 0;
        if let Next::Io(choice, _) = &next {
            sources.begin(choice, self.content.noted(0));
            if choice.kind == Kind::Sync {
                covered = sources.covered(choice);
            }
        }
        (next, covered)
    }

    /// Returns an I/O to the sources, and checks what it read.
    fn ended(
        &mut self,
        (choice, good): (&Choice, bool),
        (since_ns, now_ns): (u64, u64),
        covered: u64,
        tally: &mut Tally,
    ) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.completed(choice, now_ns);
        sources.end(choice, good, self.content.newest());
        for submitted_ns in sources.made_durable(choice, good, since_ns, covered) {
            tally.durable(now_ns.saturating_sub(submitted_ns));
        }
        drop(sources);
        if good && choice.kind == Kind::Read {
            let block = self.buffers.block(0, choice.length_bytes);
            self.content.look(0, block, choice, |kind, offset_bytes| {
                tally.error(self.number, choice.kind, Failure::Content(kind), offset_bytes);
                self.shared.wrong(self.job);
            });
        }
    }

    fn lock<T>(&self, act: impl FnOnce(&mut Sources) -> T) -> T {
        act(&mut self.sources.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A place that doesn't support trims isn't an I/O error.
    fn cannot_trim(&self, choice: Choice, failure: Failure) -> Result<(), TrimError> {
        match (choice.kind, failure, self.job.places.get(choice.file as usize)) {
            (Kind::Trim, Failure::Errno(errno), Some(place)) => {
                trim::check_supported(errno, &place.path, place.block_device)
            }
            _ => Ok(()),
        }
    }

    /// Sleeps until `due_ns`; false when the load ended meanwhile.
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

    /// Performs an I/O; returns the bytes moved.
    fn perform(&mut self, choice: Choice) -> Result<u64, Failure> {
        let Some(file) = self.files.get(choice.file as usize) else {
            return Err(Failure::Errno(libc::EBADF));
        };
        let (offset, length) = (choice.offset_bytes, choice.length_bytes);
        let block = self.buffers.block(0, length);
        let moved = match choice.kind {
            Kind::Read => file.read_at(block, offset),
            Kind::Write => file.write_at(block, offset),
            Kind::Trim => {
                trim::trim(file, self.job.discards(), offset, length.into()).map(|()| length as usize)
            }
            Kind::Sync if choice.data_only => file.sync_data().map(|()| 0),
            Kind::Sync => file.sync_all().map(|()| 0),
        };
        match moved {
            Ok(bytes) if bytes == length as usize => Ok(bytes as u64),
            Ok(_) => Err(Failure::Short),
            Err(error) => Err(failure(&error)),
        }
    }
}

/// The failure of an I/O. Rust's own errors without a number come only from its wrappers; they count as EIO.
pub(crate) fn failure(error: &io::Error) -> Failure {
    Failure::Errno(error.raw_os_error().unwrap_or(libc::EIO))
}
