//! The undo journal: every change to the machine is durable in it before it is made.

mod file;
mod line;
mod orphans;
mod owner;
mod replay;

pub(crate) use file::LOCK_OUTLIVES;
pub use file::{Journal, Mark};
pub(crate) use orphans::outlast;
pub(crate) use owner::set_by_another;
pub use owner::{Leftover, leftovers, undo_run, undo_run_without};
pub use replay::{Skipped, UndoReport};
