//! Comparisons of many cells: every pair, and the set of cells that are not shown to be worse than the best.

use crate::estimate::count;
use crate::holm::holm;
use crate::ratio::{RatioEstimate, paired_ratio, paired_ratio_trimmed};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// One cell's samples by round; `None` where the round has no sample of this cell (its trial failed, or the cell was no longer measured).
pub type Rounds<'a> = &'a [Option<f64>];

/// The direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Higher is better: IOPS, bandwidth.
    Higher,
    /// Lower is better: latency, seconds, dollars.
    Lower,
}

/// A comparison of two cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Index of the cell in the numerator.
    pub a: usize,
    /// Index of the cell in the denominator.
    pub b: usize,
    /// a / b over the rounds that have both cells.
    pub ratio: RatioEstimate,
    /// P-value against "no difference", adjusted for the whole family (Holm).
    pub p_adjusted: f64,
}

impl Comparison {
    /// Whether the cells differ, at an error of 1 - confidence for the whole family.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        self.p_adjusted <= 1.0 - self.ratio.confidence
    }
}

/// Compares every pair of cells, paired within rounds on log ratios, with Holm's adjustment over all pairs. Pairs without a
/// common round, or with a value that isn't positive, are left out.
#[must_use]
pub fn all_pairs(cells: &[Rounds], confidence: f64) -> Vec<Comparison> {
    let mut found = Vec::new();
    for a in 0..cells.len() {
        for b in a + 1..cells.len() {
            if let Some(ratio) = paired_ratio(&common(cells[a], cells[b]), confidence) {
                found.push(Comparison { a, b, ratio, p_adjusted: 1.0 });
            }
        }
    }
    let raw: Vec<f64> = found.iter().map(|c| c.ratio.p_beyond(0.0)).collect();
    for (comparison, p) in found.iter_mut().zip(holm(&raw)) {
        comparison.p_adjusted = p;
    }
    found
}

/// The rank of one cell, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// Whether this cell may be the best: no other cell is shown to be better.
    pub may_be_best: bool,
    /// The best cell is at most this factor better than this cell (1.08: at most 8 %); infinite when there is no bound.
    pub behind_at_most: f64,
}

/// Returns the set of cells that may be the best: cell i leaves the set if a one-sided paired t test on ln(xⱼ / xᵢ), over the
/// rounds that have both cells, shows another cell j to be better, at level (1 - c) / (k - 1) for k cells.
///
/// The truly best cell leaves only if one of its k - 1 true null hypotheses is rejected. So by Bonferroni's inequality it is in
/// the set with probability ≥ c, for any correlation between cells and any spreads. The test needs no common variance, unlike
/// Dunnett's critical values in Hsu (1984), Annals of Statistics 12:1136-1144 (multiple comparisons with the best). The form is
/// the screening of Nelson, Swann, Goldsman, Song (2001), Operations Research 49:950-963, with paired samples. `behind_at_most`
/// is the upper end of the same k - 1 one-sided intervals: simultaneous for one cell, with probability ≥ c.
///
/// `None` when there are no cells, `confidence` isn't strictly between 0 and 1, or a value isn't positive and finite. Pairs with
/// fewer than two common rounds show no difference.
#[must_use]
pub fn standings(cells: &[Rounds], better: Better, confidence: f64) -> Option<Vec<Rank>> {
    standings_trimmed(cells, better, None, confidence)
}

/// The same with ratios that leave out this share of the rounds at each end ([`paired_ratio_trimmed`]). `None` also when the
/// share isn't in 0 .. 0.5.
#[must_use]
pub fn standings_trimmed(
    cells: &[Rounds],
    better: Better,
    trim: Option<f64>,
    confidence: f64,
) -> Option<Vec<Rank>> {
    let valid = |x: f64| x.is_finite() && x > 0.0;
    let invalid = cells.iter().any(|c| c.iter().flatten().any(|x| !valid(*x)));
    let share = trim.unwrap_or(0.0);
    if cells.is_empty() || invalid || !(confidence > 0.0 && confidence < 1.0) || !(0.0..0.5).contains(&share)
    {
        return None;
    }
    let level = (1.0 - confidence) / count(cells.len().saturating_sub(1).max(1));
    Some((0..cells.len()).map(|i| standing(cells, i, better, share, level)).collect())
}

fn standing(cells: &[Rounds], i: usize, better: Better, share: f64, level: f64) -> Rank {
    let mut place = Rank { may_be_best: true, behind_at_most: 1.0 };
    for j in (0..cells.len()).filter(|j| *j != i) {
        let (low, high) = bounds(&common(cells[j], cells[i]), better, share, level);
        place.may_be_best &= low <= 0.0;
        place.behind_at_most = place.behind_at_most.max(high.exp());
    }
    place
}

/// Returns one-sided limits, each at `level`, of the factor by which the first value of each pair is better, in logarithms.
fn bounds(pairs: &[(f64, f64)], better: Better, share: f64, level: f64) -> (f64, f64) {
    const NOTHING: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    let Some(ratio) = paired_ratio_trimmed(pairs, share, 0.5).filter(RatioEstimate::is_bounded) else {
        return NOTHING;
    };
    let Ok(t) = StudentsT::new(0.0, 1.0, ratio.freedom) else { return NOTHING };
    let gain = match better {
        Better::Higher => ratio.log_mean,
        Better::Lower => -ratio.log_mean,
    };
    let reach = t.inverse_cdf(1.0 - level) * ratio.log_error;
    if reach.is_finite() { (gain - reach, gain + reach) } else { NOTHING }
}

/// Returns the values of the rounds that have both cells.
pub(crate) fn common(a: Rounds, b: Rounds) -> Vec<(f64, f64)> {
    a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Better, Rank, all_pairs, standings, standings_trimmed};

    fn rounds(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().map(|v| Some(*v)).collect()
    }

    #[test]
    fn the_clearly_worse_leaves_and_the_equal_stays() {
        let a = rounds(&[100.0, 102.0, 99.0, 101.0, 100.0]);
        let b = rounds(&[101.0, 101.0, 100.0, 100.0, 99.0]);
        let c = rounds(&[80.0, 82.0, 79.0, 81.0, 80.5]);
        let cells = [&a[..], &b, &c];
        let may = |better| -> Vec<bool> {
            standings(&cells, better, 0.95).unwrap().iter().map(|s| s.may_be_best).collect()
        };
        assert_eq!(may(Better::Higher), [true, true, false]);
        assert_eq!(may(Better::Lower), [false, false, true]);
        let behind = standings(&cells, Better::Higher, 0.95).unwrap()[2].behind_at_most;
        assert!(behind > 1.25 && behind < 1.30, "{behind}");
    }

    #[test]
    fn alone_is_best() {
        let a = rounds(&[1.0]);
        let alone = standings(&[&a], Better::Higher, 0.95).unwrap();
        assert_eq!(alone, [Rank { may_be_best: true, behind_at_most: 1.0 }]);
    }

    #[test]
    fn without_common_rounds_nobody_leaves() {
        let a = [Some(1.0), Some(1.01), None, None];
        let b = [None, None, Some(2.0), Some(2.01)];
        let s = standings(&[&a, &b], Better::Higher, 0.95).unwrap();
        assert!(s.iter().all(|s| s.may_be_best && s.behind_at_most == f64::INFINITY));
        assert!(all_pairs(&[&a, &b], 0.95).is_empty());
    }

    #[test]
    fn pairs_are_adjusted_for_the_family() {
        let a = rounds(&[100.0, 102.0, 99.0, 101.0]);
        let b = rounds(&[110.0, 112.5, 109.0, 111.0]);
        let c = rounds(&[100.5, 101.5, 99.5, 100.5]);
        let pairs = all_pairs(&[&a, &b, &c], 0.95);
        assert_eq!(pairs.iter().map(|p| (p.a, p.b)).collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(pairs.iter().map(super::Comparison::is_apart).collect::<Vec<_>>(), [true, false, true]);
        assert!(pairs.iter().all(|p| p.p_adjusted >= p.ratio.p_beyond(0.0)));
    }

    /// One outlier in twelve rounds hides which cell is better, unless it is trimmed.
    #[test]
    fn where_outliers_are_cut_they_bound_nothing() {
        let a: Vec<Option<f64>> = (0..12).map(|i| Some(100.0 + f64::from(i % 3))).collect();
        let mut b: Vec<Option<f64>> = (0..12).map(|i| Some(90.0 + f64::from(i % 4))).collect();
        b[4] = Some(400.0);
        let cells = [&a[..], &b];
        let last = |trim| standings_trimmed(&cells, Better::Higher, trim, 0.95).unwrap()[1];
        assert!(last(None).may_be_best && !last(Some(0.1)).may_be_best);
        assert!(last(Some(0.1)).behind_at_most < 1.2 && last(None).behind_at_most > 1.2);
        assert_eq!(standings_trimmed(&cells, Better::Higher, Some(0.5), 0.95), None);
    }

    #[test]
    fn nonsense_has_no_standing() {
        assert_eq!(standings(&[], Better::Higher, 0.95), None);
        assert_eq!(standings(&[&[Some(0.0)][..]], Better::Higher, 0.95), None);
        assert_eq!(standings(&[&[Some(1.0)][..]], Better::Higher, 1.0), None);
    }
}
