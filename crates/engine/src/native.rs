//! diskproof's own engine: io_uring, in a separate process of this same program.

mod arrival;
mod batching;
mod board;
mod buffer;
mod buffers;
pub mod ceiling;
mod chooser;
pub(crate) mod clock;
mod content;
mod distribution;
mod durable;
mod engine;
mod error;
mod hang;
mod histogram;
mod instructions;
mod jobs;
mod kind;
mod lane;
mod layout;
mod live;
mod making;
mod meter;
pub(crate) mod permutation;
mod proof;
pub(crate) mod random;
mod ring;
mod series;
mod sizes;
mod sources;
mod subset;
mod syncs;
mod tally;
mod task;
#[cfg(test)]
mod testing;
mod think;
mod threads;
mod trim;
pub(crate) mod usage;
mod worker;
mod zones;

pub use engine::NativeEngine;
pub use error::WorkerError;
#[doc(hidden)]
pub use making::{Making, MakingError, making};
pub use worker::serve;
