//! Figures as data. A renderer that can't draw a figure leaves it out: a table of the document has the same numbers.

use crate::scale::{Scale, extent};
use record::judged::RatioView;
use record::quantity::ratios;

/// From this ratio between the highest and the lowest value on, a scale is logarithmic.
const WIDE: f64 = 30.0;
/// An expected value further from the measured ones than by this factor doesn't stretch the scale.
const FAR: f64 = 3.0;

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
    /// Whether it stands beside the answer: the answer is about this metric, or no answer is about any metric and this is the first.
    pub leads: bool,
    /// Whether a medium of characters draws it.
    pub in_text: bool,
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
    /// What the figure is expected to be.
    pub expected: Option<Expected>,
}

/// What a figure is expected to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The value, in the unit of the plot.
    pub value: f64,
    /// Who expects it.
    pub by: ExpectedBy,
}

/// Who expects a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedBy {
    /// The experiment, under `expect:`.
    Experiment,
    /// The model of the stack, from its volumes.
    Model,
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

/// Ratios with their intervals, one row each.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioPlot {
    /// What is over what: `after / before`.
    pub of: &'static str,
    /// Confidence of the intervals, e.g. 0.95.
    pub confidence: f64,
    /// Whether the ratios are paired within rounds.
    pub is_paired: bool,
    /// The rows, in the order of the table.
    pub rows: Vec<RatioRow>,
}

/// A row of ratios.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioRow {
    /// What is compared.
    pub label: String,
    /// The metric's name (docs/metrics.md).
    pub metric: String,
    /// The ratio.
    pub ratio: RatioView,
    /// What follows from it: `better`, `same within 1.2 %`.
    pub said: String,
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

impl DotPlot {
    /// The scale of the values over a range of places: that of the storage figures, so that a number that is none doesn't press them together.
    /// `most` is the number of ticks wanted.
    #[must_use]
    pub fn scale(&self, range: (f64, f64), most: usize) -> Scale {
        let all = |rows: &[&DotRow]| extent(rows.iter().flat_map(|row| row.values()));
        let good: Vec<&DotRow> = self.rows.iter().filter(|row| row.void.is_none()).collect();
        let domain = all(&good).or_else(|| all(&self.rows.iter().collect::<Vec<_>>())).unwrap_or((0.0, 1.0));
        let domain = self.stretched(domain);
        if domain.0 > 0.0 && domain.1 / domain.0 > WIDE {
            return Scale::log(domain, range).round(most);
        }
        // A scale from 0 shows how large a difference is, unless that hides it.
        let low = if domain.0 < domain.1 * 0.6 { 0.0 } else { domain.0 };
        Scale::linear((low, domain.1), range).round(most)
    }

    /// A domain that holds the expected values near it, too.
    fn stretched(&self, (low, high): (f64, f64)) -> (f64, f64) {
        let near = |value: &f64| (low / FAR..=high * FAR).contains(value);
        let expected = self.rows.iter().filter_map(|row| row.expected).map(|expected| expected.value);
        extent(expected.filter(near).chain([low, high])).unwrap_or((low, high))
    }
}

impl DotRow {
    /// All values that the row shows.
    fn values(&self) -> impl Iterator<Item = f64> {
        let ends = [self.low, self.high, Some(self.estimate)].into_iter().flatten();
        self.trials.iter().map(|trial| trial.1).chain(ends)
    }
}

impl RatioPlot {
    /// The scale of the ratios over a range of places; it holds 1.
    #[must_use]
    pub fn scale(&self, range: (f64, f64)) -> Scale {
        ratio_scale(self.rows.iter().map(|row| row.ratio), range)
    }
}

/// The scale of ratios over a range of places; it holds 1.
#[must_use]
pub fn ratio_scale(all: impl Iterator<Item = RatioView>, range: (f64, f64)) -> Scale {
    let all = all.flat_map(|r| [Some(r.ratio), r.low, r.high]).flatten().chain([1.0]);
    let (low, high) = extent(all).unwrap_or((1.0, 1.0));
    let margin = ((high - low) * 0.08).max(0.01);
    if low > 0.0 && high / low > WIDE {
        Scale::log((low, high), range).round(3)
    } else {
        Scale::linear((low - margin, high + margin), range)
    }
}

impl Place {
    /// The ratio of the best to this one.
    #[must_use]
    pub fn ratio(self) -> Option<RatioView> {
        match self {
            Self::Best => None,
            Self::Tied(ratio) | Self::Behind(ratio) => ratio,
        }
    }

    /// The place in words: ties are never shown by colour alone.
    #[must_use]
    pub fn words(self) -> String {
        let said = |ratio: Option<RatioView>| match ratio {
            None => "?".to_owned(),
            Some(RatioView { ratio, low: Some(low), high: Some(high), .. }) => {
                let [ratio, low, high] = ratios([ratio, low, high]);
                format!("{ratio}x ({low} to {high})")
            }
            Some(RatioView { ratio, .. }) => format!("{}x ± ?", ratios([ratio])[0]),
        };
        match self {
            Self::Best => "best".to_owned(),
            Self::Tied(None) => "tied".to_owned(),
            Self::Tied(ratio) => format!("tied, {}", said(ratio)),
            Self::Behind(ratio) => said(ratio),
        }
    }

    /// The place in short, without intervals.
    #[must_use]
    pub fn short(self) -> String {
        match self {
            Self::Best => "best".to_owned(),
            Self::Tied(_) => "tied".to_owned(),
            Self::Behind(ratio) => {
                ratio.map_or_else(|| "?".to_owned(), |r| format!("{}x", ratios([r.ratio])[0]))
            }
        }
    }
}
