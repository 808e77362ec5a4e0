//! Numbers in, numbers with intervals out. Knows no storage.
//!
//! Every formula, with its source and its test, is in docs/statistics.md.

mod estimate;
mod holm;
mod ratio;

pub use estimate::{Estimate, mean_t, trials_for};
pub use holm::holm;
pub use ratio::{RatioEstimate, paired_ratio};
