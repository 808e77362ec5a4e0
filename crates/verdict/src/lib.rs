//! Evidence to findings. Pure: the same records give the same verdict on any day, on any machine.
//!
//! Per trial, [`attribute`] tells where the bytes came from; [`judge`] puts the trials of a run together: metrics with
//! intervals, findings with their counters, expectations, answers.

pub mod attribute;

mod agreement;
mod answer;
mod cell;
mod detect;
#[cfg(test)]
mod documented;
mod expect;
mod facts;
mod figures;
mod host_cache;
mod judge;
mod leaves;
mod limit;
mod metrics;
#[cfg(test)]
mod random;
#[cfg(test)]
mod run_tests;
mod span;
mod strangers;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod truth;

pub use agreement::{agreement, is_calibration};
pub use judge::{Input, JUDGE, judge};
