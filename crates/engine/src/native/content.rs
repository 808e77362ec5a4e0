//! What blocks hold: the one place where what is written is made, and where what was done is seen.

use super::buffer::Generator;
use super::chooser::Choice;
use super::task::{JobTask, Task};

/// A lane's own maker of content.
pub(crate) struct Content {
    generator: Option<Generator>,
}

impl Content {
    /// `stream` sets lanes apart.
    pub(crate) fn new(task: &Task, job: &JobTask, stream: u64) -> Self {
        let (compress, dedupe) = (job.buffer_compress_percentage, job.dedupe_percentage);
        let generator = job.rw.writes().then(|| Generator::new(task.seed, stream, compress, dedupe));
        Self { generator }
    }

    /// Fills the buffer of a write that is about to be issued; the block is as long as the choice says.
    #[inline]
    pub(crate) fn fill(&mut self, block: &mut [u8], _choice: &Choice) {
        if let Some(generator) = &mut self.generator {
            generator.fill(block);
        }
    }
}
