//! Ratios of paired samples: of two things measured in the same round, so that what the round did to both cancels.

use crate::estimate::{Estimate, count, mean_t, t_quantile, trials_for_spread};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A ratio with its interval: the geometric mean of the pairs' ratios, and Student's t interval on their logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioEstimate {
    /// The ratio.
    pub ratio: f64,
    /// Lower end; 0 when one pair gives no interval.
    pub low: f64,
    /// Upper end; infinity when one pair gives no interval.
    pub high: f64,
    /// Mean of the ratios' natural logarithms.
    pub log_mean: f64,
    /// Its standard error; infinite when one pair gives none.
    pub log_error: f64,
    /// Confidence of the interval, between 0 and 1.
    pub confidence: f64,
    /// Number of pairs.
    pub n: usize,
}

/// The ratio a / b over pairs (a, b) of the same round: exp of the mean of ln(a / b), with a t interval on the logarithms.
/// Logarithms make a / b and b / a the same statement, and a ratio's spread even on both sides.
///
/// `None` when there are no pairs, a value isn't positive and finite, or `confidence` isn't strictly between 0 and 1.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<RatioEstimate> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    if pairs.iter().any(|&(a, b)| !usable(a) || !usable(b)) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| a.ln() - b.ln()).collect();
    let Estimate { value, low, high, n, .. } = mean_t(&logs, confidence)?;
    let log_error = if n < 2 { f64::INFINITY } else { (high - low) / 2.0 / t_quantile(confidence, n)? };
    Some(RatioEstimate {
        ratio: value.exp(),
        low: low.exp(),
        high: high.exp(),
        log_mean: value,
        log_error,
        confidence,
        n,
    })
}

impl RatioEstimate {
    /// Whether the data give an interval.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.log_error.is_finite()
    }

    /// The p-value against "the true ratio's logarithm is at most `log_margin` away from 0": the probability of a mean as
    /// far out as this one if the truth lay on the margin's edge, where it is largest. With a margin of 0 this is the
    /// ordinary two-sided t test.
    #[must_use]
    pub fn p_beyond(&self, log_margin: f64) -> f64 {
        let distance = self.log_mean.abs();
        if self.n < 2 || !self.log_error.is_finite() {
            return 1.0;
        }
        if self.log_error == 0.0 {
            return if distance > log_margin { 0.0 } else { 1.0 };
        }
        let Ok(t) = StudentsT::new(0.0, 1.0, count(self.n) - 1.0) else { return 1.0 };
        let tail = |x: f64| t.cdf(-x / self.log_error);
        (tail(distance - log_margin) + tail(distance + log_margin)).min(1.0)
    }

    /// Whether the whole interval lies within `log_margin` of a ratio of 1.
    #[must_use]
    pub fn is_inside(&self, log_margin: f64) -> bool {
        self.reach() <= log_margin
    }

    /// The smallest difference that the data exclude: 0.03 says "a difference above 3 % either way is excluded". Infinite when
    /// there is no interval. Both sides are tested at half the error each, so this is at least as strict as two one-sided
    /// tests: Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15:657-680.
    #[must_use]
    pub fn excluded_difference(&self) -> f64 {
        self.reach().exp() - 1.0
    }

    /// How far the interval reaches from a ratio of 1 to its farther end, in logarithms.
    fn reach(&self) -> f64 {
        t_quantile(self.confidence, self.n)
            .map_or(f64::INFINITY, |t| self.log_mean.abs() + t * self.log_error)
    }

    /// Roughly how many rounds in all would bring the interval inside `log_margin`, or all of it outside, if mean and spread
    /// stay as seen. `None` when they would not in any number that could be done: the mean lies on the margin.
    #[must_use]
    pub fn rounds_to_decide(&self, log_margin: f64) -> Option<u32> {
        if self.n < 2 || !self.log_error.is_finite() {
            return None;
        }
        let spread = self.log_error * count(self.n).sqrt();
        let distance = (log_margin - self.log_mean.abs()).abs();
        trials_for_spread(spread, self.confidence, distance)
    }
}

#[cfg(test)]
mod tests {
    use super::paired_ratio;

    /// By hand: logarithms ln 1.1 and ln 0.9; t(0.975, 1) = 12.7062.
    #[test]
    fn a_small_case_by_hand() {
        let e = paired_ratio(&[(110.0, 100.0), (90.0, 100.0)], 0.95).unwrap();
        let (a, b) = (1.1_f64.ln(), 0.9_f64.ln());
        let mean = f64::midpoint(a, b);
        let error = (a - b) / 2.0;
        assert!((e.log_mean - mean).abs() < 1e-12 && (e.log_error - error).abs() < 1e-9, "{e:?}");
        assert!((e.high - (mean + 12.706_204_736 * error).exp()).abs() < 1e-6, "{e:?}");
        assert_eq!(e.n, 2);
    }

    #[test]
    fn what_a_round_does_to_both_cancels() {
        let e = paired_ratio(&[(2.0, 1.0), (20.0, 10.0), (0.2, 0.1)], 0.95).unwrap();
        assert!((e.ratio - 2.0).abs() < 1e-12 && e.high - e.low < 1e-9, "{e:?}");
    }

    #[test]
    fn turned_around_it_says_the_same() {
        let pairs = [(1.0, 2.0), (1.1, 2.3), (0.9, 2.2)];
        let turned = pairs.map(|(a, b)| (b, a));
        let (e, r) = (paired_ratio(&pairs, 0.95).unwrap(), paired_ratio(&turned, 0.95).unwrap());
        assert!((e.low * r.high - 1.0).abs() < 1e-12 && (e.ratio * r.ratio - 1.0).abs() < 1e-12);
        assert!((e.p_beyond(0.1) - r.p_beyond(0.1)).abs() < 1e-12);
    }

    #[test]
    fn one_pair_has_no_interval_and_proves_nothing() {
        let e = paired_ratio(&[(3.0, 1.0)], 0.95).unwrap();
        assert!(!e.is_bounded() && !e.is_inside(10.0));
        assert_eq!(
            (e.low, e.high, e.p_beyond(0.0), e.rounds_to_decide(0.01)),
            (0.0, f64::INFINITY, 1.0, None)
        );
    }

    #[test]
    fn nonsense_has_no_ratio() {
        for pairs in [&[][..], &[(0.0, 1.0)], &[(1.0, -1.0)], &[(f64::NAN, 1.0)], &[(1.0, f64::INFINITY)]] {
            assert_eq!(paired_ratio(pairs, 0.95), None);
        }
        assert_eq!(paired_ratio(&[(1.0, 1.0)], 1.0), None);
    }

    /// At the edge of the interval of confidence c, the two-sided p-value is 1 - c.
    #[test]
    fn interval_and_test_agree() {
        let e = paired_ratio(&[(1.02, 1.0), (1.05, 1.0), (1.01, 1.0), (1.04, 1.0)], 0.95).unwrap();
        let shift = e.low;
        let moved: Vec<(f64, f64)> = [1.02, 1.05, 1.01, 1.04].iter().map(|a| (a / shift, 1.0)).collect();
        let p = paired_ratio(&moved, 0.95).unwrap().p_beyond(0.0);
        assert!((p - 0.05).abs() < 1e-6, "{p}");
        assert!(e.p_beyond(0.02) > e.p_beyond(0.0) && e.p_beyond(0.0) < 0.05);
    }

    #[test]
    fn what_is_excluded_is_the_far_end_either_way_around() {
        let pairs = [(1.02, 1.0), (1.05, 1.0), (1.01, 1.0), (1.04, 1.0)];
        let (e, r) =
            (paired_ratio(&pairs, 0.95).unwrap(), paired_ratio(&pairs.map(|(a, b)| (b, a)), 0.95).unwrap());
        assert!((e.excluded_difference() - (e.high - 1.0)).abs() < 1e-9, "{e:?}");
        assert!((e.excluded_difference() - r.excluded_difference()).abs() < 1e-9);
        assert_eq!(paired_ratio(&[(3.0, 1.0)], 0.95).unwrap().excluded_difference(), f64::INFINITY);
    }

    #[test]
    fn equal_pairs_differ_by_nothing() {
        let e = paired_ratio(&[(2.0, 2.0); 5], 0.95).unwrap();
        assert_eq!((e.ratio, e.p_beyond(0.0), e.is_inside(0.0)), (1.0, 1.0, true));
        let apart = paired_ratio(&[(3.0, 2.0); 5], 0.95).unwrap();
        assert_eq!((apart.p_beyond(0.1), apart.p_beyond(1.0)), (0.0, 1.0));
    }

    #[test]
    fn the_forecast_is_the_smallest_that_suffices() {
        let ratios = [1.02, 0.98, 1.03, 0.99, 0.97];
        let pairs: Vec<(f64, f64)> = ratios.iter().map(|a| (*a, 1.0)).collect();
        let e = paired_ratio(&pairs, 0.95).unwrap();
        let margin = 1.01_f64.ln();
        assert!(!e.is_inside(margin));
        let m = e.rounds_to_decide(margin).unwrap();
        let half = |m: u32| {
            crate::estimate::t_quantile(0.95, m as usize).unwrap() * e.log_error * 5.0_f64.sqrt()
                / f64::from(m).sqrt()
        };
        let room = margin - e.log_mean.abs();
        assert!(half(m) <= room && half(m - 1) > room, "{m}");
        assert!(e.rounds_to_decide(e.log_mean.abs()).is_none(), "on the margin no number decides");
    }
}
