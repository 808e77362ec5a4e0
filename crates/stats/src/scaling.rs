//! Where a figure stops growing along an ordered factor: how far more depth, jobs or devices help.

use crate::best::{Rounds, common};
use crate::holm::holm;
use crate::ratio::{RatioEstimate, paired_ratio, paired_ratio_trimmed};

/// A step from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Figure at the upper level / figure at the lower one, paired within rounds.
    pub ratio: RatioEstimate,
    /// ln(ratio) / ln(upper level / lower level): 1 where the figure grows as the level does, 0 where it stays.
    pub elasticity: f64,
    /// P-value against "no growth", adjusted for all steps (Holm).
    pub p_adjusted: f64,
}

/// How a figure grows along a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// The steps between neighbouring levels, from the lowest.
    pub steps: Vec<Step>,
    /// Index of the level up to which the figure scales; 0: it doesn't scale at all.
    pub knee: usize,
    /// Whether the figure is said to stop at the knee. If not, the estimate of the next step scales, and the rounds don't show it.
    pub is_decided: bool,
}

/// Returns how far a figure scales along a factor. A step scales if growth is shown (one-sided, with Holm's adjustment over all
/// steps, so that a figure that never grows is said to scale with a probability of at most 1 - confidence) and its elasticity is
/// at least `least`: with 0.5, twice the level brings at least √2 times the figure. The knee is where the first step begins that
/// doesn't scale.
///
/// `levels` are the factor's values, positive and rising; `cells` holds the figure's rounds at each; `trim` is the share of pairs
/// that is left out at each end. `None` with fewer than two levels, levels that don't rise, or neighbours without a common round
/// of positive values.
#[must_use]
pub fn scaling(
    levels: &[f64],
    cells: &[Rounds],
    least: f64,
    trim: Option<f64>,
    confidence: f64,
) -> Option<Scaling> {
    let rising =
        levels.first().is_some_and(|first| *first > 0.0) && levels.windows(2).all(|two| two[0] < two[1]);
    if levels.len() < 2 || levels.len() != cells.len() || !rising {
        return None;
    }
    let mut steps = Vec::new();
    for lower in 0..levels.len() - 1 {
        let pairs = common(cells[lower + 1], cells[lower]);
        let ratio = match trim {
            Some(share) => paired_ratio_trimmed(&pairs, share, confidence)?,
            None => paired_ratio(&pairs, confidence)?,
        };
        let elasticity = ratio.log_mean / (levels[lower + 1] / levels[lower]).ln();
        steps.push(Step { ratio, elasticity, p_adjusted: 1.0 });
    }
    let raw: Vec<f64> = steps.iter().map(|step| step.ratio.p_above(0.0)).collect();
    for (step, p) in steps.iter_mut().zip(holm(&raw)) {
        step.p_adjusted = p;
    }
    let scales = |step: &&Step| step.p_adjusted <= 1.0 - confidence && step.elasticity >= least;
    let knee = steps.iter().take_while(scales).count();
    let is_decided = steps.get(knee).is_none_or(|step| step.elasticity < least);
    Some(Scaling { steps, knee, is_decided })
}

#[cfg(test)]
mod tests {
    use super::scaling;

    const LEVELS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

    fn cells(means: [f64; 4]) -> Vec<Vec<Option<f64>>> {
        let wobble = [0.99, 1.01, 1.0, 0.995, 1.005];
        let round = |mean: f64, at: usize| Some(mean * wobble[at] * (1.0 + mean / 1e5 * wobble[4 - at]));
        means.iter().map(|mean| (0..5).map(|at| round(*mean, at)).collect()).collect()
    }

    fn knee(means: [f64; 4]) -> usize {
        let cells = cells(means);
        let cells: Vec<&[Option<f64>]> = cells.iter().map(Vec::as_slice).collect();
        scaling(&LEVELS, &cells, 0.5, None, 0.95).unwrap().knee
    }

    #[test]
    fn the_knee_is_the_last_level_that_still_paid() {
        assert_eq!(knee([100.0, 200.0, 400.0, 800.0]), 3);
        assert_eq!(knee([100.0, 190.0, 210.0, 215.0]), 1);
        assert_eq!(knee([100.0, 100.0, 100.0, 100.0]), 0);
        assert_eq!(knee([100.0, 80.0, 160.0, 320.0]), 0, "what falls first does not scale");
    }

    #[test]
    fn growth_that_the_rounds_do_not_show_is_undecided() {
        let noisy =
            [[100.0, 300.0, 50.0], [300.0, 100.0, 250.0], [700.0, 300.0, 900.0], [600.0, 1600.0, 900.0]];
        let noisy = noisy.map(|rounds| rounds.map(Some));
        let noisy: Vec<&[Option<f64>]> = noisy.iter().map(<[_; 3]>::as_slice).collect();
        let found = scaling(&LEVELS, &noisy, 0.5, None, 0.95).unwrap();
        assert_eq!((found.knee, found.is_decided), (0, false), "{found:?}");
        let flat = cells([100.0, 190.0, 210.0, 215.0]);
        let flat: Vec<&[Option<f64>]> = flat.iter().map(Vec::as_slice).collect();
        assert!(scaling(&LEVELS, &flat, 0.5, None, 0.95).unwrap().is_decided);
    }

    #[test]
    fn a_step_in_proportion_has_the_elasticity_1() {
        let cells = cells([100.0, 200.0, 200.0, 100.0]);
        let cells: Vec<&[Option<f64>]> = cells.iter().map(Vec::as_slice).collect();
        let steps = scaling(&LEVELS, &cells, 0.5, None, 0.95).unwrap().steps;
        for (step, expected) in steps.iter().zip([1.0, 0.0, -1.0]) {
            assert!((step.elasticity - expected).abs() < 0.05, "{step:?}");
        }
    }

    #[test]
    fn levels_that_do_not_rise_have_no_answer() {
        let cell = [Some(1.0), Some(2.0)];
        for levels in [[1.0, 1.0], [2.0, 1.0], [0.0, 1.0]] {
            assert_eq!(scaling(&levels, &[&cell, &cell], 0.5, None, 0.95), None);
        }
        assert_eq!(scaling(&[1.0], &[&cell], 0.5, None, 0.95), None);
        assert_eq!(scaling(&[1.0, 2.0], &[&cell, &[None, Some(-1.0)]], 0.5, None, 0.95), None);
    }
}
