//! Copies a tree of many small files, like a mail archive.

mod engine;
mod flush;
mod generate;
mod generated;
mod load;
mod order;
mod pack;
mod programs;
mod space;
mod task;
mod tree;
mod verify;
mod worker;
mod writer;

pub use engine::CorpusEngine;
pub use worker::{WorkerError, serve};
