//! A run: the controller that decides what comes next, and the node that builds, loads, measures and undoes.
//!
//! Controller and node are two processes of the same binary. They speak [`protocol`] over the node's stdio, whether the node
//! is on this machine or another. Nothing here prints: what happens is told as [`record::event::Event`]s.

pub mod apart;
mod beyond;
pub mod blame;
pub mod controller;
mod flush;
pub mod hosted;
mod ledger;
mod line;
mod link;
mod looks;
mod mounted;
pub mod node;
pub mod protocol;
mod rounds;
mod schedule;
mod serving;
mod standing;
mod tools;
mod trial;
mod verify;

pub use ledger::{Earlier, ended};
