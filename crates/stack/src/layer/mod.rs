//! The arguments of each layer's programs. Pure: builds nothing.

pub(crate) mod btrfs;
pub(crate) mod command;
pub(crate) mod filesystem;
pub(crate) mod lvm;
pub(crate) mod md;
pub(crate) mod nfs;
#[cfg(test)]
mod sweep_tests;
pub(crate) mod zfs;
