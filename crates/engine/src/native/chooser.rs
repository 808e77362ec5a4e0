//! Chooses a job's next I/O: its kind, its place and its length.

use super::distribution::{Distribution, Skewed};
use super::kind::Kind;
use super::permutation::Permutation;
use super::random::Random;
use super::sizes::Sizes;
use super::task::{JobTask, Place};
use super::zones::{ZoneError, Zones};
use record::workload::Rw;

/// An I/O to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) kind: Kind,
    /// Whether a sync may leave out metadata (fdatasync).
    pub(crate) data_only: bool,
    /// The index of the job's place.
    pub(crate) file: u32,
    /// The length; 0 for a sync.
    pub(crate) length_bytes: u32,
    /// The offset from the beginning of the file or device; 0 for a sync.
    pub(crate) offset_bytes: u64,
}

#[derive(Debug, Clone)]
enum Order {
    /// Positions in bytes, one for reads and one for other I/Os, as in fio; both start over at the end.
    Sequential([u64; 2]),
    Permuted(Permutation),
    Drawn(Box<Draw>),
}

/// Blocks that are drawn independently of earlier ones.
#[derive(Debug, Clone)]
enum Draw {
    Even(Random),
    Skewed(Skewed, Random),
    Zoned(Zones, Random),
}

impl Draw {
    /// Not inlined: else every I/O of any order would save the registers that it needs.
    #[inline(never)]
    fn next(&mut self, blocks: u64) -> u64 {
        match self {
            Self::Even(random) => random.below(blocks),
            Self::Skewed(skewed, random) => skewed.next(random),
            Self::Zoned(zones, random) => zones.next(random),
        }
    }
}

/// The position in one place.
#[derive(Debug, Clone)]
struct Walk {
    order: Order,
    /// The number of blocks of the smallest size.
    blocks: u64,
    block_bytes: u64,
    base: u64,
    /// The bytes left in a pass.
    left: u64,
}

impl Walk {
    fn new(job: &JobTask, place: &Place, mut random: Random) -> Result<Self, ZoneError> {
        let (blocks, block_bytes) = (job.blocks(place), job.sizes.smallest());
        let drawn = |draw| Order::Drawn(Box::new(draw));
        let order = match &job.random_distribution {
            _ if !job.rw.is_random() => Order::Sequential([0; 2]),
            // With blocks of several sizes, a random order can't touch each block only once.
            Distribution::Random if job.norandommap || job.sizes.vary() => drawn(Draw::Even(random)),
            Distribution::Random => Order::Permuted(Permutation::new(blocks, random)),
            Distribution::Zoned(zones) => drawn(Draw::Zoned(Zones::new(zones, blocks, block_bytes)?, random)),
            skewed => drawn(Draw::Skewed(Skewed::new(skewed, blocks, &mut random), random)),
        };
        let left = blocks * block_bytes;
        Ok(Self { order, blocks, block_bytes, base: place.offset_bytes, left })
    }

    /// The offset of the next I/O from the beginning of the place.
    #[inline(always)]
    fn position(&mut self, kind: Kind) -> u64 {
        let block = match &mut self.order {
            Order::Permuted(permutation) => permutation.next(),
            Order::Sequential(next) => return next[usize::from(kind != Kind::Read)],
            Order::Drawn(draw) => draw.next(self.blocks),
        };
        block * self.block_bytes
    }

    /// Continues a sequence after the chosen I/O, or starts it over.
    #[inline]
    fn advance(&mut self, kind: Kind, end: u64) {
        if let Order::Sequential(next) = &mut self.order {
            let room = self.blocks * self.block_bytes - end;
            next[usize::from(kind != Kind::Read)] = if room >= self.block_bytes { end } else { 0 };
        }
    }
}

/// Chooses a job's I/Os. The task's seed and the job's number determine everything.
#[derive(Debug, Clone)]
pub(crate) struct Chooser {
    /// The kind of all I/Os, unless they are mixed.
    only: Option<Kind>,
    rwmixread: u8,
    mix: Random,
    sizes: Sizes,
    drawn: Random,
    walks: Vec<Walk>,
    /// The file whose turn it is.
    file: u32,
    once: bool,
}

impl Chooser {
    /// Creates a chooser; each place must hold at least one block.
    ///
    /// # Errors
    /// When a place doesn't hold the zones of its accesses.
    pub(crate) fn new(seed: u64, number: u32, job: &JobTask) -> Result<Self, ZoneError> {
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

    /// The next I/O; `None` when one pass is enough and all data are done. Where blocks are trimmed and then written, it chooses
    /// only the trims.
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

    /// The next file with data left in its pass.
    #[inline(never)]
    fn unfinished(&self) -> Option<u32> {
        let files = u32::try_from(self.walks.len()).unwrap_or(u32::MAX);
        let left = |file: &u32| self.walks.get(*file as usize).is_some_and(|walk| walk.left > 0);
        (self.file..files).chain(0..self.file).find(left)
    }
}

/// The kind of all I/Os, unless they are mixed. Where blocks are trimmed and then written, the writes follow from the trims.
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
