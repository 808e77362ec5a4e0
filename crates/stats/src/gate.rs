//! Whether figures got worse by more than a margin, many at a time.

use crate::holm::holm_weighted;
use crate::ratio::RatioEstimate;

/// A figure that may not get worse by more than a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatedFigure {
    /// New value / old value, turned so that a ratio above 1 is worse.
    pub worse: RatioEstimate,
    /// The margin, as the logarithm of the ratio: above 0.
    pub margin: f64,
    /// The difference that the measurement can't resolve, as a logarithm: 0 or above.
    pub resolution: f64,
    /// Its part of the error that all figures share; only the proportions count.
    pub weight: f64,
}

/// What is shown of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateOutcome {
    /// It is not a regression, and one of twice the margin is excluded.
    Pass,
    /// It is not shown to be a regression, and the data don't exclude one of twice the margin.
    Undecided,
    /// It is shown to be worse, and its estimate is worse by more than the margin.
    Regression,
}

/// Decides each figure.
///
/// *Regression*: the one-sided test against "not worse" holds after Holm's adjustment over all figures, with their weights, and the
/// estimate lies beyond the margin. So with no figure worse, one is called a regression with a probability of at most `error`, for any
/// margin. *Pass*: no regression, the estimate doesn't lie beyond the margin, and the one-sided test against "worse by twice the margin or
/// more" holds. All figures must pass, so a run with such a figure passes with a probability of at most `error`, without adjustment
/// (intersection-union test). Source: Holm (1979), Scandinavian Journal of Statistics 6:65-70; Berger (1982), Technometrics 24:295-300.
#[must_use]
pub fn gate(figures: &[GatedFigure], error: f64) -> Vec<GateOutcome> {
    let p_values: Vec<f64> = figures.iter().map(|f| f.worse.p_above(f.resolution)).collect();
    let weights: Vec<f64> = figures.iter().map(|f| f.weight).collect();
    let decide = |(figure, p): (&GatedFigure, f64)| {
        let is_beyond = figure.worse.log_mean > figure.margin;
        let excluded = figure.worse.p_below(figure.limit() - figure.resolution) <= error;
        match (p <= error, is_beyond) {
            (true, true) => GateOutcome::Regression,
            (_, false) if excluded => GateOutcome::Pass,
            _ => GateOutcome::Undecided,
        }
    };
    figures.iter().zip(holm_weighted(&p_values, &weights)).map(decide).collect()
}

impl GatedFigure {
    /// Returns the logarithm of the ratio that must be excluded to pass: twice the margin.
    fn limit(&self) -> f64 {
        2.0 * self.margin
    }

    /// Returns about how many more samples on each side would decide it, if mean and spread stay the same and no other figure is tested.
    /// `None` when no practicable number would.
    #[must_use]
    pub fn more_rounds(&self) -> Option<u32> {
        let distance = if self.worse.log_mean > self.margin {
            self.worse.log_mean - self.resolution
        } else {
            self.limit() - self.resolution - self.worse.log_mean
        };
        let all = self.worse.rounds_to_tell(distance.max(0.0))?;
        let have = u32::try_from(self.worse.n).unwrap_or(u32::MAX);
        Some(all.saturating_sub(have).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::GateOutcome::{Pass, Regression, Undecided};
    use super::{GateOutcome, GatedFigure, gate};
    use crate::unpaired_ratio;

    /// Five values on each side, worse by a factor, with this wobble.
    fn figure(factor: f64, wobble: f64) -> GatedFigure {
        let old: Vec<f64> = [0.0, 1.0, -1.0, 0.5, -0.5].iter().map(|w| 100.0 * (w * wobble).exp()).collect();
        let new: Vec<f64> = old.iter().map(|x| x * factor).collect();
        let worse = unpaired_ratio(&new, &old, 0.95).unwrap();
        GatedFigure { worse, margin: 1.05_f64.ln(), resolution: 0.0, weight: 1.0 }
    }

    fn one(figure: GatedFigure) -> GateOutcome {
        gate(&[figure], 0.05)[0]
    }

    /// By hand: with a wobble of 0.01 the spread of the logarithms is 0.0079, the error of the difference 0.005, t(0.95, 8) = 1.860.
    #[test]
    fn each_side_of_the_margin() {
        assert_eq!(one(figure(1.0, 0.01)), Pass);
        assert_eq!(one(figure(1.04, 0.01)), Pass, "shown to be worse, within the margin");
        assert_eq!(one(figure(1.06, 0.01)), Regression);
        assert_eq!(one(figure(0.5, 0.01)), Pass, "better");
        assert_eq!(one(figure(1.0, 0.15)), Undecided, "0.075 · 1.86 is beyond twice the margin");
        assert_eq!(one(figure(1.09, 0.15)), Undecided, "beyond the margin and not shown");
        assert_eq!(one(figure(1.2, 0.08)), Regression);
    }

    #[test]
    fn what_can_not_be_resolved_is_no_regression() {
        assert_eq!(one(GatedFigure { resolution: 0.2, ..figure(1.06, 0.01) }), Undecided);
        let once = unpaired_ratio(&[2.0], &[1.0], 0.95).unwrap();
        let once = GatedFigure { worse: once, ..figure(1.0, 0.01) };
        assert_eq!((one(once), once.more_rounds()), (Undecided, None));
    }

    #[test]
    fn more_figures_ask_for_more_and_weights_for_less() {
        let seen = figure(1.1, 0.06);
        assert_eq!(one(seen), Regression);
        let mut all = vec![figure(1.0, 0.06); 40];
        all.push(seen);
        assert_eq!(gate(&all, 0.05)[40], Undecided);
        all[40].weight = 40.0;
        assert_eq!(gate(&all, 0.05)[40], Regression);
    }

    #[test]
    fn more_rounds_decide_what_is_open() {
        let open = figure(1.0, 0.15);
        let rounds = open.more_rounds().unwrap();
        assert!((3..60).contains(&rounds), "{rounds}");
        assert_eq!(figure(1.0, 0.0001).more_rounds(), Some(1));
    }
}
