//! What a run says of its cells together: comparisons, answers, ratios that were asked for, sweeps, effects of factors, and searches.

use crate::find::{FindBy, FindLimit, TriedWhy};
use crate::id::CellId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioView {
    /// The ratio.
    pub ratio: f64,
    /// Lower end; null when there is no interval.
    pub low: Option<f64>,
    /// Upper end; null when there is no interval.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Number of pairs or trials that it rests on.
    pub n: u32,
}

/// A figure with its interval. Confidence and number of trials are those of its metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The figure.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A comparison of two cells: the ratio `a` / `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonView {
    /// The cell in the numerator.
    pub a: CellId,
    /// The cell in the denominator.
    pub b: CellId,
    /// Name of the compared metric.
    pub metric: String,
    /// The ratio; `None` when the cells have no common round.
    pub ratio: Option<RatioView>,
    /// Whether the cells differ.
    pub relation: Relation,
    /// A difference above this is excluded, e.g. 0.03; `None` when none is excluded.
    pub excluded_difference: Option<f64>,
    /// The same in words.
    pub text: String,
}

/// The relation of two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// They differ, with all comparisons of the same family taken into account.
    Apart,
    /// No difference is shown.
    NotApart,
    /// There is nothing to compare.
    Nothing,
}

/// The best stack for one workload, by one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Name of the workload.
    pub workload: String,
    /// Name of the compared metric; `iops/price_per_month` compares the I/Os per second for the price.
    pub metric: String,
    /// The cell with the best estimate, among the cells that no other cell is shown to beat.
    pub best: CellId,
    /// Cells that are not shown to differ from the best.
    pub tied: Vec<CellId>,
    /// Comparisons of the best with each other cell, paired within rounds.
    #[serde(default)]
    pub comparisons: Vec<ComparisonView>,
    /// The answer in words.
    pub text: String,
}

/// The ratio between two groups of cells: the geometric mean of one over that of the other, paired within rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContrastView {
    /// Name of the contrast in the experiment file.
    pub name: String,
    /// Name of the compared metric.
    pub metric: String,
    /// Cells of the numerator, without cells that have no storage figure.
    pub a: Vec<CellId>,
    /// Cells of the denominator, likewise.
    pub b: Vec<CellId>,
    /// The ratio; `None` where no round has all cells of both groups.
    pub ratio: Option<RatioView>,
    /// Whether the groups differ, with all contrasts of the run taken into account.
    pub relation: Relation,
    /// The same in words.
    pub text: String,
}

/// The effect of a factor: its levels compared by the geometric mean over all combinations of the other factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectView {
    /// Name of the factor; `stack` where stacks of several names are compared.
    pub factor: String,
    /// Name of the compared metric.
    pub metric: String,
    /// The other factors; `stack`, `workload` and `machine` where there are several.
    pub over: Vec<String>,
    /// Number of combinations of the other factors in which all levels have a storage figure.
    pub combinations: u32,
    /// The levels, the best by estimate first.
    pub levels: Vec<String>,
    /// The best level over each other one.
    pub comparisons: Vec<LevelView>,
    /// The factors on which these ratios depend.
    pub depends_on: Vec<InteractionView>,
    /// The same in words.
    pub text: String,
}

/// The ratio of two levels of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelView {
    /// The level in the numerator.
    pub a: String,
    /// The level in the denominator.
    pub b: String,
    /// The level of the factor on which the ratio depends; `None`: the ratio is over all of them.
    pub at: Option<String>,
    /// The ratio; `None` where no round has all cells.
    pub ratio: Option<RatioView>,
    /// Whether the levels differ, with all comparisons of the same family taken into account.
    pub relation: Relation,
}

/// A ratio of two levels that depends on another factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionView {
    /// Name of the other factor.
    pub factor: String,
    /// The ratio at each of its levels.
    pub at: Vec<LevelView>,
    /// The same in words.
    pub text: String,
}

/// How far a figure scales along a factor, everything else being the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepView {
    /// The names of stack and workload, with `{factor}` in place of its level.
    pub name: String,
    /// Name of the factor.
    pub factor: String,
    /// Name of the figure.
    pub metric: String,
    /// The levels as written, from the lowest.
    pub levels: Vec<String>,
    /// Their cells, without cells that have no storage figure.
    pub cells: Vec<CellId>,
    /// The level up to which the figure scales; `None`: it doesn't scale.
    pub scales_to: Option<String>,
    /// Whether the rounds decide that it scales no further.
    pub is_decided: bool,
    /// The figure at the highest level over that at `scales_to`, or at the lowest level where it doesn't scale; `None` where
    /// nothing lies beyond.
    pub beyond: Option<RatioView>,
    /// Name of the latency that `latency_beyond` compares; `None` where the cells have none in common.
    pub latency: Option<String>,
    /// The same ratio of the latency: the cost of the levels beyond.
    pub latency_beyond: Option<RatioView>,
    /// The same in words.
    pub text: String,
}

/// The answer of a search: the highest load within limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchView {
    /// The cell.
    pub cell: CellId,
    /// Name of the metric that is to be as high as possible.
    pub most: String,
    /// The limits.
    pub limits: Vec<FindLimit>,
    /// The option that was varied.
    pub by: FindBy,
    /// The lowest level that might be tried.
    pub from: u64,
    /// The highest level that might be tried.
    pub to: u64,
    /// Requested relative half-width of the interval.
    pub within: f64,
    /// Whether the limit was found.
    pub found: Found,
    /// The level at the limit; `None` unless it was found.
    pub level: Option<Interval>,
    /// The value of `most` there, in its metric's unit; `None` likewise.
    pub value: Option<Interval>,
    /// Confidence of both intervals, e.g. 0.95.
    pub confidence: f64,
    /// Number of trials that the intervals rest on: those near the limit.
    pub n: u32,
    /// Whether the search ended by itself: the interval is as narrow as asked, or the limit lies beyond the levels.
    pub is_exact: bool,
    /// The tried levels, in order of rounds.
    pub tried: Vec<TriedView>,
    /// The answer in words.
    pub text: String,
}

/// Whether a search found its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The limit was found.
    Found,
    /// Even the lowest level breaks a limit.
    NotEven,
    /// Even the highest level keeps all limits.
    AtLeast,
    /// The trials don't show it.
    Open,
}

/// One tried level of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedView {
    /// The round, from 0.
    pub round: u32,
    /// The level that was asked for.
    pub level: u64,
    /// Why it was tried.
    pub why: TriedWhy,
    /// The value of `most`; `None` when the trial lacks it.
    pub value: Option<f64>,
    /// The limited metrics that the trial has.
    pub limited: BTreeMap<String, f64>,
    /// Whether all limits were kept; `None` when the trial has too few I/Os to say so.
    pub kept: Option<bool>,
    /// The level that the load reached, where it can fall behind; below 0.9 of the level the limits count as broken.
    pub reached: Option<f64>,
}
