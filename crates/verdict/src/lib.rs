//! Makes findings from evidence. Pure: the same records give the same verdict on any day and on any machine.
//!
//! For each trial, [`attribute`] finds the sources of the bytes. [`judge`] combines the trials of a run: metrics with intervals,
//! findings with their counters, expectations, answers.

pub mod attribute;

mod agreement;
mod amplified;
mod answer;
mod arc;
mod below;
mod bins;
mod blocks;
mod cache_device;
mod cell;
mod choose;
mod compare;
mod contrast;
mod course;
mod derived;
mod detect;
mod detected;
mod direction;
#[cfg(test)]
mod documented;
mod effect;
mod emulated;
mod expect;
mod factors;
mod facts;
mod figures;
mod foreign;
mod foreign_io;
mod front;
#[cfg(test)]
#[path = "../../stats/src/random.rs"]
mod generator;
mod host_cache;
mod input;
mod judge;
mod leaves;
mod limit;
mod metrics;
mod mixed_rounds;
mod model;
mod money;
mod nfs;
mod outage;
mod outrank;
mod page_cache;
mod pairing;
mod phases;
mod prospect;
mod provision;
#[cfg(test)]
mod random;
mod reached;
#[cfg(test)]
mod rounds_tests;
#[cfg(test)]
mod run_tests;
mod scene;
mod search;
mod sequential;
mod shares;
mod span;
mod sweep;
#[cfg(test)]
mod testing;
mod together;
mod too_few;
#[cfg(test)]
mod truth;
mod usage;

pub use agreement::{agreement, is_calibration};
pub use answer::pairs;
pub use choose::{NoChoice, choose};
pub use compare::gate::{Rules, gate};
pub use compare::history::{PastRun, history};
pub use compare::judged::{Judged, Usual, Wanted};
pub use compare::margins::{Margins, NoSuchFigures};
pub use compare::{between, factors_of, other_machine, within};
pub use detect::REFUSED_TRIALS;
pub use input::Input;
pub use judge::{JUDGE, judge};
pub use prospect::prospect;
