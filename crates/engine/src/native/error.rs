//! Why the worker of the native engine could not do its task, or a part of it.

use super::buffers::BufferError;
use super::proof::ledger::LedgerError;
use super::proof::sweep::ReadBackError;
use super::trim::TrimError;
use super::zones::ZoneError;
use record::printable::{Shown as _, chain};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why the worker could not do its task.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The task can't be read.
    #[error("cannot read the task {}", .path.shown())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The task can't be parsed.
    #[error("{} is not a task for this version of the native engine", .path.shown())]
    NoTask {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The load could not be set up, or broke off; the text has all causes, since it is one line of the worker's messages.
    #[error("{0}")]
    Load(String),
    /// The report can't be written.
    #[error("cannot write the report")]
    Answer(#[source] io::Error),
}

impl From<LoadError> for WorkerError {
    fn from(error: LoadError) -> Self {
        Self::Load(chain(&error))
    }
}

/// Why the load could not be set up, or broke off.
#[derive(Debug, Error)]
pub(crate) enum LoadError {
    #[error("the task has no jobs or no time")]
    Empty,
    #[error("{job} has no places, depth or block size")]
    EmptyJob { job: String },
    #[error("{} holds no block of {block_bytes} bytes", .path.shown())]
    TooSmall { path: PathBuf, block_bytes: u64 },
    #[error("{} is not a data file of diskproof", .0.shown())]
    NotOurs(PathBuf),
    /// The job's ring can't be created as requested.
    #[error(transparent)]
    NoRing(#[from] NoRing),
    #[error("{threads} I/Os in flight would need as many threads; use a smaller iodepth")]
    TooManyThreads { threads: u64 },
    /// The same, where threads replace io_uring.
    #[error("{departure}; {}", chain(.error.as_ref()))]
    InsteadOfRing { departure: String, error: Box<LoadError> },
    /// A lane could not get ready, or broke off.
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error("a worker thread panicked before it was ready")]
    NeverReady,
    /// What was written can't be read back.
    #[error(transparent)]
    ReadBack(#[from] ReadBackError),
}

/// Why there is no ring.
#[derive(Debug, Error)]
pub(crate) enum NoRing {
    #[error("io_uring is refused")]
    Refused(#[source] io::Error),
    #[error("this kernel's io_uring can't wait with a timeout (Linux 5.11 and newer can)")]
    TooOld,
    #[error("io_uring can't be set up as asked")]
    Failed(#[source] io::Error),
}

/// Why a lane could not get ready, or broke off. I/Os that fail are counted, and aren't errors here.
#[derive(Debug, Error)]
pub(crate) enum LaneError {
    /// A file can't be opened for direct I/O. The remedy follows the cause, so the cause is a part of the text.
    #[error("{} can't be opened with O_DIRECT: {cause}; use direct: 0", .path.shown())]
    NoDirect { path: PathBuf, cause: io::Error },
    #[error("{} can't be opened", .path.shown())]
    Open { path: PathBuf, source: io::Error },
    #[error("{} can't be examined", .path.shown())]
    Examine { path: PathBuf, source: io::Error },
    #[error("{} is not a block device", .0.shown())]
    NoBlockDevice(PathBuf),
    #[error("{} is not a regular file", .0.shown())]
    NoFile(PathBuf),
    #[error("the page cache of {} can't be dropped", .path.shown())]
    PageCache { path: PathBuf, source: io::Error },
    #[error("io_uring can't be set up")]
    SetUp(#[source] io::Error),
    #[error("io_uring has no space for {depth} I/Os in flight; use a smaller iodepth")]
    Depth { depth: usize },
    #[error("io_uring can't register {files} files")]
    Register { files: usize, source: io::Error },
    /// The buffers are too large.
    #[error(transparent)]
    Buffers(#[from] BufferError),
    /// A place doesn't hold the zones of its accesses.
    #[error(transparent)]
    Zones(#[from] ZoneError),
    /// The record of writes is too large.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ring broke.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The job trims, and a place can't be trimmed.
    #[error(transparent)]
    Trim(#[from] TrimError),
    #[error("a thread for job{job} can't be started")]
    Thread { job: u32, source: io::Error },
    #[error("a worker thread panicked")]
    Panicked,
}

/// Why a running ring takes no more I/Os. It is as small as possible: calls for every I/O return it.
#[derive(Debug, Error)]
pub(crate) enum RingError {
    #[error("io_uring's submission queue is full")]
    Full,
    #[error("io_uring_enter failed")]
    Enter(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::{LaneError, LoadError, NoRing, RingError, WorkerError};
    use std::io::Error;

    #[test]
    fn one_line_of_the_worker_tells_all_causes() {
        let said = |error: LoadError| WorkerError::from(error).to_string();
        let errno = Error::from_raw_os_error;
        let ring = NoRing::Failed(errno(libc::EINVAL));
        assert_eq!(said(ring.into()), "io_uring can't be set up as asked: Invalid argument (os error 22)");
        let lane = LaneError::Ring(RingError::Enter(errno(libc::EBADF)));
        assert_eq!(said(lane.into()), "io_uring_enter failed: Bad file descriptor (os error 9)");
        let cause = errno(libc::EINVAL);
        let lane = LaneError::NoDirect { path: "/m/a".into(), cause };
        let expected = "/m/a can't be opened with O_DIRECT: Invalid argument (os error 22); use direct: 0";
        assert_eq!(said(lane.into()), expected);
        let error = Box::new(LoadError::TooManyThreads { threads: 8192 });
        let departure = "threads instead".to_owned();
        let expected =
            "threads instead; 8192 I/Os in flight would need as many threads; use a smaller iodepth";
        assert_eq!(said(LoadError::InsteadOfRing { departure, error }), expected);
    }
}
