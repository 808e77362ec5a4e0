//! Existing directories: diskproof works in a sub-directory of its own there, and nowhere else.
//!
//! The directory's owner can exchange our sub-directory for another one, or for a link, at any moment. So nothing is done there
//! by path: the sub-directory is created, identified, emptied and removed through open descriptors. Where others can rename on
//! the path to it, engines get a path through our descriptor.

mod identity;
mod lent_dir;
mod put_back;
#[cfg(test)]
mod tests;
mod walk;

pub use identity::{DirId, LentIds};
pub use lent_dir::{LendError, LentDir, free_bytes, identify, lend, lend_shared};
pub use put_back::{Emptied, GiveBackError, empty_lent, remove_lent, take_back_lent};
