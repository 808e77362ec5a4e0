//! Runs and their trials in one SQLite file, append-only and durable.
//!
//! A trial is on stable storage before [`Store::append_trial`] returns, in its own transaction. If the process is killed at any
//! instant, the file still opens and has every acknowledged trial exactly once. Written data never changes: triggers in the file
//! refuse any change by any program. Only cached judgements are replaced.

mod error;
mod find;
mod format;
mod incoming;
mod open;
mod pack;
mod read;
mod receive;
mod reduced;
mod since;
mod tag;
mod write;

pub use error::StoreError;
pub use format::STORE_FORMAT;
pub use open::Store;
pub use read::{RunData, RunHead, RunSummary};
pub use receive::{Origin, Received};
pub use since::TrialPlace;

#[cfg(test)]
#[path = "../tests/support/bulk.rs"]
mod bulk;
#[cfg(test)]
#[path = "../tests/support/sample.rs"]
mod sample;
#[cfg(test)]
mod scale_tests;
#[cfg(test)]
mod tag_tests;
#[cfg(test)]
mod tests;
