//! The length of a trial: long enough that the variance within it is small compared with the variance between trials.

use super::change::long_run_variance;
use crate::estimate::{count, mean, standard_deviation};
use crate::stop::StopRule;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The cost of a trial, and the goal for the cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialPlan {
    /// Requested relative half-width.
    pub half_width: f64,
    /// The rule that ends the run.
    pub rule: StopRule,
    /// Whether the half-width applies to ratios within rounds.
    pub ratios: bool,
    /// Duration of each batch of the series, in seconds.
    pub batch_seconds: f64,
    /// Seconds a trial takes besides its measured time: preparation, ramp.
    pub overhead_seconds: f64,
    /// Length of the shortest trial in seconds.
    pub shortest_seconds: f64,
    /// Length of the longest trial in seconds.
    pub longest_seconds: f64,
}

/// The observed variances, and the cheapest length of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialLength {
    /// Variance between trials, which no trial length reduces.
    pub between: f64,
    /// Variance within trials, times seconds: a trial of T seconds has variance between + within / T.
    pub within_seconds: f64,
    /// Suggested length of a trial in seconds.
    pub trial_seconds: f64,
    /// Number of rounds at this length.
    pub rounds: u32,
    /// Total time of the device in seconds, including overhead.
    pub device_seconds: f64,
}

/// Returns variance components from the trials' series of batch means, and the trial length T with the least (overhead + T) ·
/// n(T), where n(T) is the number of rounds that the requested width takes at variance between + within / T. `within` is the
/// long-run variance (AR(1)) of batches about their trial's mean, pooled over trials. `between` is the variance of the trials'
/// means minus the part that `within` explains, at least 0. A few trials give a poor estimate of `between`, and too long trials
/// cost more than too short ones. So T is chosen for the upper 80 % limit of the means' variance, s² (k-1) / χ²(0.2, k-1), and
/// the rounds are forecast for the estimate itself. Source: Searle, Casella, McCulloch (1992), "Variance Components", 3.6 (ANOVA
/// estimators); Cochran (1977), "Sampling Techniques", 3rd ed., 10.6, for the best allocation, T* = √(overhead · within /
/// between) where n isn't at its minimum.
///
/// `None` for fewer than two trials, trials of fewer than ten batches, values that aren't finite, a mean of 0, or a plan out of range.
#[must_use]
pub fn trial_length(trials: &[&[f64]], plan: &TrialPlan) -> Option<TrialLength> {
    let sound = trials.len() >= 2 && trials.iter().all(|t| t.len() >= 10 && t.iter().all(|x| x.is_finite()));
    if !sound || !plan.is_sound() {
        return None;
    }
    let means: Vec<f64> = trials.iter().map(|t| mean(t)).collect();
    let centre = mean(&means);
    let residuals: Vec<f64> =
        trials.iter().zip(&means).flat_map(|(t, m)| t.iter().map(move |x| x - m)).collect();
    let of_means = standard_deviation(&means, centre).powi(2);
    let most = of_means * upper_factor(means.len())?;
    let batches = count(residuals.len()) / count(trials.len());
    // The variance within trials can't explain more than the variance between the means.
    let explained = (long_run_variance(&residuals, count(trials.len()), 0.0) / batches).min(most);
    let within_seconds = explained * batches * plan.batch_seconds;
    let between = (of_means - explained).max(0.0);
    let cost = |between: f64, seconds: f64| {
        let spread = (between + within_seconds / seconds).sqrt();
        let rounds = plan.rule.rounds_at(spread, plan.half_width * centre.abs(), plan.ratios)?;
        Some((f64::from(rounds) * (seconds + plan.overhead_seconds), seconds, rounds))
    };
    let cautious = most - explained;
    let lengths = plan.lengths().into_iter();
    let (_, trial_seconds, _) =
        lengths.filter_map(|s| cost(cautious, s)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (device_seconds, _, rounds) = cost(between, trial_seconds)?;
    Some(TrialLength { between, within_seconds, trial_seconds, rounds, device_seconds })
}

/// Returns the factor from a variance of k values to its upper 80 % limit.
fn upper_factor(k: usize) -> Option<f64> {
    let freedom = count(k) - 1.0;
    Some(freedom / ChiSquared::new(freedom).ok()?.inverse_cdf(0.2))
}

impl TrialPlan {
    fn is_sound(&self) -> bool {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        positive(self.half_width)
            && positive(self.batch_seconds)
            && positive(self.shortest_seconds)
            && self.longest_seconds.is_finite()
            && self.longest_seconds >= self.shortest_seconds
            && self.overhead_seconds >= 0.0
    }

    /// Returns lengths from shortest to longest in steps of 5 %.
    fn lengths(&self) -> Vec<f64> {
        let steps = std::iter::successors(Some(self.shortest_seconds), |s| Some(s * 1.05));
        steps.take_while(|s| *s < self.longest_seconds).chain([self.longest_seconds]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{TrialPlan, trial_length};
    use crate::{Asked, StopRule};

    fn plan() -> TrialPlan {
        TrialPlan {
            half_width: 0.05,
            rule: StopRule::new(Asked::HalfWidth(0.05), 0.95).unwrap(),
            ratios: false,
            batch_seconds: 1.0,
            overhead_seconds: 5.0,
            shortest_seconds: 5.0,
            longest_seconds: 120.0,
        }
    }

    /// Returns series that alternate about their level, so that the variance within them is known.
    fn trials(levels: &[f64], swing: f64) -> Vec<Vec<f64>> {
        let series = |level: f64| (0..20).map(|i| level + if i % 2 == 0 { swing } else { -swing }).collect();
        levels.iter().map(|l| series(*l)).collect()
    }

    fn suggested(levels: &[f64], swing: f64, plan: &TrialPlan) -> super::TrialLength {
        let trials = trials(levels, swing);
        trial_length(&trials.iter().map(|t| &t[..]).collect::<Vec<_>>(), plan).unwrap()
    }

    /// χ²(0.2, 2) = -2 ln 0.8.
    #[test]
    fn upper_limit_by_hand() {
        assert!((super::upper_factor(3).unwrap() * -(0.8_f64.ln()) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn components_by_hand() {
        let l = suggested(&[90.0, 100.0, 110.0], 1.0, &plan());
        // 60 alternating ±1 about three levels: 59 / 56 per batch; means vary by 100, of which a twentieth of that is within.
        assert!((l.within_seconds - 59.0 / 56.0).abs() < 1e-9, "{l:?}");
        assert!((l.between - (100.0 - 59.0 / 56.0 / 20.0)).abs() < 1e-9, "{l:?}");
    }

    #[test]
    fn when_trials_differ_more_short_ones_are_better() {
        let l = suggested(&[90.0, 100.0, 110.0], 1.0, &plan());
        assert_eq!(l.trial_seconds, 5.0);
        assert!(l.rounds > 20 && (l.device_seconds - f64::from(l.rounds) * 10.0).abs() < 1e-9);
    }

    #[test]
    fn when_seconds_differ_more_longer_ones_are_better() {
        let l = suggested(&[100.0, 104.0, 96.0], 40.0, &plan());
        assert!(l.trial_seconds > 10.0, "{l:?}");
        let cheaper = suggested(&[100.0, 104.0, 96.0], 40.0, &TrialPlan { overhead_seconds: 0.0, ..plan() });
        assert!(cheaper.trial_seconds <= l.trial_seconds && cheaper.device_seconds < l.device_seconds);
    }

    #[test]
    fn quiet_storage_needs_the_shortest_trials_and_the_fewest_rounds() {
        let l = suggested(&[100.0, 100.1, 99.9], 0.1, &plan());
        assert_eq!((l.trial_seconds, l.rounds, l.device_seconds), (5.0, 6, 60.0));
    }

    #[test]
    fn nonsense_has_no_length() {
        let series = trials(&[1.0, 2.0], 0.1);
        let both: Vec<&[f64]> = series.iter().map(|t| &t[..]).collect();
        assert_eq!(trial_length(&both[..1], &plan()), None);
        assert_eq!(trial_length(&[&both[0][..5], both[1]], &plan()), None);
        assert_eq!(trial_length(&both, &TrialPlan { batch_seconds: 0.0, ..plan() }), None);
        assert_eq!(trial_length(&both, &TrialPlan { longest_seconds: 1.0, ..plan() }), None);
    }
}
