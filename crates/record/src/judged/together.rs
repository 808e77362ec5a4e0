//! A workload that several machines ran at the same time.

use super::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the machines of a cell ran together. The cell's own metrics are the sums over all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TogetherView {
    /// Each machine, in the order of the experiment.
    pub machines: Vec<MachineView>,
    /// Of the time in which any machine ran, the share in which all of them did; of the trial in which it was smallest. `None` when no
    /// trial was measured.
    pub overlap: Option<f64>,
    /// From the first to the last start, in seconds, in the trial in which it was longest.
    pub start_spread_seconds: Option<f64>,
    /// The largest error of these times, in seconds, from the comparison of the clocks.
    pub uncertain_seconds: Option<f64>,
    /// Name of the metric by which the machines are compared.
    pub metric: String,
    /// The machine with the lowest figure.
    pub slowest: Option<String>,
    /// The highest figure of a machine over the lowest.
    pub max_over_min: Option<f64>,
    /// Jain's fairness index: 1 if all machines have the same figure, 1 over their number if one has everything.
    pub jain: Option<f64>,
    /// The same in sentences.
    pub text: String,
}

/// What one machine measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineView {
    /// Name of the machine.
    pub target: String,
    /// Its own metrics by name (docs/metrics.md), over the trials.
    pub metrics: BTreeMap<String, Metric>,
}
