//! Whether higher or lower values of a metric are better.

use record::plan::{Formula, Plan};
use stats::Better;
use std::cmp::Ordering;

/// The better direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Higher is better, e.g. for rates.
    Higher,
    /// Lower is better, e.g. for latencies and costs.
    Lower,
}

impl Direction {
    /// The direction of a metric of docs/metrics.md, or of a derived one: that of its numerator, or the opposite of its denominator's.
    pub(crate) fn of(plan: &Plan, metric: &str) -> Self {
        let derived = plan.derived.iter().find(|d| d.name == metric);
        derived.and_then(|d| d.cells.values().next()).map_or_else(|| Self::plain(metric), Self::of_formula)
    }

    fn plain(metric: &str) -> Self {
        if record::metric::info(metric).is_some_and(|m| m.lower_is_better) {
            Self::Lower
        } else {
            Self::Higher
        }
    }

    fn of_formula(formula: &Formula) -> Self {
        match (&formula.over, &formula.under) {
            (Some(over), _) => Self::plain(over),
            (None, Some(under)) if Self::plain(under) == Self::Higher => Self::Lower,
            _ => Self::Higher,
        }
    }

    /// Orders the better value first.
    pub(crate) fn order(self, a: f64, b: f64) -> Ordering {
        match self {
            Self::Higher => b.total_cmp(&a),
            Self::Lower => a.total_cmp(&b),
        }
    }

    /// Whether a ratio with this logarithm means that the numerator is better.
    pub(crate) fn is_better(self, log_ratio: f64) -> bool {
        match self {
            Self::Higher => log_ratio > 0.0,
            Self::Lower => log_ratio < 0.0,
        }
    }

    pub(crate) fn is_higher(self) -> bool {
        self == Self::Higher
    }

    pub(crate) fn of_stats(self) -> Better {
        match self {
            Self::Higher => Better::Higher,
            Self::Lower => Better::Lower,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Direction::{self, Higher, Lower};
    use record::plan::Formula;

    #[test]
    fn a_formula_is_as_good_as_what_stands_above_its_line() {
        let of = |over: Option<&str>, under: Option<&str>| {
            let name = |n: &str| n.to_owned();
            Direction::of_formula(&Formula { factor: 2.0, over: over.map(name), under: under.map(name) })
        };
        assert_eq!(of(Some("iops"), None), Higher);
        assert_eq!(of(None, Some("iops")), Lower);
        assert_eq!(of(Some("read_lat_p99"), Some("iops")), Lower);
        assert_eq!(of(None, Some("read_lat_p99")), Higher);
        assert_eq!(of(Some("iops"), Some("engine_cpu")), Higher);
    }
}
