//! A directory that its owner lends: we work in a sub-directory of our own, and nowhere else.
//!
//! Who owns the directory can exchange our sub-directory for another one, or for a link, at any moment. So nothing is done
//! there by path: the sub-directory is made, recognised, emptied and removed through open descriptors, and engines get a path
//! through our descriptor where others can rename on the way to it.

mod identity;
mod lent_dir;
mod put_back;
#[cfg(test)]
mod tests;
mod walk;

pub use identity::{DirId, LentIds};
pub use lent_dir::{LendError, LentDir, free_bytes, identify, lend};
pub use put_back::{Emptied, GiveBackError, empty_lent, remove_lent, take_back_lent};
