//! What the next I/O of a job is: its kind and its place.

use super::distribution::{Distribution, Skewed};
use super::permutation::Permutation;
use super::random::Random;
use super::tally::Kind;
use super::task::{Place, Task};

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) kind: Kind,
    /// From the begin of the file or device; 0 for a sync.
    pub(crate) offset_bytes: u64,
    /// Whether a sync may leave metadata out (fdatasync).
    pub(crate) data_only: bool,
}

#[derive(Debug, Clone)]
enum Order {
    /// One position for reads and one for writes, as fio has it; both start over at the end.
    Sequential([u64; 2]),
    Permuted(Permutation),
    Even(Random),
    Skewed(Box<Skewed>, Random),
}

/// Chooses a job's I/Os. Everything follows from the task's seed and the job's number.
#[derive(Debug, Clone)]
pub(crate) struct Chooser {
    reads: bool,
    writes: bool,
    rwmixread: u8,
    mix: Random,
    order: Order,
    blocks: u64,
    base: u64,
    block_bytes: u64,
    fsync: u64,
    fdatasync: u64,
    written: u64,
    last_was_write: bool,
}

impl Chooser {
    /// The place must hold at least one block.
    pub(crate) fn new(task: &Task, job: u32, place: &Place) -> Self {
        let stream = u64::from(job) << 8;
        let mut random = Random::new(task.seed, stream | 1);
        let blocks = task.blocks(place);
        let order = match (task.rw.is_random(), task.random_distribution, task.norandommap) {
            (false, _, _) => Order::Sequential([0; 2]),
            (true, Distribution::Random, false) => Order::Permuted(Permutation::new(blocks, random)),
            (true, Distribution::Random, true) => Order::Even(random),
            (true, skewed, _) => Order::Skewed(Box::new(Skewed::new(skewed, blocks, &mut random)), random),
        };
        Self {
            reads: task.rw.reads(),
            writes: task.rw.writes(),
            rwmixread: task.rwmixread,
            mix: Random::new(task.seed, stream | 2),
            order,
            blocks,
            base: place.offset_bytes,
            block_bytes: task.bs_bytes,
            fsync: task.fsync.into(),
            fdatasync: task.fdatasync.into(),
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
                return Choice { kind: Kind::Sync, offset_bytes: 0, data_only: !due(self.fsync) };
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
        let block = self.block(kind);
        Choice { kind, offset_bytes: self.base + block * self.block_bytes, data_only: false }
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

#[cfg(test)]
mod tests {
    use super::{Choice, Chooser};
    use crate::native::distribution::Distribution;
    use crate::native::tally::Kind;
    use crate::native::task::{Place, Task};
    use crate::native::testing::task;
    use proptest::prelude::{any, proptest};
    use record::workload::Rw;
    use std::collections::BTreeSet;

    const PLACE: Place = Place {
        path: std::path::PathBuf::new(),
        offset_bytes: 1 << 20,
        size_bytes: 100 * 4096,
        block_device: false,
    };

    fn choices(task: &Task, n: usize) -> Vec<Choice> {
        let mut chooser = Chooser::new(task, 0, &PLACE);
        (0..n).map(|_| chooser.next()).collect()
    }

    fn offsets(choices: &[Choice], kind: Kind) -> Vec<u64> {
        choices.iter().filter(|c| c.kind == kind).map(|c| (c.offset_bytes - (1 << 20)) / 4096).collect()
    }

    #[test]
    fn sequences_start_over_and_keep_reads_and_writes_apart() {
        let read = choices(&task(Rw::Read), 150);
        assert_eq!(offsets(&read, Kind::Read), (0..100).chain(0..50).collect::<Vec<u64>>());
        let mixed = choices(&task(Rw::Rw), 90);
        for kind in [Kind::Read, Kind::Write] {
            let found = offsets(&mixed, kind);
            assert!(found.len() > 20);
            assert_eq!(found, (0..found.len() as u64).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn random_orders_cover_everything_unless_told_otherwise() {
        let all: BTreeSet<u64> = (0..100).collect();
        let once = |t: &Task| {
            let found = choices(t, 100);
            found.iter().map(|c| (c.offset_bytes - (1 << 20)) / 4096).collect::<BTreeSet<u64>>()
        };
        assert_eq!(once(&task(Rw::Randread)), all);
        assert_eq!(once(&task(Rw::Randrw)), all);
        assert!(once(&Task { norandommap: true, ..task(Rw::Randread) }).len() < 90);
        let hot = Task { random_distribution: Distribution::Zipf(1.2), ..task(Rw::Randread) };
        assert!(once(&hot).len() < 60);
    }

    #[test]
    fn syncs_follow_every_nth_write() {
        let every = choices(&Task { fsync: 3, fdatasync: 2, ..task(Rw::Write) }, 12);
        let found: String = every
            .iter()
            .map(|c| match (c.kind, c.data_only) {
                (Kind::Sync, true) => 'd',
                (Kind::Sync, false) => 's',
                _ => 'w',
            })
            .collect();
        assert_eq!(found, "wwdwswdwwsww");
        assert!(choices(&Task { fsync: 1, ..task(Rw::Read) }, 50).iter().all(|c| c.kind == Kind::Read));
    }

    #[test]
    fn trials_and_jobs_differ() {
        let first = choices(&task(Rw::Randread), 50);
        assert_eq!(first, choices(&task(Rw::Randread), 50));
        assert_ne!(first, choices(&Task { seed: 2, ..task(Rw::Randread) }, 50));
        let mut other = Chooser::new(&task(Rw::Randread), 1, &PLACE);
        assert_ne!(first, (0..50).map(|_| other.next()).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn all_stays_inside_the_place(seed in any::<u64>(), kind in 0_usize..6, theta in 0.3_f64..2.0) {
            let rw = [Rw::Read, Rw::Write, Rw::Randread, Rw::Randwrite, Rw::Rw, Rw::Randrw][kind];
            for distribution in [Distribution::Random, Distribution::Zipf(theta), Distribution::Normal(30.0)] {
                let t = Task { seed, random_distribution: distribution, ..task(rw) };
                for choice in choices(&t, 300) {
                    assert!(choice.offset_bytes >= 1 << 20);
                    assert!(choice.offset_bytes + 4096 <= (1 << 20) + 100 * 4096);
                    assert_eq!(choice.offset_bytes % 4096, 0);
                }
            }
        }
    }
}
