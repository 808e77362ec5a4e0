//! Runs that are cut into blocks for a queue of somebody else's: Gearman, Slurm, or a shell script.
//!
//! A block is every cell of one machine once: one round. A [`Descriptor`] names it in at most [`DESCRIPTOR_BYTES`]. Whoever takes it does the
//! block and delivers each trial as it ends ([`Delivery`]). Trials have ids (run, cell, round), so a block that a queue gives out twice
//! is stored once.

mod base64;
mod block;
mod delivery;
mod error;
pub mod gearman;
mod kubernetes;
mod packed;
mod slurm;
mod unfit;

pub use block::{DESCRIPTOR_BYTES, Descriptor, Submitter, blocks, part};
pub use delivery::{Accepted, Answer, Begin, Delivery, Line, Lines, Remote};
pub use error::QueueError;
pub use kubernetes::manifest;
pub use packed::Packed;
pub use slurm::{Nodes, job_here, others_on, script, submit};
pub use unfit::unfit;
