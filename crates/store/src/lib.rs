//! Runs and their trials in one SQLite file, append-only and durable.
//!
//! A trial is on stable storage before [`Store::append_trial`] returns, in a transaction of its own: a process killed at
//! any instant leaves a file that opens and holds every acknowledged trial exactly once. What is written is never altered;
//! triggers in the file refuse it, whoever asks. Only cached judgements come and go.

mod error;
mod format;
mod open;
mod pack;
mod read;
mod write;

pub use error::StoreError;
pub use format::STORE_FORMAT;
pub use open::Store;
pub use read::{RunData, RunHead, RunSummary};

#[cfg(test)]
#[path = "../tests/support/bulk.rs"]
mod bulk;
#[cfg(test)]
#[path = "../tests/support/sample.rs"]
mod sample;
#[cfg(test)]
mod scale_tests;
#[cfg(test)]
mod tests;
