//! A job's next action: its I/Os with their due times, pauses, flushes, and writes after trims.

use super::arrival::Arrivals;
use super::chooser::{Choice, Chooser};
use super::durable::Durable;
use super::error::LaneError;
use super::kind::Kind;
use super::proof::{Book, Guard, Pick};
use super::random::Random;
use super::syncs::Syncs;
use super::task::{JobTask, Task};
use super::think::Think;
use std::collections::VecDeque;

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// An I/O with its due time; 0: at once.
    Io(Choice, u64),
    /// Nothing before this time; `u64::MAX`: before an I/O completes.
    Later(u64),
    /// One pass is enough, and all data are done.
    Over,
}

/// A job's own I/Os and due times. [`Sources::completed`] must follow for every I/O that is taken.
pub(crate) struct Sources {
    chooser: Chooser,
    /// Whether I/Os follow each other with nothing in between.
    plain: bool,
    arrivals: Option<Arrivals>,
    think: Option<Think>,
    syncs: Syncs,
    /// The writes that wait for a sync.
    durable: Option<Durable>,
    trims_first: bool,
    /// The number of pending trims whose blocks are to be written.
    trims: u32,
    /// Writes of trimmed blocks.
    writes: VecDeque<Choice>,
    /// Under `verify`, the record of writes, and the waiting writes.
    guard: Option<Guard>,
}

impl Sources {
    /// # Errors
    /// When a place doesn't hold what the job requests.
    pub(crate) fn new(task: &Task, number: u32, job: &JobTask, begin_ns: u64) -> Result<Self, LaneError> {
        let stream = u64::from(number) << 8;
        let random = Random::new(task.seed, stream | 3);
        let arrivals = |rate| Arrivals::new(rate, job.sizes.smallest(), begin_ns, random);
        let syncs = job.rw.writes() && (job.fsync > 0 || job.fdatasync > 0);
        Ok(Self {
            plain: !(syncs || job.rate.is_some() || job.pause.is_some() || job.trims_first() || job.verify),
            chooser: Chooser::new(task.seed, number, job)?,
            arrivals: job.rate.map(arrivals),
            think: job.pause.map(Think::new),
            syncs: Syncs::new(job),
            durable: Durable::new(job),
            trims_first: job.trims_first(),
            trims: 0,
            writes: VecDeque::with_capacity(if job.trims_first() { job.iodepth as usize } else { 0 }),
            guard: job.verify.then(|| Guard::new(job)).transpose()?,
        })
    }

    /// The next I/O with a due time up to `horizon_ns`.
    #[inline]
    pub(crate) fn next(&mut self, now_ns: u64, horizon_ns: u64) -> Next {
        if self.plain {
            return self.chooser.next().map_or(Next::Over, |choice| Next::Io(choice, 0));
        }
        self.paced(now_ns, horizon_ns)
    }

    #[inline(never)]
    fn paced(&mut self, now_ns: u64, horizon_ns: u64) -> Next {
        if let Some(sync) = self.syncs.next() {
            if let Some(think) = &mut self.think {
                think.issued();
            }
            return Next::Io(sync, 0);
        }
        if let Some(until_ns) = self.think.as_ref().and_then(|think| think.pauses(now_ns)) {
            return Next::Later(until_ns);
        }
        let due_ns = self.arrivals.as_ref().map_or(0, Arrivals::due_ns);
        if due_ns > horizon_ns {
            return Next::Later(due_ns);
        }
        let choice = match self.pick() {
            Pick::Io(choice) => choice,
            Pick::Wait => return Next::Later(u64::MAX),
            Pick::Over if self.trims > 0 => return Next::Later(u64::MAX),
            Pick::Over => return Next::Over,
        };
        self.took(&choice);
        Next::Io(choice, due_ns)
    }

    #[inline]
    fn pick(&mut self) -> Pick {
        let Self { guard, chooser, writes, .. } = self;
        match guard {
            None => writes.pop_front().or_else(|| chooser.next()).map_or(Pick::Over, Pick::Io),
            Some(guard) => guard.pick(|| chooser.next()),
        }
    }

    /// Begins an I/O that was taken; under `verify` it notes its generations.
    #[inline]
    pub(crate) fn begin(&mut self, choice: &Choice, noted: &mut [u32]) {
        if let Some(guard) = &mut self.guard {
            guard.begin(choice, noted);
        }
    }

    /// Ends an I/O that has begun, successful or not; under `verify` it notes the newest generations that it may have read.
    #[inline]
    pub(crate) fn end(&mut self, choice: &Choice, good: bool, newest: &mut [u32]) {
        if let Some(guard) = &mut self.guard {
            guard.end(choice, good, newest);
        }
    }

    /// The ledgers, one for each of the job's files.
    pub(crate) fn into_books(self) -> Vec<Book> {
        self.guard.map_or_else(Vec::new, Guard::into_books)
    }

    #[inline]
    fn took(&mut self, choice: &Choice) {
        match choice.kind {
            Kind::Write => self.syncs.wrote(choice.file),
            Kind::Trim if self.trims_first => self.trims += 1,
            _ => {}
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.issued(choice.length_bytes.into());
        }
        if let Some(think) = &mut self.think {
            think.issued();
        }
    }

    /// Whether anything depends on completions.
    pub(crate) fn watches(&self) -> bool {
        self.think.is_some() || self.trims_first || self.guard.is_some() || self.durable.is_some()
    }

    /// What a sync covers that begins now, for [`Sources::made_durable`].
    #[inline]
    pub(crate) fn covered(&self, sync: &Choice) -> u64 {
        self.durable.as_ref().map_or(0, |durable| durable.covered(sync.file))
    }

    /// Records an ended I/O that was submitted at `since_ns`. Returns the times of submission of the writes that a sync made durable.
    #[inline]
    pub(crate) fn made_durable(
        &mut self,
        choice: &Choice,
        good: bool,
        since_ns: u64,
        covered: u64,
    ) -> impl Iterator<Item = u64> {
        let durable = self.durable.as_mut();
        let made = durable.and_then(|durable| match choice.kind {
            Kind::Write if good => {
                durable.wrote(choice.file, since_ns);
                None
            }
            Kind::Sync => Some(durable.synced(choice.file, covered)),
            _ => None,
        });
        made.into_iter().flatten().filter(move |_| good)
    }

    /// Records that an I/O has ended, successful or not.
    #[inline]
    pub(crate) fn completed(&mut self, choice: &Choice, now_ns: u64) {
        if let Some(think) = &mut self.think {
            think.completed(now_ns);
        }
        if self.trims_first && choice.kind == Kind::Trim {
            self.trims -= 1;
            self.writes.push_back(Choice { kind: Kind::Write, ..*choice });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, Sources};
    use crate::native::arrival::Rate;
    use crate::native::chooser::Choice;
    use crate::native::kind::Kind;
    use crate::native::task::{JobTask, Place, Task};
    use crate::native::testing::{job, task};
    use crate::native::think::Pause;
    use record::workload::Rw;

    fn sources(job: JobTask) -> Sources {
        let place = Place {
            number: 0,
            path: std::path::PathBuf::new(),
            offset_bytes: 0,
            size_bytes: 100 * 4096,
            block_device: false,
        };
        let job = JobTask { places: vec![place], ..job };
        Sources::new(&Task { jobs: Vec::new(), ..task(job.rw) }, 0, &job, 1000).unwrap()
    }

    fn io(next: Next) -> Choice {
        match next {
            Next::Io(choice, _) => choice,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn syncs_follow_every_nth_write() {
        let mut every = sources(JobTask { fsync: 3, fdatasync: 2, ..job(Rw::Write) });
        let letters = (0..12).map(|_| io(every.next(0, 0))).map(|c| match (c.kind, c.data_only) {
            (Kind::Sync, true) => 'd',
            (Kind::Sync, false) => 's',
            _ => 'w',
        });
        assert_eq!(letters.collect::<String>(), "wwdwswdwwsww");
        let mut reads = sources(JobTask { fsync: 1, ..job(Rw::Read) });
        assert!((0..50).all(|_| io(reads.next(0, 0)).kind == Kind::Read));
    }

    #[test]
    fn syncs_take_nothing_of_the_rate() {
        let rate = Rate { per_second: 1_000_000, bytes: false, poisson: false };
        let mut both = sources(JobTask { fsync: 1, rate: Some(rate), ..job(Rw::Write) });
        let mut writes = 0;
        loop {
            match both.next(1_001_000, 1_001_000) {
                Next::Io(choice, due_ns) if choice.kind == Kind::Write => {
                    assert_eq!(due_ns, 1000 + writes * 1000);
                    writes += 1;
                }
                Next::Io(sync, due_ns) => assert_eq!((sync.kind, due_ns), (Kind::Sync, 0)),
                Next::Later(due_ns) => break assert_eq!(due_ns, 1_002_000),
                Next::Over => panic!("it goes on"),
            }
        }
        assert_eq!(writes, 1001);
    }

    #[test]
    fn every_block_is_trimmed_before_it_is_written() {
        for rw in [Rw::Trimwrite, Rw::Randtrimwrite] {
            let mut both = sources(JobTask { once: true, ..job(rw) });
            let mut trimmed = Vec::new();
            let mut written = Vec::new();
            loop {
                let first = match both.next(0, 0) {
                    Next::Over => break,
                    other => io(other),
                };
                let second = io(both.next(0, 0));
                for choice in [first, second] {
                    match choice.kind {
                        Kind::Trim => trimmed.push(choice.offset_bytes),
                        _ => {
                            assert!(trimmed.contains(&choice.offset_bytes));
                            written.push(choice.offset_bytes);
                        }
                    }
                    both.completed(&choice, 0);
                }
            }
            assert_eq!(trimmed, written, "in the same order");
            assert_eq!(trimmed.len(), 100);
        }
    }

    #[test]
    fn the_last_trims_are_waited_for() {
        let mut both = sources(JobTask { once: true, ..job(Rw::Trimwrite) });
        let trims: Vec<Choice> = (0..100).map(|_| io(both.next(0, 0))).collect();
        assert_eq!(both.next(0, 0), Next::Later(u64::MAX));
        both.completed(&trims[0], 0);
        assert_eq!(io(both.next(0, 0)).kind, Kind::Write);
        assert_eq!(both.next(0, 0), Next::Later(u64::MAX));
    }

    #[test]
    fn pauses_hold_back_what_comes_next() {
        let pause = Pause { pause_ns: 5000, spin_ns: 0, blocks: 1 };
        let mut slow = sources(JobTask { pause: Some(pause), ..job(Rw::Read) });
        let first = io(slow.next(1000, 1000));
        slow.completed(&first, 2000);
        assert_eq!(slow.next(2000, 2000), Next::Later(7000));
        assert_eq!(io(slow.next(7000, 7000)).kind, Kind::Read);
    }
}
