//! The trials and the terms of a search.

/// One trial of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchTrial {
    /// The level that was tried, above 0.
    pub level: f64,
    /// The figure divided by its limit: up to 1 the limit is kept, above 1 it is broken. `None`: the trial doesn't show the
    /// figure, e.g. because it has too few samples for a percentile.
    pub ratio: Option<f64>,
    /// The figure that is to be as high as possible; `None` likewise.
    pub value: Option<f64>,
    /// The level that the load really reached, where it can fall behind the level that was asked for.
    pub reached: Option<f64>,
}

/// The terms of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchTerms {
    /// The lowest level, a whole number above 0.
    pub from: f64,
    /// The highest level, a whole number.
    pub to: f64,
    /// Confidence of the interval, between 0 and 1.
    pub confidence: f64,
    /// Requested relative half-width of the answer's interval.
    pub half_width: f64,
}
