//! The content of blocks: the only place that generates written data and examines read data.

use super::buffer::Generator;
use super::chooser::Choice;
use super::proof::{Faults, Lens, Stamper};
use super::task::{JobTask, Task};
use record::trial::FaultKind;

/// A lane's own content.
pub(crate) enum Content {
    /// Written data have only their compressibility and duplicates.
    Plain(Option<Generator>),
    /// Written data identify themselves, and read data are checked.
    Verified(Lens),
}

impl Content {
    /// Creates a lane's content. `stream` distinguishes lanes; `slots` is the number of I/Os that the lane has in flight.
    pub(crate) fn new(task: &Task, job: &JobTask, stream: u64, slots: usize) -> Self {
        let (compress, dedupe) = (job.buffer_compress_percentage, job.dedupe_percentage);
        if job.verify {
            return Self::Verified(Lens::new(Stamper::new(task.proof, compress), job, slots));
        }
        Self::Plain(job.rw.writes().then(|| Generator::new(task.seed, stream, compress, dedupe)))
    }

    /// The place for the generations of an I/O's blocks when it begins.
    #[inline]
    pub(crate) fn noted(&mut self, slot: usize) -> &mut [u32] {
        match self {
            Self::Plain(_) => &mut [],
            Self::Verified(lens) => lens.noted(slot),
        }
    }

    /// The place for the generations of a read when it ends.
    #[inline]
    pub(crate) fn newest(&mut self) -> &mut [u32] {
        match self {
            Self::Plain(_) => &mut [],
            Self::Verified(lens) => lens.newest(),
        }
    }

    /// Fills the buffer of a write that is about to be issued; the block has the length of the choice.
    #[inline]
    pub(crate) fn fill(&mut self, slot: usize, block: &mut [u8], choice: &Choice) {
        match self {
            Self::Plain(None) => {}
            Self::Plain(Some(generator)) => generator.fill(block),
            Self::Verified(lens) => lens.stamp(slot, choice, block),
        }
    }

    /// Examines the buffer of a successful read.
    #[inline]
    pub(crate) fn look(
        &mut self,
        slot: usize,
        block: &[u8],
        choice: &Choice,
        tell: impl FnMut(FaultKind, u64),
    ) {
        if let Self::Verified(lens) = self {
            lens.look(slot, choice, block, tell);
        }
    }

    /// The faults, if anything was checked.
    pub(crate) fn into_faults(self) -> Option<Faults> {
        match self {
            Self::Plain(_) => None,
            Self::Verified(lens) => Some(lens.faults),
        }
    }
}
