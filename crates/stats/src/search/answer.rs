//! What the trials of a search show.

use super::fit::{Reading, line};
use super::known::Known;
use super::trial::{SearchTerms, SearchTrial};
use crate::estimate::Estimate;

/// The least number of trials near the limit: a spread from fewer is too uncertain to stop by it.
const FEWEST: usize = 8;

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchAnswer {
    /// The limit lies at this level.
    Found {
        /// The level.
        level: Estimate,
        /// The figure that was to be as high as possible.
        value: Estimate,
    },
    /// Even the lowest level breaks the limit.
    NotEven(f64),
    /// Even the highest level keeps the limit.
    AtLeast(f64),
    /// The trials don't show yet where the limit lies.
    Open {
        /// The highest level that kept the limit; `None`: none did.
        kept: Option<f64>,
        /// The lowest level that broke it; `None`: none did.
        broken: Option<f64>,
    },
}

impl SearchAnswer {
    /// Whether no further trial is needed.
    #[must_use]
    pub fn is_final(&self, terms: &SearchTerms) -> bool {
        match self {
            Self::Found { value, level } => {
                level.n >= FEWEST && value.relative_half_width() <= terms.half_width
            }
            Self::NotEven(_) | Self::AtLeast(_) => true,
            Self::Open { .. } => false,
        }
    }
}

/// Returns what these trials show. The interval is Fieller's, of the place where a straight line through the trials near the limit
/// reaches it. Source: Fieller (1954), "Some Problems in Interval Estimation", JRSS B 16:175-185; Draper and Smith (1998), Applied
/// Regression Analysis, 3.2 (inverse regression).
#[must_use]
pub fn search_answer(trials: &[SearchTrial], terms: &SearchTerms) -> SearchAnswer {
    let known = Known::of(trials, terms);
    let (kept, broken) = (known.highest_kept(), known.lowest_broken());
    match (kept, broken) {
        (Some(kept), None) if kept >= terms.to && known.is_settled(terms.to) => {
            SearchAnswer::AtLeast(terms.to)
        }
        (None, Some(broken)) if broken <= known.from.ceil() && known.is_settled(known.from.ceil()) => {
            SearchAnswer::NotEven(known.from.ceil())
        }
        _ => {
            let found = line(&known.points, terms.confidence).and_then(|line| {
                let estimate = |reading: Reading| estimate(reading, terms.confidence, line.n);
                Some(SearchAnswer::Found { level: estimate(line.level)?, value: estimate(line.value)? })
            });
            found.unwrap_or(SearchAnswer::Open { kept, broken })
        }
    }
}

/// `None` where the slope could be 0: then there is no interval.
fn estimate(reading: Reading, confidence: f64, n: usize) -> Option<Estimate> {
    let (low, high) = reading.ends?;
    Some(Estimate { value: reading.at.exp(), low: low.exp(), high: high.exp(), confidence, n })
}
