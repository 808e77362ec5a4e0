//! Acts that change a machine, each with its undo beside it.

pub(crate) mod backing_file;
mod btrfs_copies;
pub(crate) mod cgroup;
pub(crate) mod command;
pub(crate) mod device_ref;
pub(crate) mod directory;
mod kind;
pub(crate) mod knob;
pub(crate) mod loop_device;
pub(crate) mod lvm;
mod mapper;
pub(crate) mod md;
pub(crate) mod mkfs;
pub(crate) mod mount;
mod retry;
mod wipe;

pub use kind::Act;
pub(crate) use kind::{Doing, Undoing, Undone};
