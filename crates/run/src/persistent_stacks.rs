//! Stacks that stay up from trial to trial.

use record::stack::Stack;
use stack::Built;
use std::path::PathBuf;

/// A stack that is up.
pub(crate) struct Up {
    asked: Stack,
    pub(crate) built: Built,
    /// Programs that ran after the data were laid out, as argument vectors.
    pub(crate) attached: Vec<Vec<String>>,
    /// The data files, once they are laid out.
    pub(crate) files: Option<Vec<PathBuf>>,
    /// How many trials were measured on it.
    pub(crate) trials: u32,
}

impl Up {
    pub(crate) fn new(asked: &Stack, built: Built) -> Self {
        Self { asked: asked.clone(), built, attached: Vec::new(), files: None, trials: 0 }
    }
}

/// A run's persistent stacks. They are undone with the run: their acts stay open in its journal until then.
#[derive(Default)]
pub(crate) struct PersistentStacks(Vec<Up>);

impl PersistentStacks {
    /// Removes and returns the stack if it is up.
    pub(crate) fn take(&mut self, asked: &Stack) -> Option<Up> {
        let place = self.0.iter().position(|up| up.asked == *asked)?;
        Some(self.0.swap_remove(place))
    }

    /// Adds a stack.
    pub(crate) fn keep(&mut self, up: Up) {
        self.0.push(up);
    }

    /// Forgets the stacks that were built after `undone`: an undo also reverts all later acts in the journal.
    pub(crate) fn forget_above(&mut self, undone: &Up) {
        self.0.retain(|up| up.built.mark() < undone.built.mark());
    }
}
