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
    let lowest = known.from.ceil();
    if known.is_settled(lowest, true) {
        return SearchAnswer::NotEven(lowest);
    }
    if known.is_settled(terms.to, false) {
        return SearchAnswer::AtLeast(terms.to);
    }
    let found = line(&known.points, terms.confidence).and_then(|line| {
        let estimate = |reading: Reading| estimate(reading, terms.confidence, line.n);
        Some(SearchAnswer::Found { level: estimate(line.level)?, value: estimate(line.value)? })
    });
    found.unwrap_or_else(|| SearchAnswer::Open { kept: known.highest_kept(), broken: known.lowest_broken() })
}

/// `None` where the slope could be 0: then there is no interval.
fn estimate(reading: Reading, confidence: f64, n: usize) -> Option<Estimate> {
    let (low, high) = reading.ends?;
    Some(Estimate { value: reading.at.exp(), low: low.exp(), high: high.exp(), confidence, n })
}

#[cfg(test)]
mod tests {
    use super::{SearchAnswer, search_answer};
    use crate::search::trial::{SearchTerms, SearchTrial};

    const TERMS: SearchTerms = SearchTerms { from: 2.0, to: 64.0, confidence: 0.95, half_width: 0.05 };

    fn answer(of: &[(f64, f64)]) -> SearchAnswer {
        let trial = |(level, ratio): &(f64, f64)| SearchTrial {
            level: *level,
            ratio: Some(*ratio),
            value: Some(*level),
            reached: None,
        };
        search_answer(&of.iter().map(trial).collect::<Vec<_>>(), &TERMS)
    }

    #[test]
    fn an_end_is_settled_by_a_lead_of_three() {
        let at_lowest = [(64.0, 3.0), (2.0, 1.1), (2.0, 1.3), (2.0, 0.9), (2.0, 1.2), (2.0, 1.4)];
        assert!(matches!(answer(&at_lowest[..5]), SearchAnswer::Open { .. }), "3 to 1");
        assert_eq!(answer(&at_lowest), SearchAnswer::NotEven(2.0));
        assert_eq!(answer(&[(64.0, 0.9), (64.0, 0.8), (64.0, 0.7)]), SearchAnswer::AtLeast(64.0));
        let elsewhere = [(64.0, 0.9), (64.0, 0.8), (64.0, 0.7), (32.0, 1.1)];
        assert!(matches!(answer(&elsewhere), SearchAnswer::Open { .. }), "32 broke it");
    }
}
