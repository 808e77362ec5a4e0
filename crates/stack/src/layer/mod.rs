//! What each layer tells its programs. Pure: no layer is built here.

pub(crate) mod btrfs;
pub(crate) mod command;
pub(crate) mod filesystem;
pub(crate) mod lvm;
pub(crate) mod md;
pub(crate) mod nfs;
pub(crate) mod zfs;
