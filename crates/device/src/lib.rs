//! The guard: which disks exist, whose they are, and what may be touched.
//!
//! A device becomes usable only by passing through types whose constructors are private: [`Candidate`] (it exists),
//! [`Cleared`] (no witness of the kernel's objects; locked and held open), [`Claimed`] (its owner's word is there too).
//! Engines take only a [`Ground`], and that is made only from what is [`Claimed`] or from a [`LentDir`]. docs/safety.md says
//! which loss each witness prevents.

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
mod pool;
mod refusal;
mod roots;
mod sample;
mod trusted;
mod whereabouts;

pub use candidate::{Candidate, Claimed, Cleared};
pub use check::copies::{SuperblockCopy, find as superblock_copies, of_first as copies_of_first_superblock};
pub use claims::{BookError, Claim, ClaimBook, Word};
pub use ground::{Ground, GroundError, Place};
pub use guard::{PREFIX, disk, emulated};
pub use identity::{Identity, Strength};
pub use inventory::{DiskReport, inventory};
pub use lend::{
    DirId, Emptied, GiveBackError, LendError, LentDir, LentIds, empty_lent, free_bytes, identify, lend,
    remove_lent, take_back_lent,
};
pub use pool::devices_of as pool_devices;
pub use refusal::{Check, Dissent, Refusal};
pub use roots::Roots;
pub use sample::{Effort, Sample};
pub use trusted::{TrustError, only_ours_down_to, only_ours_in};
pub use whereabouts::{LoopOver, Whereabouts, loop_over, rests_on_others, whereabouts};
