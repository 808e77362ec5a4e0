//! What the next I/O of a job is: its kind, its place and its length.

use super::distribution::{Distribution, Skewed};
use super::permutation::Permutation;
use super::random::Random;
use super::tally::Kind;
use super::task::{JobTask, Place};

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) kind: Kind,
    /// Whether a sync may leave metadata out (fdatasync).
    pub(crate) data_only: bool,
    /// Which of the job's places.
    pub(crate) file: u32,
    /// 0 for a sync.
    pub(crate) length_bytes: u32,
    /// From the begin of the file or device; 0 for a sync.
    pub(crate) offset_bytes: u64,
}

#[derive(Debug, Clone)]
enum Order {
    /// One position for reads and one for writes, as fio has it; both start over at the end.
    Sequential([u64; 2]),
    Permuted(Permutation),
    Even(Random),
    Skewed(Box<Skewed>, Random),
}

/// The way through one place.
#[derive(Debug, Clone)]
struct Walk {
    order: Order,
    blocks: u64,
    base: u64,
}

impl Walk {
    fn new(job: &JobTask, place: &Place, mut random: Random) -> Self {
        let blocks = job.blocks(place);
        let order = match (job.rw.is_random(), job.random_distribution, job.norandommap) {
            (false, _, _) => Order::Sequential([0; 2]),
            (true, Distribution::Random, false) => Order::Permuted(Permutation::new(blocks, random)),
            (true, Distribution::Random, true) => Order::Even(random),
            (true, skewed, _) => Order::Skewed(Box::new(Skewed::new(skewed, blocks, &mut random)), random),
        };
        Self { order, blocks, base: place.offset_bytes }
    }

    #[inline]
    fn block(&mut self, kind: Kind) -> u64 {
        match &mut self.order {
            Order::Sequential(next) => {
                let next = &mut next[usize::from(kind == Kind::Write)];
                let block = *next;
                *next = if block + 1 < self.blocks { block + 1 } else { 0 };
                block
            }
            Order::Permuted(permutation) => permutation.next(),
            Order::Even(random) => random.below(self.blocks),
            Order::Skewed(skewed, random) => skewed.next(random),
        }
    }
}

/// Chooses a job's I/Os. Everything follows from the task's seed and the job's number.
#[derive(Debug, Clone)]
pub(crate) struct Chooser {
    reads: bool,
    writes: bool,
    rwmixread: u8,
    mix: Random,
    walks: Vec<Walk>,
    file: usize,
    block_bytes: u32,
    fsync: u64,
    fdatasync: u64,
    written: u64,
    last_was_write: bool,
}

impl Chooser {
    /// Each place must hold at least one block.
    pub(crate) fn new(seed: u64, number: u32, job: &JobTask) -> Self {
        let stream = u64::from(number) << 8;
        let walk = |(file, place): (u64, &Place)| {
            Walk::new(job, place, Random::new(seed, (file << 40) | stream | 1))
        };
        Self {
            reads: job.rw.reads(),
            writes: job.rw.writes(),
            rwmixread: job.rwmixread,
            mix: Random::new(seed, stream | 2),
            walks: (0_u64..).zip(&job.places).map(walk).collect(),
            file: 0,
            block_bytes: u32::try_from(job.sizes.smallest()).unwrap_or(u32::MAX),
            fsync: job.fsync.into(),
            fdatasync: job.fdatasync.into(),
            written: 0,
            last_was_write: false,
        }
    }

    /// The next I/O.
    #[inline]
    pub(crate) fn next(&mut self) -> Choice {
        if self.last_was_write {
            self.last_was_write = false;
            let due = |every: u64| every > 0 && self.written.is_multiple_of(every);
            if due(self.fsync) || due(self.fdatasync) {
                return self.sync(!due(self.fsync));
            }
        }
        let kind = match (self.reads, self.writes) {
            (true, false) => Kind::Read,
            (false, _) => Kind::Write,
            (true, true) if self.mix.percent(self.rwmixread) => Kind::Read,
            (true, true) => Kind::Write,
        };
        if kind == Kind::Write {
            self.written += 1;
            self.last_was_write = true;
        }
        self.place(kind)
    }

    /// The file written last is the one to be flushed.
    fn sync(&self, data_only: bool) -> Choice {
        let last = self.file.checked_sub(1).unwrap_or(self.walks.len() - 1);
        let file = u32::try_from(last).unwrap_or(u32::MAX);
        Choice { kind: Kind::Sync, data_only, file, length_bytes: 0, offset_bytes: 0 }
    }

    /// Files take turns.
    #[inline]
    fn place(&mut self, kind: Kind) -> Choice {
        let file = self.file;
        self.file = if file + 1 < self.walks.len() { file + 1 } else { 0 };
        let walk = &mut self.walks[file];
        let offset_bytes = walk.base + walk.block(kind) * u64::from(self.block_bytes);
        let file = u32::try_from(file).unwrap_or(u32::MAX);
        Choice { kind, data_only: false, file, length_bytes: self.block_bytes, offset_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Chooser};
    use crate::native::distribution::Distribution;
    use crate::native::tally::Kind;
    use crate::native::task::{JobTask, Place};
    use crate::native::testing::job;
    use proptest::prelude::{any, proptest};
    use record::workload::Rw;
    use std::collections::BTreeSet;

    const PLACE: Place = Place {
        path: std::path::PathBuf::new(),
        offset_bytes: 1 << 20,
        size_bytes: 100 * 4096,
        block_device: false,
    };

    fn placed(job: &JobTask) -> JobTask {
        JobTask { places: vec![PLACE], ..job.clone() }
    }

    fn choices(job: &JobTask, n: usize) -> Vec<Choice> {
        seeded(1, job, n)
    }

    fn seeded(seed: u64, job: &JobTask, n: usize) -> Vec<Choice> {
        let mut chooser = Chooser::new(seed, 0, &placed(job));
        (0..n).map(|_| chooser.next()).collect()
    }

    fn offsets(choices: &[Choice], kind: Kind) -> Vec<u64> {
        choices.iter().filter(|c| c.kind == kind).map(|c| (c.offset_bytes - (1 << 20)) / 4096).collect()
    }

    #[test]
    fn sequences_start_over_and_keep_reads_and_writes_apart() {
        let read = choices(&job(Rw::Read), 150);
        assert_eq!(offsets(&read, Kind::Read), (0..100).chain(0..50).collect::<Vec<u64>>());
        let mixed = choices(&job(Rw::Rw), 90);
        for kind in [Kind::Read, Kind::Write] {
            let found = offsets(&mixed, kind);
            assert!(found.len() > 20);
            assert_eq!(found, (0..found.len() as u64).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn random_orders_cover_everything_unless_told_otherwise() {
        let all: BTreeSet<u64> = (0..100).collect();
        let once = |t: &JobTask| {
            let found = choices(t, 100);
            found.iter().map(|c| (c.offset_bytes - (1 << 20)) / 4096).collect::<BTreeSet<u64>>()
        };
        assert_eq!(once(&job(Rw::Randread)), all);
        assert_eq!(once(&job(Rw::Randrw)), all);
        assert!(once(&JobTask { norandommap: true, ..job(Rw::Randread) }).len() < 90);
        let hot = JobTask { random_distribution: Distribution::Zipf(1.2), ..job(Rw::Randread) };
        assert!(once(&hot).len() < 60);
    }

    #[test]
    fn syncs_follow_every_nth_write() {
        let every = choices(&JobTask { fsync: 3, fdatasync: 2, ..job(Rw::Write) }, 12);
        let found: String = every
            .iter()
            .map(|c| match (c.kind, c.data_only) {
                (Kind::Sync, true) => 'd',
                (Kind::Sync, false) => 's',
                _ => 'w',
            })
            .collect();
        assert_eq!(found, "wwdwswdwwsww");
        assert!(choices(&JobTask { fsync: 1, ..job(Rw::Read) }, 50).iter().all(|c| c.kind == Kind::Read));
    }

    #[test]
    fn trials_and_jobs_differ() {
        let first = choices(&job(Rw::Randread), 50);
        assert_eq!(first, choices(&job(Rw::Randread), 50));
        assert_ne!(first, seeded(2, &job(Rw::Randread), 50));
        let mut other = Chooser::new(1, 1, &placed(&job(Rw::Randread)));
        assert_ne!(first, (0..50).map(|_| other.next()).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn all_stays_inside_the_place(seed in any::<u64>(), kind in 0_usize..6, theta in 0.3_f64..2.0) {
            let rw = [Rw::Read, Rw::Write, Rw::Randread, Rw::Randwrite, Rw::Rw, Rw::Randrw][kind];
            for distribution in [Distribution::Random, Distribution::Zipf(theta), Distribution::Normal(30.0)] {
                let t = JobTask { random_distribution: distribution, ..job(rw) };
                for choice in seeded(seed, &t, 300) {
                    assert!(choice.offset_bytes >= 1 << 20);
                    assert!(choice.offset_bytes + 4096 <= (1 << 20) + 100 * 4096);
                    assert_eq!(choice.offset_bytes % 4096, 0);
                }
            }
        }
    }
}
