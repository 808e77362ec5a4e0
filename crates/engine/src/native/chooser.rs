//! What the next I/O of a job is: its kind, its place and its length.

use super::distribution::{Distribution, Skewed};
use super::permutation::Permutation;
use super::random::Random;
use super::sizes::Sizes;
use super::tally::Kind;
use super::task::{JobTask, Place};
use super::zones::Zones;

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
    /// Positions in bytes, one for reads and one for the rest, as fio has it; both start over at the end.
    Sequential([u64; 2]),
    Permuted(Permutation),
    Even(Random),
    Skewed(Box<Skewed>, Random),
    Zoned(Zones, Random),
}

/// The way through one place.
#[derive(Debug, Clone)]
struct Walk {
    order: Order,
    /// Of the smallest size.
    blocks: u64,
    block_bytes: u64,
    base: u64,
    /// What is left of one pass, in bytes.
    left: u64,
}

impl Walk {
    fn new(job: &JobTask, place: &Place, mut random: Random) -> Result<Self, String> {
        let (blocks, block_bytes) = (job.blocks(place), job.sizes.smallest());
        let order = match &job.random_distribution {
            _ if !job.rw.is_random() => Order::Sequential([0; 2]),
            // What is larger than the smallest block can't be kept from touching others twice.
            Distribution::Random if job.norandommap || job.sizes.vary() => Order::Even(random),
            Distribution::Random => Order::Permuted(Permutation::new(blocks, random)),
            Distribution::Zoned(zones) => Order::Zoned(Zones::new(zones, blocks, block_bytes)?, random),
            skewed => Order::Skewed(Box::new(Skewed::new(skewed, blocks, &mut random)), random),
        };
        let left = blocks * block_bytes;
        Ok(Self { order, blocks, block_bytes, base: place.offset_bytes, left })
    }

    /// Where the next I/O begins, from the begin of the place.
    #[inline]
    fn position(&mut self, kind: Kind) -> u64 {
        let block = match &mut self.order {
            Order::Sequential(next) => return next[usize::from(kind != Kind::Read)],
            Order::Permuted(permutation) => permutation.next(),
            Order::Even(random) => random.below(self.blocks),
            Order::Skewed(skewed, random) => skewed.next(random),
            Order::Zoned(zones, random) => zones.next(random),
        };
        block * self.block_bytes
    }

    /// A sequence goes on behind what was chosen, or starts over.
    #[inline]
    fn advance(&mut self, kind: Kind, end: u64) {
        if let Order::Sequential(next) = &mut self.order {
            let room = self.blocks * self.block_bytes - end;
            next[usize::from(kind != Kind::Read)] = if room >= self.block_bytes { end } else { 0 };
        }
    }
}

/// Chooses a job's I/Os. Everything follows from the task's seed and the job's number.
#[derive(Debug, Clone)]
pub(crate) struct Chooser {
    reads: bool,
    writes: bool,
    trims: bool,
    rwmixread: u8,
    mix: Random,
    sizes: Sizes,
    drawn: Random,
    walks: Vec<Walk>,
    file: usize,
    once: bool,
}

impl Chooser {
    /// Each place must hold at least one block.
    ///
    /// # Errors
    /// In words, when a place doesn't hold the zones of its accesses.
    pub(crate) fn new(seed: u64, number: u32, job: &JobTask) -> Result<Self, String> {
        let stream = u64::from(number) << 8;
        let walk = |(file, place): (u64, &Place)| {
            Walk::new(job, place, Random::new(seed, (file << 40) | stream | 1))
        };
        Ok(Self {
            reads: job.rw.reads(),
            writes: job.rw.writes(),
            trims: job.rw.trims(),
            rwmixread: job.rwmixread,
            mix: Random::new(seed, stream | 2),
            sizes: job.sizes.clone(),
            drawn: Random::new(seed, stream | 6),
            walks: (0..).zip(&job.places).map(walk).collect::<Result<_, _>>()?,
            file: 0,
            once: job.once,
        })
    }

    /// The next I/O; `None` when all data was gone over and once is enough. Where blocks are trimmed and then written, only
    /// the trims are chosen.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Choice> {
        let kind = match (self.reads, self.writes) {
            _ if self.trims => Kind::Trim,
            (true, false) => Kind::Read,
            (false, _) => Kind::Write,
            (true, true) if self.mix.percent(self.rwmixread) => Kind::Read,
            (true, true) => Kind::Write,
        };
        let file = self.next_file()?;
        let walk = &mut self.walks[file];
        let position = walk.position(kind);
        let length_bytes = match &self.sizes {
            Sizes::One(bytes) => *bytes,
            sizes => sizes.draw(&mut self.drawn, walk.blocks * walk.block_bytes - position),
        };
        walk.advance(kind, position + u64::from(length_bytes));
        if self.once {
            walk.left = walk.left.saturating_sub(length_bytes.into());
        }
        let offset_bytes = walk.base + position;
        let file = u32::try_from(file).unwrap_or(u32::MAX);
        Some(Choice { kind, data_only: false, file, length_bytes, offset_bytes })
    }

    /// Files take turns; those that were gone over are left out if once is enough.
    #[inline]
    fn next_file(&mut self) -> Option<usize> {
        let (mut file, files) = (self.file, self.walks.len());
        if self.once {
            file = (file..files).chain(0..file).find(|f| self.walks[*f].left > 0)?;
        }
        self.file = if file + 1 < files { file + 1 } else { 0 };
        Some(file)
    }
}

#[cfg(test)]
mod tests;
