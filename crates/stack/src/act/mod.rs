//! The acts that change a machine, each with its undo beside it.

pub(crate) mod arc;
pub(crate) mod backing_file;
pub(crate) mod bcache;
mod btrfs_copies;
pub(crate) mod cgroup;
pub(crate) mod command;
pub(crate) mod device_ref;
pub(crate) mod directory;
mod doing;
mod fs_copies;
mod kind;
pub(crate) mod knob;
pub(crate) mod loop_device;
pub(crate) mod luks;
pub(crate) mod lvm;
pub(crate) mod lvm_command;
mod mapper;
pub(crate) mod md;
pub(crate) mod mkfs;
pub(crate) mod mount;
pub(crate) mod nfs_call;
mod nfs_clients;
pub(crate) mod nfs_export;
pub(crate) mod nfs_mount;
pub(crate) mod nfs_server;
pub(crate) mod nfs_threads;
pub(crate) mod pool;
mod retry;
mod unmount;
pub(crate) mod wipe;
pub(crate) mod zfs_fuse;

pub(crate) use doing::{Doing, Undoing, Undone};
pub use kind::Act;
