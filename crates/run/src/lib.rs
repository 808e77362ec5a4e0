//! A run: the controller that decides what comes next, and the node that builds, loads, measures and undoes.
//!
//! Controller and node are two processes of the same binary. They speak [`protocol`] over the node's stdio, whether the node
//! is on this machine or another. Nothing here prints: what happens is told as [`record::event::Event`]s.

mod agent_link;
pub mod controller;
mod device_prefix;
pub mod fault;
mod flush;
pub mod guest_disks;
mod ledger;
mod link;
mod mounted;
pub mod nfs_remote;
pub mod node;
mod persistent_stacks;
pub mod protocol;
mod rounds;
mod schedule;
mod serving;
mod snapshot;
mod tools;
mod trial;
mod verify;

pub use ledger::{Earlier, ended};
