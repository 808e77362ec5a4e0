//! Figures as data. A renderer that can't draw a figure leaves it out: a table of the document has the same numbers.

use record::judged::RatioView;

/// A dot plot of one metric of one workload: one row per cell, with its interval and the value of every trial.
#[derive(Debug, Clone, PartialEq)]
pub struct DotPlot {
    /// The workload's name.
    pub workload: String,
    /// The metric's name (docs/metrics.md).
    pub metric: String,
    /// The metric's unit, in which all values are: `1/s`, `B/s`, `us`...
    pub unit: String,
    /// Confidence of the intervals, e.g. 0.95.
    pub confidence: f64,
    /// The rows, in the order of the experiment file.
    pub rows: Vec<DotRow>,
}

/// A row of a dot plot: one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct DotRow {
    /// The cell's name.
    pub label: String,
    /// The figure in words, as in the table: `321 ± 2 IOPS`.
    pub shown: String,
    /// The estimate over all trials.
    pub estimate: f64,
    /// Lower end of the interval; `None` with one trial.
    pub low: Option<f64>,
    /// Upper end of the interval; `None` with one trial.
    pub high: Option<f64>,
    /// Every trial: its round, from 0, and its value.
    pub trials: Vec<(u32, f64)>,
    /// Why the number is no storage figure; `None` if it is one. Then it is struck out and stays.
    pub void: Option<&'static str>,
    /// The cell's place in the answer; `None` if no answer is about this metric.
    pub place: Option<Place>,
}

/// A cell's place in the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    /// The best estimate.
    Best,
    /// Not shown to differ from the best. The ratio is the best over this one, paired within rounds; `None` without a common round.
    Tied(Option<RatioView>),
    /// Behind the best, by this ratio.
    Behind(Option<RatioView>),
}

/// Points of one figure over another, with a limit of the upper one: the levels that a search tried. Both axes are logarithmic.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// Name of the figure along the horizontal axis; it has no unit.
    pub across: &'static str,
    /// Name of the figure along the vertical axis (docs/metrics.md).
    pub up: &'static str,
    /// Unit of the figure along the vertical axis, in which the limit is too.
    pub unit: &'static str,
    /// The limit: points above it break it.
    pub limit: f64,
    /// The points; all coordinates are positive.
    pub points: Vec<Point>,
}

/// A point of a [`Scatter`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Its place along the horizontal axis.
    pub across: f64,
    /// Its place along the vertical axis.
    pub up: f64,
    /// Whether its trial was long enough to say on which side of the limit it lies.
    pub is_told: bool,
}

/// A series of values in the order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it has a value of, e.g. `rounds`.
    pub of: &'static str,
    /// The values.
    pub values: Vec<f64>,
    /// Their unit: `1/s`, `B/s`, `us`...
    pub unit: String,
}
