//! The time until writes are durable: from their submission to the end of the fsync or fdatasync that covers them.

use super::task::JobTask;
use record::workload::SyncMode;
use std::collections::VecDeque;

/// The most writes between two syncs of a job that is followed, so that the waiting writes take little memory.
const MOST_BETWEEN: u32 = 65_536;

/// Follows a job's writes until a sync makes them durable. A sync covers the writes of its file that had completed when it began: the
/// kernel promises nothing about those still in flight.
#[derive(Debug)]
pub(crate) struct Durable {
    files: Vec<Waiting>,
}

/// The writes of one file that no sync has covered yet.
#[derive(Debug, Default)]
struct Waiting {
    /// When they were submitted, in the order of their completion.
    since_ns: VecDeque<u64>,
    /// The number of completed writes that no longer wait.
    gone: u64,
}

impl Durable {
    /// `None` where no syncs follow the writes, where each write is durable when it completes, or where too many writes would wait.
    pub(crate) fn new(job: &JobTask) -> Option<Self> {
        let every = [job.fsync, job.fdatasync].into_iter().filter(|every| *every > 0).min()?;
        let followed = job.rw.writes() && job.sync == SyncMode::None && every <= MOST_BETWEEN;
        followed.then(|| Self { files: job.places.iter().map(|_| Waiting::default()).collect() })
    }

    /// Records a completed write that was submitted at this time.
    pub(crate) fn wrote(&mut self, file: u32, since_ns: u64) {
        if let Some(waiting) = self.files.get_mut(file as usize) {
            waiting.since_ns.push_back(since_ns);
        }
    }

    /// What a sync covers that begins now: the number of the file's completed writes.
    pub(crate) fn covered(&self, file: u32) -> u64 {
        self.files.get(file as usize).map_or(0, |waiting| waiting.gone + waiting.since_ns.len() as u64)
    }

    /// Ends a sync that began with this many completed writes. The writes that it was the first to cover are returned by the times of
    /// their submission. They are gone also if it failed: no later sync tells whether their data are durable.
    pub(crate) fn synced(&mut self, file: u32, covered: u64) -> impl Iterator<Item = u64> {
        let waiting = self.files.get_mut(file as usize);
        waiting.into_iter().flat_map(move |waiting| {
            let first = covered.saturating_sub(waiting.gone);
            let count = usize::try_from(first).unwrap_or(usize::MAX).min(waiting.since_ns.len());
            waiting.gone += count as u64;
            waiting.since_ns.drain(..count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Durable;
    use crate::native::task::{JobTask, Place};
    use crate::native::testing::job;
    use record::workload::{Rw, SyncMode};

    fn of(change: impl FnOnce(&mut JobTask)) -> Option<Durable> {
        let place = Place {
            number: 0,
            path: std::path::PathBuf::new(),
            offset_bytes: 0,
            size_bytes: 4096,
            block_device: false,
        };
        let mut job = JobTask { places: vec![place.clone(), place], ..job(Rw::Write) };
        change(&mut job);
        Durable::new(&job)
    }

    fn synced(durable: &mut Durable, file: u32, covered: u64) -> Vec<u64> {
        durable.synced(file, covered).collect()
    }

    #[test]
    fn a_sync_covers_what_had_completed_when_it_began() {
        let mut durable = of(|job| job.fsync = 1).unwrap();
        durable.wrote(0, 10);
        durable.wrote(1, 11);
        durable.wrote(0, 12);
        let first = durable.covered(0);
        durable.wrote(0, 13);
        let second = durable.covered(0);
        assert_eq!((first, second, durable.covered(1)), (2, 3, 1));
        assert_eq!(synced(&mut durable, 0, first), [10, 12], "not the write that completed after it began");
        assert_eq!(synced(&mut durable, 0, second), [13]);
        assert_eq!(synced(&mut durable, 1, 1), [11], "each file has its own");
    }

    #[test]
    fn the_first_sync_to_end_counts() {
        let mut durable = of(|job| job.fdatasync = 1).unwrap();
        durable.wrote(0, 10);
        let first = durable.covered(0);
        durable.wrote(0, 20);
        let second = durable.covered(0);
        assert_eq!(synced(&mut durable, 0, second), [10, 20], "the later one covers both");
        assert_eq!(synced(&mut durable, 0, first), [0; 0]);
        durable.wrote(0, 30);
        assert_eq!(durable.covered(0), 3);
        assert_eq!(synced(&mut durable, 0, 3), [30]);
        assert_eq!(synced(&mut durable, 7, 3), [0; 0]);
    }

    #[test]
    fn only_jobs_with_syncs_are_followed() {
        assert!(of(|_| ()).is_none());
        assert!(of(|job| (job.fsync, job.rw) = (1, Rw::Read)).is_none());
        assert!(
            of(|job| (job.fsync, job.sync) = (1, SyncMode::Dsync)).is_none(),
            "writes are durable at their end"
        );
        assert!(of(|job| job.fsync = 100_000).is_none());
        assert!(of(|job| (job.fsync, job.fdatasync) = (100_000, 32)).is_some());
    }
}
