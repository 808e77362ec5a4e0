//! The guard: which disks exist, to whom they belong, and which may be used.
//!
//! A device becomes usable only by passing through types with private constructors: [`Candidate`] (it exists), [`Cleared`] (it
//! passed the kernel's checks, and is locked and held open), [`Claimed`] (its owner has also claimed it). Engines accept only a
//! [`Ground`], and that comes only from a [`Claimed`] device or from a [`LentDir`]. docs/safety.md says which loss each check
//! prevents.

mod advice;
mod block;
mod btrfs_members;
mod candidate;
mod check;
mod claims;
mod devno;
pub mod extents;
mod family;
mod ground;
mod guard;
mod identity;
mod inventory;
mod lend;
pub mod loop_control;
mod loops;
mod mountinfo;
mod node;
mod pool;
mod refusal;
mod sample;
mod whereabouts;

pub use candidate::claimed::Claimed;
pub use candidate::{Candidate, Cleared};
pub use check::copies::{SuperblockCopy, find as superblock_copies, of_first as copies_of_first_superblock};
pub use claims::{BookError, Claim, ClaimBook, Word};
pub use ground::{Ground, GroundError, Place};
pub use guard::{disk, emulated};
pub use identity::{Identity, Strength};
pub use inventory::{DiskReport, inventory};
pub use lend::{
    DirId, Emptied, GiveBackError, LendError, LentDir, LentIds, empty_lent, free_bytes, identify, lend,
    lend_shared, remove_lent, take_back_lent,
};
pub use pool::devices_of as pool_devices;
pub use record::roots::Roots;
pub use refusal::{Check, Dissent, Refusal};
pub use sample::{Effort, Sample};
pub use whereabouts::{LoopOver, Whereabouts, loop_over, rests_on_others, whereabouts};

/// The beginning of the name of every file and directory that we create.
pub const PREFIX: &str = "diskproof-";
