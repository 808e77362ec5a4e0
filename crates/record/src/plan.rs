//! The plan: what a run will do, resolved to the last value.

use crate::id::CellId;
use crate::provision::ProvisionStep;
use crate::stack::Stack;
use crate::target::Target;
use crate::version::FormatVersion;
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run will do. Pure data: `spec` makes it, `run` follows it, `store` keeps it, `verdict` judges against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this format.
    pub format: FormatVersion,
    /// The experiment's name.
    pub experiment: String,
    /// The question it asks, if it says.
    pub question: Option<String>,
    /// Parameters and the values they were given, in text.
    pub parameters: BTreeMap<String, String>,
    /// All cells, in the order of the file.
    pub cells: Vec<Cell>,
    /// How to measure.
    pub measure: Measure,
    /// What the user expects.
    pub expectations: Vec<Expectation>,
    /// Groups of cells whose ratio is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<Contrast>,
    /// The experiment file's text, as read.
    pub source: String,
    /// Seed of every random choice of the run: order of cells, offsets.
    pub seed: u64,
    /// What volumes cost.
    #[serde(default)]
    pub prices: Prices,
    /// Metrics that the experiment derives from others.
    #[serde(default)]
    pub derived: Vec<Derived>,
    /// The machines that cells run on; empty: only the controller's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// What is done on the targets before anything is built, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provision: Vec<ProvisionStep>,
}

impl Plan {
    /// What is done on a target before anything is built.
    pub fn provision_of<'p>(&'p self, target: &'p str) -> impl Iterator<Item = &'p ProvisionStep> {
        self.provision.iter().filter(move |step| step.target.as_deref().is_none_or(|only| only == target))
    }

    /// For each cell, the group of cells that it is compared with: those of one workload on one target.
    #[must_use]
    pub fn groups(&self) -> Vec<usize> {
        let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut groups = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let next = known.len();
            groups.push(*known.entry((&cell.target, &cell.workload.name)).or_insert(next));
        }
        groups
    }

    /// For each cell, which cells its answer is given with: those of one workload, on all targets. Their comparisons share one error.
    #[must_use]
    pub fn families(&self) -> Vec<usize> {
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let mut families = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let next = known.len();
            families.push(*known.entry(&cell.workload.name).or_insert(next));
        }
        families
    }
}

/// What volumes cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prices {
    /// Name of the money, e.g. `EUR`; `None`: not said.
    pub currency: Option<String>,
    /// Money per hour, by the volume's name with its index. Volumes without a price are absent.
    pub per_hour: BTreeMap<String, f64>,
}

/// A metric derived from others: `factor * over / under`, cell by cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Derived {
    /// Its name, beside those of docs/metrics.md.
    pub name: String,
    /// The expression as written, e.g. `iops / price_per_month`.
    pub expression: String,
    /// By cell; cells for which it has no meaning (no price) are absent.
    pub cells: BTreeMap<CellId, Formula>,
}

/// `factor * over / under`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Formula {
    /// Constants, multiplied out.
    pub factor: f64,
    /// The metric above the line; `None`: 1.
    pub over: Option<String>,
    /// The metric below the line; `None`: 1.
    pub under: Option<String>,
}

/// One combination: target x stack x workload x levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its identity.
    pub id: CellId,
    /// Name of the machine it runs on: one of [`Plan::targets`], or `local`.
    pub target: String,
    /// What is built.
    pub stack: Stack,
    /// What is asked of it.
    pub workload: Workload,
    /// Levels of all factors, by factor name, in text as written.
    pub levels: BTreeMap<String, String>,
}

impl Cell {
    /// The target that generates the load: the one it is built on, unless another one mounts it from there.
    #[must_use]
    pub fn loaded_from(&self) -> &str {
        self.stack.client().unwrap_or(&self.target)
    }
}

/// How to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Measured seconds per trial, ramp not included.
    pub trial_seconds: f64,
    /// Seconds of load before measuring begins.
    pub ramp_seconds: f64,
    /// The most measured seconds of a trial, if their length may be chosen from the variance seen; `None`: it is fixed.
    #[serde(default)]
    pub max_trial_seconds: Option<f64>,
    /// Number of rounds, or the most there may be.
    pub rounds: u32,
    /// Confidence of every interval, e.g. 0.95.
    pub confidence: f64,
    /// Relative half-width wanted, e.g. 0.05: what is wider gets a finding.
    pub interval: Option<f64>,
    /// When it is enough; `None`: after all rounds. `rounds` is the most that are made.
    #[serde(default)]
    pub until: Option<Until>,
    /// Samples of kernel counters per second.
    pub sample_hz: f64,
    /// Wall-clock budget for the whole run.
    pub max_seconds: Option<f64>,
    /// Budget of bytes that the trials write to their grounds (wear), laying out included.
    #[serde(default)]
    pub max_written_bytes: Option<u64>,
    /// Budget of money: the price of all volumes for as long as the run takes.
    #[serde(default)]
    pub max_cost: Option<f64>,
    /// Share of trials that is cut off at each end before means are taken, e.g. 0.1; `None`: all are kept.
    #[serde(default)]
    pub trim: Option<f64>,
}

/// When it is enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Until {
    /// What is asked for.
    pub goal: Goal,
    /// Of which metric; `None`: what the workload is judged by, `bw` for blocks of 128 KiB and more, else `iops`.
    pub of: Option<String>,
}

/// What is asked for, with the confidence of [`Measure::confidence`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Every cell's interval has at most this relative half-width.
    Interval(f64),
    /// Every ratio between two cells of one workload has an interval from ratio / (1 + x) to ratio * (1 + x) or narrower.
    Ratios(f64),
    /// Every two cells of one workload are told apart, or shown to be within a factor of 1 + x of each other.
    Told(f64),
}

/// Budgets of a run that were raised after it had begun; what is `None` stays as planned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Raised {
    /// The most rounds.
    pub rounds: Option<u32>,
    /// Wall-clock seconds for the whole run.
    pub max_seconds: Option<f64>,
    /// Bytes that the trials may write.
    pub max_written_bytes: Option<u64>,
    /// Money.
    pub max_cost: Option<f64>,
}

impl Raised {
    /// The budgets of a plan.
    #[must_use]
    pub fn of(measure: &Measure) -> Self {
        let Measure { rounds, max_seconds, max_written_bytes, max_cost, .. } = *measure;
        Self { rounds: Some(rounds), max_seconds, max_written_bytes, max_cost }
    }

    /// Puts the raised budgets in the place of the planned ones.
    pub fn apply(&self, measure: &mut Measure) {
        measure.rounds = self.rounds.unwrap_or(measure.rounds);
        measure.max_seconds = self.max_seconds.or(measure.max_seconds);
        measure.max_written_bytes = self.max_written_bytes.or(measure.max_written_bytes);
        measure.max_cost = self.max_cost.or(measure.max_cost);
    }
}

/// A ratio that is asked for: of one group of cells over another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// Its name.
    pub name: String,
    /// Metric name.
    pub of: String,
    /// What is divided; none of them is in `b`.
    pub a: Vec<CellId>,
    /// By what.
    pub b: Vec<CellId>,
}

/// What the user expects of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Metric name, e.g. `iops`, `read_iops` (docs/metrics.md).
    pub of: String,
    /// The expression as written, e.g. `80 * n`.
    pub expression: String,
    /// Allowed relative deviation, e.g. 0.05.
    pub within: f64,
    /// The expected value per cell; cells the expectation does not speak of are absent.
    pub values: BTreeMap<CellId, f64>,
}
