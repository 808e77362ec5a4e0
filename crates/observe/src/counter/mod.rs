//! Readers, one per kind of kernel file.

pub(crate) mod arc;
pub(crate) mod block;
pub(crate) mod cgroup;
pub(crate) mod collector;
pub(crate) mod cpu;
pub(crate) mod journal;
pub(crate) mod keyed;
pub(crate) mod network;
pub(crate) mod nfs;
pub(crate) mod pressure;
pub(crate) mod process;
pub(crate) mod quota;
pub(crate) mod throttle;
pub(crate) mod tree;
