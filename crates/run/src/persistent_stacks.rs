//! Stacks that stay up from trial to trial.

use record::stack::Stack;
use stack::Built;
use std::path::PathBuf;

/// A stack that stands.
pub(crate) struct Up {
    asked: Stack,
    pub(crate) built: Built,
    /// Programs that were run once the data were laid out, as argument vectors.
    pub(crate) attached: Vec<Vec<String>>,
    /// The data that lie on it, once they are laid out.
    pub(crate) files: Option<Vec<PathBuf>>,
    /// How many trials it has served.
    pub(crate) trials: u32,
}

impl Up {
    pub(crate) fn new(asked: &Stack, built: Built) -> Self {
        Self { asked: asked.clone(), built, attached: Vec::new(), files: None, trials: 0 }
    }
}

/// Those of a run. They are undone with the run: their acts stay open in its journal until then.
#[derive(Default)]
pub(crate) struct PersistentStacks(Vec<Up>);

impl PersistentStacks {
    /// Takes a stack out, if it stands.
    pub(crate) fn take(&mut self, asked: &Stack) -> Option<Up> {
        let place = self.0.iter().position(|up| up.asked == *asked)?;
        Some(self.0.swap_remove(place))
    }

    /// Puts one in.
    pub(crate) fn keep(&mut self, up: Up) {
        self.0.push(up);
    }

    /// Forgets those that go when this one is undone: an undo takes back all that came after.
    pub(crate) fn forget_above(&mut self, undone: &Up) {
        self.0.retain(|up| up.built.mark() < undone.built.mark());
    }
}
