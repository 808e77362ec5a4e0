//! What the next I/O of a job is: its kind, its place and its length.

use super::distribution::{Distribution, Skewed};
use super::permutation::Permutation;
use super::random::Random;
use super::sizes::Sizes;
use super::tally::Kind;
use super::task::{JobTask, Place};
use super::zones::Zones;
use record::workload::Rw;

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
    Drawn(Box<Draw>),
}

/// Blocks drawn without a memory of those before.
#[derive(Debug, Clone)]
enum Draw {
    Even(Random),
    Skewed(Skewed, Random),
    Zoned(Zones, Random),
}

impl Draw {
    /// Not inlined: the registers it needs would be saved for every I/O of any order.
    #[inline(never)]
    fn next(&mut self, blocks: u64) -> u64 {
        match self {
            Self::Even(random) => random.below(blocks),
            Self::Skewed(skewed, random) => skewed.next(random),
            Self::Zoned(zones, random) => zones.next(random),
        }
    }
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
        let drawn = |draw| Order::Drawn(Box::new(draw));
        let order = match &job.random_distribution {
            _ if !job.rw.is_random() => Order::Sequential([0; 2]),
            // What is larger than the smallest block can't be kept from touching others twice.
            Distribution::Random if job.norandommap || job.sizes.vary() => drawn(Draw::Even(random)),
            Distribution::Random => Order::Permuted(Permutation::new(blocks, random)),
            Distribution::Zoned(zones) => drawn(Draw::Zoned(Zones::new(zones, blocks, block_bytes)?, random)),
            skewed => drawn(Draw::Skewed(Skewed::new(skewed, blocks, &mut random), random)),
        };
        let left = blocks * block_bytes;
        Ok(Self { order, blocks, block_bytes, base: place.offset_bytes, left })
    }

    /// Where the next I/O begins, from the begin of the place.
    #[inline(always)]
    fn position(&mut self, kind: Kind) -> u64 {
        let block = match &mut self.order {
            Order::Permuted(permutation) => permutation.next(),
            Order::Sequential(next) => return next[usize::from(kind != Kind::Read)],
            Order::Drawn(draw) => draw.next(self.blocks),
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
    /// All I/Os' kind, unless they are mixed.
    only: Option<Kind>,
    rwmixread: u8,
    mix: Random,
    sizes: Sizes,
    drawn: Random,
    walks: Vec<Walk>,
    /// The one whose turn it is.
    file: u32,
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
            only: only(job.rw),
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
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Choice> {
        let kind = self.only.unwrap_or_else(|| self.mixed());
        let file = if self.once { self.unfinished()? } else { self.file };
        let walk = &mut self.walks[file as usize];
        let position = walk.position(kind);
        let length_bytes = match &self.sizes {
            Sizes::One(bytes) => *bytes,
            // Not inlined, either.
            sizes => sizes.draw(&mut self.drawn, walk.blocks * walk.block_bytes - position),
        };
        walk.advance(kind, position + u64::from(length_bytes));
        if self.once {
            walk.left = walk.left.saturating_sub(length_bytes.into());
        }
        let offset_bytes = walk.base + position;
        // Files take turns.
        let after = file + 1;
        self.file = if (after as usize) < self.walks.len() { after } else { 0 };
        Some(Choice { kind, data_only: false, file, length_bytes, offset_bytes })
    }

    #[inline]
    fn mixed(&mut self) -> Kind {
        if self.mix.percent(self.rwmixread) { Kind::Read } else { Kind::Write }
    }

    /// The next file that wasn't gone over yet.
    #[inline(never)]
    fn unfinished(&self) -> Option<u32> {
        let files = u32::try_from(self.walks.len()).unwrap_or(u32::MAX);
        let left = |file: &u32| self.walks.get(*file as usize).is_some_and(|walk| walk.left > 0);
        (self.file..files).chain(0..self.file).find(left)
    }
}

/// Where blocks are trimmed and then written, the writes follow from the trims.
fn only(rw: Rw) -> Option<Kind> {
    match (rw.trims(), rw.reads(), rw.writes()) {
        (true, _, _) => Some(Kind::Trim),
        (false, true, true) => None,
        (false, true, false) => Some(Kind::Read),
        (false, false, _) => Some(Kind::Write),
    }
}

#[cfg(test)]
mod tests;
