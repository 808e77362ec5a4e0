//! Two rates in one trial, as when burst credits or a write cache run out.

use super::change::{change_points, long_run_variance};
use crate::estimate::{Estimate, count, mean, mean_t, standard_deviation, t_quantile, usable};

/// A trial that ran at one rate, then at another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoRates {
    /// Index of the first sample at the second rate.
    pub at: usize,
    /// The first rate.
    pub before: Estimate,
    /// The second rate.
    pub after: Estimate,
    /// P-value against a single rate.
    pub p: f64,
}

/// Other steps in the series must be smaller than this share of the largest one; otherwise the series has more than two rates, or none.
const MINOR: f64 = 0.25;

/// Returns the two rates of a series if one of its changes of level ([`change_points`]) is more than four times as large as each
/// of the others. The rates are the means before and after it, with intervals that allow for autocorrelation
/// ([`mean_of_series`]). `None` when there is no such change.
#[must_use]
pub fn two_rates(series: &[f64], level: f64, confidence: f64) -> Option<TwoRates> {
    let changes = change_points(series, level);
    let size = |i: usize| (changes[i].after - changes[i].before).abs();
    let big = (0..changes.len()).max_by(|a, b| size(*a).total_cmp(&size(*b)))?;
    if (0..changes.len()).any(|i| i != big && size(i) > MINOR * size(big)) {
        return None;
    }
    let at = changes[big].at;
    Some(TwoRates {
        at,
        before: mean_of_series(&series[..at], confidence)?,
        after: mean_of_series(&series[at..], confidence)?,
        p: changes[big].p,
    })
}

/// Returns the mean of an autocorrelated series: Student's interval with the long-run variance of an AR(1) process, with degrees
/// of freedom from the effective number of independent samples: n_eff = n · s² / σ². It applies to this one trial only, not to
/// other trials. Source: Law (2015), "Simulation Modeling and Analysis", 5th ed., 9.5.3 (autoregressive method, Fishman 1971).
///
/// Below ten samples the autocorrelation can't be estimated, and the interval is unbounded. `None` as for [`mean_t`].
#[must_use]
pub fn mean_of_series(series: &[f64], confidence: f64) -> Option<Estimate> {
    if !usable(series, confidence) {
        return None;
    }
    let n = series.len();
    let value = Some(mean(series)).filter(|m| m.is_finite())?;
    let plain = standard_deviation(series, value).powi(2);
    if plain == 0.0 {
        return mean_t(series, confidence);
    }
    let residuals: Vec<f64> = series.iter().map(|x| x - value).collect();
    let variance = long_run_variance(&residuals, 1.0, 0.0);
    let worth = (count(n) * plain / variance).clamp(2.0, count(n));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2 and n")]
    let half = t_quantile(confidence, worth as usize)? * (variance / count(n)).sqrt();
    if n < 10 || !half.is_finite() {
        return Some(Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence, n });
    }
    Some(Estimate { value, low: value - half, high: value + half, confidence, n })
}

#[cfg(test)]
mod tests {
    use super::{mean_of_series, two_rates};

    fn wiggle(i: u32) -> f64 {
        [0.0, 1.0, -1.0, 0.5, -0.5, 1.2, -1.1][(i % 7) as usize]
    }

    #[test]
    fn credits_that_run_out_are_located_with_both_rates() {
        let series: Vec<f64> = (0..60).map(|i| if i < 22 { 3000.0 } else { 300.0 } + wiggle(i)).collect();
        let t = two_rates(&series, 0.01, 0.95).unwrap();
        assert_eq!(t.at, 22);
        assert!(t.before.low <= 3000.1 && t.before.high >= 3000.0 && t.before.half_width() < 2.0, "{t:?}");
        assert!(t.after.low <= 300.1 && t.after.high >= 300.0 && t.p < 0.01, "{t:?}");
    }

    #[test]
    fn stairs_and_level_ground_are_not_two_rates() {
        let stairs: Vec<f64> = (0..90).map(|i| f64::from(i / 30) * 50.0 + wiggle(i)).collect();
        assert_eq!(two_rates(&stairs, 0.01, 0.95), None);
        let level: Vec<f64> = (0..90).map(|i| 100.0 + wiggle(i)).collect();
        assert_eq!(two_rates(&level, 0.01, 0.95), None);
    }

    #[test]
    fn a_series_is_worth_less_than_its_samples() {
        let slow: Vec<f64> = (0..60).map(|i| 100.0 + (f64::from(i) / 5.0).sin()).collect();
        let e = mean_of_series(&slow, 0.95).unwrap();
        let naive = crate::mean_t(&slow, 0.95).unwrap();
        assert!(e.half_width() > 2.0 * naive.half_width(), "{e:?} {naive:?}");
        assert!(!mean_of_series(&[1.0, 2.0, 3.0], 0.95).unwrap().is_bounded());
        assert_eq!(mean_of_series(&[], 0.95), None);
    }
}
