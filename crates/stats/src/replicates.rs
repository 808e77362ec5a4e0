//! Tests whether a cell's rounds are replicates: independent trials of the same thing.

mod doubt;
mod modes;
mod order;
mod outlier;

pub use doubt::{Doubt, Suspicion, doubts};
pub use modes::{TwoModes, two_modes};
pub(crate) use order::unbiased;
pub use order::{Autocorrelation, FirstRound, Trend, autocorrelation, first_round, trend};
pub use outlier::{Outlier, outliers};
