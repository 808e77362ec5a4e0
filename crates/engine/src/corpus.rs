//! Copies of a tree of files: many small files, as archives of mail are.

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
