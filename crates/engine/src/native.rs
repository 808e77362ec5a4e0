//! diskproof's own engine: io_uring, in a process of its own that is this very program.

mod arrival;
mod buffer;
mod buffers;
mod chooser;
mod clock;
mod content;
mod distribution;
mod engine;
mod histogram;
mod lane;
mod layout;
mod permutation;
mod random;
mod ring;
mod sizes;
mod subset;
mod tally;
mod task;
#[cfg(test)]
mod testing;
mod threads;
mod usage;
mod worker;

pub use engine::NativeEngine;
pub use worker::{WorkerError, serve};
