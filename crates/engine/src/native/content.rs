//! What blocks hold: the one place where what is written is made, and where what was read is seen.

use super::buffer::Generator;
use super::chooser::Choice;
use super::proof::{Faults, Lens, Stamper};
use super::task::{JobTask, Task};
use record::trial::FaultKind;

/// A lane's own maker of content.
pub(crate) enum Content {
    /// What is written only has its compressibility and its duplicates.
    Plain(Option<Generator>),
    /// What is written says what it is, and what is read is checked.
    Verified(Lens),
}

impl Content {
    /// `stream` sets lanes apart; `slots` is how many I/Os the lane has in flight.
    pub(crate) fn new(task: &Task, job: &JobTask, stream: u64, slots: usize) -> Self {
        let (compress, dedupe) = (job.buffer_compress_percentage, job.dedupe_percentage);
        if job.verify {
            return Self::Verified(Lens::new(Stamper::new(task.proof, compress), job, slots));
        }
        Self::Plain(job.rw.writes().then(|| Generator::new(task.seed, stream, compress, dedupe)))
    }

    /// Where the generations of an I/O's blocks are noted when it begins.
    #[inline]
    pub(crate) fn noted(&mut self, slot: usize) -> &mut [u32] {
        match self {
            Self::Plain(_) => &mut [],
            Self::Verified(lens) => lens.noted(slot),
        }
    }

    /// Where those of a read are noted when it ends.
    #[inline]
    pub(crate) fn newest(&mut self) -> &mut [u32] {
        match self {
            Self::Plain(_) => &mut [],
            Self::Verified(lens) => lens.newest(),
        }
    }

    /// Fills the buffer of a write that is about to be issued; the block is as long as the choice says.
    #[inline]
    pub(crate) fn fill(&mut self, slot: usize, block: &mut [u8], choice: &Choice) {
        match self {
            Self::Plain(None) => {}
            Self::Plain(Some(generator)) => generator.fill(block),
            Self::Verified(lens) => lens.stamp(slot, choice, block),
        }
    }

    /// Looks at the buffer of a read that has ended well.
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

    /// What was found, where anything was checked.
    pub(crate) fn into_faults(self) -> Option<Faults> {
        match self {
            Self::Plain(_) => None,
            Self::Verified(lens) => Some(lens.faults),
        }
    }
}
