//! A model's result.

use record::judged::ModelSource;

/// The rate by a model, in requests of the workload per second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forecast {
    pub(crate) from: ModelSource,
    /// The expected rate.
    pub(crate) expected: f64,
    /// The lower bound; 0 if unknown.
    pub(crate) at_least: f64,
    pub(crate) at_most: f64,
    pub(crate) ios_per_request: f64,
    pub(crate) steps: Vec<String>,
}
