//! What cells should do by the model and cost, before anything is measured: what `plan --choose` reports.
//!
//! In JSON this is the format [`PROSPECT_FORMAT`], documented in docs/formats.md.

use crate::choice::Does;
use crate::named::CellName;
use crate::want::Want;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of this document. Within a major version, fields are only added.
pub const PROSPECT_FORMAT: &str = "diskproof.prospect/1.0";

/// The cells of an experiment by model and price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.prospect/1.0")]
pub struct Prospect {
    /// Name and version of this document: [`PROSPECT_FORMAT`] if this build wrote it.
    pub format: String,
    /// The experiment's name.
    pub experiment: String,
    /// What is wanted.
    pub wants: Vec<Want>,
    /// Currency of all prices; `None`: the experiment doesn't say.
    pub currency: Option<String>,
    /// One entry per workload.
    pub workloads: Vec<ProspectWorkload>,
    /// Version of diskproof and of the judge that has the model.
    pub judged_by: String,
}

/// The cells of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProspectWorkload {
    /// Name of the workload.
    pub workload: String,
    /// All cells, the cheapest first; those without a price last.
    pub cells: Vec<ProspectCell>,
    /// What the model says of them, in words.
    pub text: String,
}

/// A cell by model and price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProspectCell {
    /// The cell.
    pub cell: CellName,
    /// Its price in a month of 730 hours; `None`: something of it has no price.
    pub per_month: Option<f64>,
    /// Whether it keeps all limits, by the model.
    pub does: Does,
    /// The wanted figures, in the order of the limits.
    pub figures: Vec<ProspectFigure>,
}

/// A wanted figure of a cell by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProspectFigure {
    /// Name of the metric.
    pub of: String,
    /// The metric's unit.
    pub unit: String,
    /// The expected figure; `None`: the model can't say.
    pub expected: Option<f64>,
    /// The least that the model allows; `None`: it has no lower bound.
    pub at_least: Option<f64>,
    /// The most that the model allows; `None`: it has no upper bound.
    pub at_most: Option<f64>,
    /// Whether the limit is kept: `open` where the limit lies between the bounds, or the model can't say.
    pub does: Does,
    /// Why the model can't say; `None` where it can.
    pub why_not: Option<String>,
    /// The steps of the calculation.
    pub steps: Vec<String>,
}
