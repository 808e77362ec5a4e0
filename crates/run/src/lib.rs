//! A run: the controller decides what comes next; the node (agent process) builds, loads, measures and undoes.
//!
//! Controller and node are two processes of the same binary. They speak [`protocol`] over the node's stdio, whether the node is
//! on this machine or another. Nothing here prints: all output is [`record::event::Event`]s.

mod agent_link;
pub mod agent_on_host;
mod context;
pub mod controller;
mod device_prefix;
mod emitter;
mod error;
mod failure;
pub mod fault;
mod flush;
pub mod guest_disks;
pub mod guest_host;
mod halt;
mod heard;
mod how;
mod lane;
mod ledger;
mod link;
mod live;
mod made;
mod meeting;
mod mounted;
pub mod nfs_remote;
pub mod node;
mod one_machine;
mod persistent_stacks;
pub mod protocol;
mod pulse;
mod requests;
mod rounds;
mod schedule;
mod serving;
mod session;
mod settle;
mod snapshot;
#[cfg(test)]
mod testing;
mod together;
mod tools;
mod trial;
mod verify;
mod watch;
mod wishes;

pub use ledger::{Earlier, ended};
pub use wishes::Wishes;
