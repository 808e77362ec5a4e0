//! Flushes after a job's writes: fio's `fsync` and `fdatasync`.

use super::chooser::Choice;
use super::kind::Kind;
use super::task::JobTask;

/// Counts a job's writes.
#[derive(Debug, Clone)]
pub(crate) struct Syncs {
    fsync: u64,
    fdatasync: u64,
    written: u64,
    /// The file of a write after which no flush was considered yet.
    last: Option<u32>,
}

impl Syncs {
    pub(crate) fn new(job: &JobTask) -> Self {
        Self { fsync: job.fsync.into(), fdatasync: job.fdatasync.into(), written: 0, last: None }
    }

    /// Records an issued write.
    #[inline]
    pub(crate) fn wrote(&mut self, file: u32) {
        self.written += 1;
        self.last = Some(file);
    }

    /// The flush that is due, of the file written last.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Choice> {
        let file = self.last.take()?;
        let due = |every: u64| every > 0 && self.written.is_multiple_of(every);
        let (fsync, fdatasync) = (due(self.fsync), due(self.fdatasync));
        (fsync || fdatasync).then_some(Choice {
            kind: Kind::Sync,
            data_only: !fsync,
            file,
            length_bytes: 0,
            offset_bytes: 0,
        })
    }
}
