//! The common parts of all lanes. A lane is a ring or a thread that issues I/O.

use super::board::Board;
use super::clock::Clock;
use super::error::LaneError;
use super::hang::Watch;
use super::kind::Kind;
use super::meter::Used;
use super::proof::books::Proof;
use super::tally::{Span, Tally};
use super::task::{JobTask, Place, Task};
use record::workload::SyncMode;
use rustix::fs::{Advice, OFlags};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// What a lane shares with all others.
#[derive(Clone)]
pub(crate) struct Shared<'a> {
    pub(crate) task: &'a Task,
    /// Ends the load of all lanes.
    pub(crate) stop: &'a AtomicBool,
    /// Receives messages while the load runs.
    pub(crate) say: Sender<String>,
    /// The system calls in which threads wait.
    pub(crate) watch: &'a Watch,
    /// Receives what completes while the load runs, if somebody wants to know.
    pub(crate) board: Option<Arc<Board>>,
}

impl Shared<'_> {
    /// Records a failed I/O of a job; it ends the load unless the job tolerates it.
    pub(crate) fn fail(&self, job: &JobTask, kind: Kind) {
        if !job.continue_on_error.of(kind) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Records that a job read wrong content; it ends the load unless the job tolerates it.
    pub(crate) fn wrong(&self, job: &JobTask) {
        if !job.continue_on_error.verify {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The times that a lane gets when the load begins.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) begin_ns: u64,
    pub(crate) span: Span,
    pub(crate) clock: Clock,
}

/// The result of a lane.
pub(crate) struct Finished {
    pub(crate) tally: Tally,
    /// Its cost.
    pub(crate) used: Used,
    /// Whether it finished its single pass over the data.
    pub(crate) over: bool,
    /// The findings of `verify`, and the data to read back.
    pub(crate) proof: Option<Proof>,
    /// CLOCK_MONOTONIC after its last I/O and final flush.
    pub(crate) end_ns: u64,
}

/// Opens a job's files for the load.
///
/// # Errors
/// When one doesn't exist, or isn't what it should be.
pub(crate) fn open(task: &Task, job: &JobTask) -> Result<Vec<File>, LaneError> {
    job.places.iter().map(|place| open_one(task, job, place)).collect()
}

fn open_one(task: &Task, job: &JobTask, place: &Place) -> Result<File, LaneError> {
    let path = || place.path.clone();
    let mut flags = OFlags::NOFOLLOW | OFlags::NOATIME;
    if job.direct {
        flags |= OFlags::DIRECT;
    }
    flags |= match job.sync {
        SyncMode::None => OFlags::empty(),
        SyncMode::Dsync => OFlags::DSYNC,
        SyncMode::Sync => OFlags::SYNC,
    };
    let open = |flags: OFlags| {
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        OpenOptions::new()
            .read(true)
            .write(job.rw.writes() || job.rw.trims())
            .custom_flags(flags)
            .open(&place.path)
    };
    // Only a file's owner may leave its access time unchanged.
    let file = open(flags)
        .or_else(|error| match error.raw_os_error() {
            Some(libc::EPERM) => open(flags - OFlags::NOATIME),
            _ => Err(error),
        })
        .map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) if job.direct => LaneError::NoDirect { path: path(), cause: error },
            _ => LaneError::Open { path: path(), source: error },
        })?;
    let metadata = file.metadata().map_err(|source| LaneError::Examine { path: path(), source })?;
    let kind = metadata.file_type();
    if place.block_device && !kind.is_block_device() {
        return Err(LaneError::NoBlockDevice(path()));
    }
    if !place.block_device && !kind.is_file() {
        return Err(LaneError::NoFile(path()));
    }
    if task.invalidate {
        rustix::fs::fadvise(&file, place.offset_bytes, None, Advice::DontNeed)
            .map_err(|errno| LaneError::PageCache { path: path(), source: errno.into() })?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::open;
    use crate::native::task::{JobTask, Place, Task};
    use crate::native::testing::{job, task};
    use record::workload::{Rw, SyncMode};
    use rustix::fs::{OFlags, fcntl_getfl};

    #[test]
    fn files_are_opened_as_asked() {
        let directory = tempfile::tempdir().unwrap();
        let places: Vec<Place> = (0..2)
            .map(|number| {
                let path = directory.path().join(format!("diskproof-data.{number}"));
                std::fs::write(&path, [7; 4096]).unwrap();
                Place { number, path, offset_bytes: 0, size_bytes: 4096, block_device: false }
            })
            .collect();
        for (sync, wanted) in [
            (SyncMode::None, OFlags::empty()),
            (SyncMode::Dsync, OFlags::DSYNC),
            (SyncMode::Sync, OFlags::SYNC),
        ] {
            for (rw, access) in
                [(Rw::Randread, OFlags::RDONLY), (Rw::Randwrite, OFlags::RDWR), (Rw::Trim, OFlags::RDWR)]
            {
                let job = JobTask { sync, direct: false, places: places.clone(), ..job(rw) };
                let files = open(&Task { invalidate: true, ..task(rw) }, &job).unwrap();
                assert_eq!(files.len(), 2);
                for file in &files {
                    let flags = fcntl_getfl(file).unwrap();
                    // O_SYNC contains O_DSYNC's bit, too.
                    assert_eq!(flags & OFlags::SYNC, wanted, "{sync:?}");
                    assert_eq!(flags & OFlags::RWMODE, access, "{rw:?}");
                }
            }
        }
        let mut gone = JobTask { places, direct: false, ..job(Rw::Read) };
        gone.places[1].path = directory.path().join("diskproof-data.missing");
        assert!(open(&task(Rw::Read), &gone).unwrap_err().to_string().contains("diskproof-data.missing"));
    }
}
