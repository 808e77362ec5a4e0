//! Ratios with intervals on their logarithms: of paired samples (two values from the same round, so that the effect of the round
//! on both cancels), and of independent samples.

use crate::centre::{Centre, trimmed_per_side};
use crate::estimate::{Estimate, count, mean_t, t_quantile, trials_for_spread, usable};
use crate::location::trimmed_mean;
use crate::search::quantile as of_line;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A ratio with its interval: a difference of mean logarithms, and Student's t interval on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioEstimate {
    /// The ratio.
    pub ratio: f64,
    /// Lower end; 0 when there is only one pair.
    pub low: f64,
    /// Upper end; infinity when there is only one pair.
    pub high: f64,
    /// Mean of the natural logarithms of the ratios.
    pub log_mean: f64,
    /// Standard error of `log_mean`; infinite when there is only one pair.
    pub log_error: f64,
    /// Confidence of the interval, between 0 and 1.
    pub confidence: f64,
    /// Number of pairs; for trimmed pairs, the kept ones; for independent samples, the smaller number.
    pub n: usize,
    /// Degrees of freedom of the standard error.
    pub freedom: f64,
}

/// Returns the ratio a / b over pairs (a, b) of the same round: exp of the mean of ln(a / b), with a t interval on the
/// logarithms. On logarithms a / b and b / a are the same statement, and the spread of a ratio is symmetric.
///
/// `None` when there are no pairs, a value isn't positive and finite, or `confidence` isn't strictly between 0 and 1.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<RatioEstimate> {
    let logs = log_ratios(pairs)?;
    of_logs(mean_t(&logs, confidence)?, logs.len())
}

/// The same without the `share` lowest and highest log ratios (0.1: a tenth on each side): their trimmed mean with the winsorized
/// standard error, h - 1 degrees of freedom for the h kept pairs. Source: Yuen (1974), Biometrika 61:165-170, on the differences
/// of pairs as in Wilcox (2012), "Introduction to Robust Estimation and Hypothesis Testing", 5.9.3. With too few pairs to trim
/// any: as [`paired_ratio`].
///
/// `None` as for [`paired_ratio`], and when `share` isn't in 0 .. 0.5.
#[must_use]
pub fn paired_ratio_trimmed(pairs: &[(f64, f64)], share: f64, confidence: f64) -> Option<RatioEstimate> {
    let logs = log_ratios(pairs)?;
    let estimate = trimmed_mean(&logs, share, confidence)?;
    of_logs(estimate, logs.len() - 2 * trimmed_per_side(logs.len(), share))
}

/// Returns the ratio of the geometric means of two independent sets of samples, e.g. of two runs: Welch's interval on the
/// logarithms, m_a - m_b ± t(ν) √(s_a²/n_a + s_b²/n_b) with Satterthwaite's ν. It needs neither equal spreads nor equal numbers.
/// It doesn't account for changes that affect a whole set at once. Source: Welch (1938), Biometrika 29:350-362, and (1947),
/// Biometrika 34:28-35; ν: Satterthwaite (1946), Biometrics Bulletin 2:110-114.
///
/// Unbounded when either side has one sample. `None` when either is empty, a value isn't positive and finite, or `confidence` isn't strictly
/// between 0 and 1.
#[must_use]
pub fn unpaired_ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<RatioEstimate> {
    unpaired(a, b, None, confidence)
}

/// The same without the `share` lowest and highest logarithms of each side: trimmed means, winsorized standard errors and h - 1
/// degrees of freedom on each side replace the plain ones. Source: Yuen (1974), Biometrika 61:165-170. With too few samples to
/// trim any: as [`unpaired_ratio`].
///
/// `None` as for [`unpaired_ratio`], and when `share` isn't in 0 .. 0.5.
#[must_use]
pub fn unpaired_ratio_trimmed(a: &[f64], b: &[f64], share: f64, confidence: f64) -> Option<RatioEstimate> {
    unpaired(a, b, Some(share), confidence)
}

fn unpaired(a: &[f64], b: &[f64], trim: Option<f64>, confidence: f64) -> Option<RatioEstimate> {
    let side = |side: &[f64]| -> Option<Centre> {
        let logs: Vec<f64> = side.iter().map(|x| x.ln()).collect();
        let valid = side.iter().all(|x| *x > 0.0) && usable(&logs, confidence);
        Centre::of(&logs, trim).filter(|_| valid)
    };
    let (a, b) = (side(a)?, side(b)?);
    let log_mean = a.value - b.value;
    let n = a.kept.min(b.kept);
    let unbounded = RatioEstimate {
        ratio: log_mean.exp(),
        low: 0.0,
        high: f64::INFINITY,
        log_mean,
        log_error: f64::INFINITY,
        confidence,
        n,
        freedom: 0.0,
    };
    if n < 2 {
        return Some(unbounded);
    }
    let (var_a, var_b) = (a.error.powi(2), b.error.powi(2));
    let (free_a, free_b) = (count(a.kept) - 1.0, count(b.kept) - 1.0);
    let total = var_a + var_b;
    let parts = var_a.powi(2) / free_a + var_b.powi(2) / free_b;
    let freedom = if parts > 0.0 { total * total / parts } else { free_a + free_b };
    let log_error = total.sqrt();
    let reach = quantile(0.5 + confidence / 2.0, freedom)? * log_error;
    Some(RatioEstimate {
        low: (log_mean - reach).exp(),
        high: (log_mean + reach).exp(),
        log_error,
        freedom,
        ..unbounded
    })
}

/// Returns the ratio a / b of two answers of searches (see [`crate::search_answer`]): Welch's interval as in [`unpaired_ratio`], with the
/// standard errors of the logarithms from both intervals, and n - 2 degrees of freedom on each side, those of a line.
///
/// `None` when an interval is unbounded or not above 0, or rests on fewer than 3 trials, or `confidence` isn't strictly between 0 and 1.
#[must_use]
pub fn answers_ratio(a: &Estimate, b: &Estimate, confidence: f64) -> Option<RatioEstimate> {
    let side = |e: &Estimate| {
        let usable = e.low > 0.0 && e.is_bounded() && e.n >= 3;
        let error = (e.high / e.low).ln() / 2.0 / of_line(e.confidence, e.n)?;
        usable.then(|| (e.value.ln(), error.powi(2), count(e.n) - 2.0))
    };
    let ((mean_a, var_a, free_a), (mean_b, var_b, free_b)) = (side(a)?, side(b)?);
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let (log_mean, total) = (mean_a - mean_b, var_a + var_b);
    let parts = var_a.powi(2) / free_a + var_b.powi(2) / free_b;
    let freedom = if parts > 0.0 { total * total / parts } else { free_a + free_b };
    let log_error = total.sqrt();
    let reach = quantile(0.5 + confidence / 2.0, freedom)? * log_error;
    Some(RatioEstimate {
        ratio: log_mean.exp(),
        low: (log_mean - reach).exp(),
        high: (log_mean + reach).exp(),
        log_mean,
        log_error,
        confidence,
        n: a.n.min(b.n),
        freedom,
    })
}

/// Returns ln(a / b) of each pair; `None` when a value isn't positive and finite.
fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    let all = pairs.iter().all(|&(a, b)| usable(a) && usable(b));
    all.then(|| pairs.iter().map(|(a, b)| a.ln() - b.ln()).collect())
}

/// Converts a t interval of logarithms into that of a ratio, with `n` kept values.
fn of_logs(e: Estimate, n: usize) -> Option<RatioEstimate> {
    let bounded = n >= 2 && e.is_bounded();
    let log_error =
        if bounded { (e.high - e.low) / 2.0 / t_quantile(e.confidence, n)? } else { f64::INFINITY };
    let freedom = if bounded { count(n) - 1.0 } else { 0.0 };
    Some(RatioEstimate {
        ratio: e.value.exp(),
        low: e.low.exp(),
        high: e.high.exp(),
        log_mean: e.value,
        log_error,
        confidence: e.confidence,
        n,
        freedom,
    })
}

/// Returns the p-quantile of Student's t.
fn quantile(p: f64, freedom: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(p))
}

impl RatioEstimate {
    /// Returns the ratio of b to a.
    #[must_use]
    pub fn turned(self) -> Self {
        Self {
            ratio: self.ratio.recip(),
            low: self.high.recip(),
            high: self.low.recip(),
            log_mean: -self.log_mean,
            ..self
        }
    }

    /// Whether the interval is bounded.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.log_error.is_finite()
    }

    /// Returns the p-value against "the true ratio's logarithm is at most `log_margin` away from 0": the probability of a mean at
    /// least this far out if the truth lay on the edge of the margin, where it is largest. With a margin of 0 this is the
    /// ordinary two-sided t test.
    #[must_use]
    pub fn p_beyond(&self, log_margin: f64) -> f64 {
        let distance = self.log_mean.abs();
        (self.tail(distance - log_margin) + self.tail(distance + log_margin)).min(1.0)
    }

    /// Returns the one-sided p-value against "the true ratio's logarithm is at most `edge`".
    #[must_use]
    pub fn p_above(&self, edge: f64) -> f64 {
        self.tail(self.log_mean - edge)
    }

    /// Returns the one-sided p-value against "the true ratio's logarithm is at least `edge`".
    #[must_use]
    pub fn p_below(&self, edge: f64) -> f64 {
        self.tail(edge - self.log_mean)
    }

    /// Returns the probability that an estimate lies at least this far on one side of the truth.
    fn tail(&self, distance: f64) -> f64 {
        if !self.is_bounded() {
            return 1.0;
        }
        if self.log_error == 0.0 {
            return if distance > 0.0 { 0.0 } else { 1.0 };
        }
        StudentsT::new(0.0, 1.0, self.freedom).map_or(1.0, |t| t.cdf(-distance / self.log_error))
    }

    /// Whether the whole interval lies within `log_margin` of a ratio of 1.
    #[must_use]
    pub fn is_inside(&self, log_margin: f64) -> bool {
        self.reach() <= log_margin
    }

    /// Returns the smallest difference that the data exclude: 0.03 means "a difference above 3 % either way is excluded".
    /// Infinite when the interval is unbounded. Both sides are tested at half the error each, so this is at least as strict as
    /// two one-sided tests: Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15:657-680.
    #[must_use]
    pub fn excluded_difference(&self) -> f64 {
        self.reach().exp() - 1.0
    }

    /// Returns the distance from a ratio of 1 to the farther end of the interval, in logarithms.
    fn reach(&self) -> f64 {
        if !self.is_bounded() {
            return f64::INFINITY;
        }
        quantile(0.5 + self.confidence / 2.0, self.freedom)
            .map_or(f64::INFINITY, |t| self.log_mean.abs() + t * self.log_error)
    }

    /// Returns roughly how many rounds in total would bring the interval inside `log_margin`, or all of it outside, if mean and
    /// spread stay the same. `None` when no practicable number would: the mean lies on the margin.
    #[must_use]
    pub fn rounds_to_decide(&self, log_margin: f64) -> Option<u32> {
        self.rounds_to_tell(log_margin - self.log_mean.abs())
    }

    /// Returns roughly how many rounds in total (for independent samples: on each side) would distinguish the ratio's logarithm
    /// from one at this `distance`. `None` when no practicable number would.
    #[must_use]
    pub fn rounds_to_tell(&self, distance: f64) -> Option<u32> {
        if !self.is_bounded() {
            return None;
        }
        let spread = self.log_error * count(self.n).sqrt();
        trials_for_spread(spread, self.confidence, distance.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::{paired_ratio, paired_ratio_trimmed, unpaired_ratio, unpaired_ratio_trimmed};
    use crate::trimmed_mean;

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

    /// One outlier of ten on one side: with trimming, that side is the mean of the other eight, with the winsorized error.
    #[test]
    fn of_independent_samples_outliers_are_cut_side_by_side() {
        let calm = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.2, 99.0, 101.0, 99.8];
        let mut wild = calm;
        wild[3] = 900.0;
        let plain = unpaired_ratio(&wild, &calm, 0.95).unwrap();
        let cut = unpaired_ratio_trimmed(&wild, &calm, 0.1, 0.95).unwrap();
        assert!(plain.high > 1.5 && cut.high < 1.02 && cut.n == 8, "{plain:?} {cut:?}");
        assert_eq!(
            unpaired_ratio_trimmed(&wild[..5], &calm[..5], 0.1, 0.95),
            unpaired_ratio(&wild[..5], &calm[..5], 0.95)
        );
        let logs = calm.map(f64::ln);
        let side = trimmed_mean(&logs, 0.1, 0.95).unwrap();
        let same = unpaired_ratio_trimmed(&calm, &calm, 0.1, 0.95).unwrap();
        let error = side.half_width() / crate::estimate::t_quantile(0.95, 8).unwrap() * 2.0_f64.sqrt();
        assert!((same.log_error - error).abs() < 1e-12 && (same.freedom - 14.0).abs() < 1e-9, "{same:?}");
        assert_eq!(unpaired_ratio_trimmed(&calm, &calm, 0.5, 0.95), None);
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

    /// By hand: logarithms 0, 0.02, 0.04 against -0.1, 0.1: variances 0.0004/3 and 0.02/2, ν = 0.0101333² / (0.000133333²/2 + 0.01²/1).
    #[test]
    fn welch_by_hand() {
        let exp = |logs: &[f64]| logs.iter().map(|x| x.exp()).collect::<Vec<_>>();
        let e = unpaired_ratio(&exp(&[0.0, 0.02, 0.04]), &exp(&[-0.1, 0.1]), 0.95).unwrap();
        assert!(
            (e.log_mean - 0.02).abs() < 1e-12 && (e.log_error - (4e-4 / 3.0 + 0.01_f64).sqrt()).abs() < 1e-8
        );
        let freedom = 0.010_133_333_f64.powi(2) / (0.000_133_333_f64.powi(2) / 2.0 + 1e-4);
        assert!((e.freedom - freedom).abs() < 1e-4, "{} {freedom}", e.freedom);
        assert_eq!(e.n, 2);
    }

    #[test]
    fn unpaired_turned_around_and_alone() {
        let (a, b) = ([1.0, 1.1, 0.9], [2.0, 2.2, 1.9, 2.05]);
        let (e, r) = (unpaired_ratio(&a, &b, 0.95).unwrap(), unpaired_ratio(&b, &a, 0.95).unwrap());
        assert!((e.low * r.high - 1.0).abs() < 1e-12 && (e.ratio * r.ratio - 1.0).abs() < 1e-12);
        assert!((e.p_above(0.1) - r.p_below(-0.1)).abs() < 1e-12);
        assert!((e.turned().low - r.low).abs() < 1e-12 && (e.turned().high - r.high).abs() < 1e-12);
        assert!(unpaired_ratio(&a, &a, 0.95).unwrap().ratio == 1.0);
        let alone = unpaired_ratio(&a, &[2.0], 0.95).unwrap();
        assert!(!alone.is_bounded() && alone.excluded_difference() == f64::INFINITY);
        assert_eq!((alone.p_beyond(0.0), alone.p_above(-9.0), alone.rounds_to_tell(0.1)), (1.0, 1.0, None));
        for (a, b) in [(&[][..], &[1.0][..]), (&[1.0], &[0.0]), (&[f64::NAN], &[1.0])] {
            assert_eq!(unpaired_ratio(a, b, 0.95), None);
        }
        assert_eq!(unpaired_ratio(&a, &b, 1.0), None);
        let still = unpaired_ratio(&[2.0; 3], &[1.0; 3], 0.95).unwrap();
        assert_eq!((still.p_beyond(0.0), still.low == still.high), (0.0, true));
    }

    /// One-sided p-values are the two halves of the two-sided one, and cross half the error at the interval's ends.
    #[test]
    fn one_sided_tests_agree_with_the_interval() {
        let e = paired_ratio(&[(1.05, 1.0), (1.1, 1.0), (1.07, 1.0), (1.02, 1.0)], 0.9).unwrap();
        assert!((e.p_above(e.low.ln()) - 0.05).abs() < 1e-9 && (e.p_below(e.high.ln()) - 0.05).abs() < 1e-9);
        assert!((e.p_above(0.0) + e.p_below(0.0) - 1.0).abs() < 1e-12);
        assert!((2.0 * e.p_above(0.0) - e.p_beyond(0.0)).abs() < 1e-9);
    }

    #[test]
    fn one_wild_pair_of_ten_is_trimmed_and_fewer_are_not() {
        let mut pairs: Vec<(f64, f64)> = (0..10).map(|i| (1.0 + f64::from(i) * 0.001, 1.0)).collect();
        pairs[9].0 = 50.0;
        let e = paired_ratio_trimmed(&pairs, 0.1, 0.95).unwrap();
        assert!(e.high < 1.02 && e.n == 8 && e.freedom == 7.0, "{e:?}");
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| a.ln() - b.ln()).collect();
        let direct = trimmed_mean(&logs, 0.1, 0.95).unwrap();
        assert!((e.low.ln() - direct.low).abs() < 1e-12);
        assert_eq!(paired_ratio_trimmed(&pairs[..9], 0.1, 0.95), paired_ratio(&pairs[..9], 0.95));
        assert_eq!(paired_ratio_trimmed(&pairs, 0.5, 0.95), None);
    }

    /// Two answers that rest on 10 trials each, ±10 %: Welch's degrees of freedom are 16 for equal errors.
    #[test]
    fn answers_of_searches_are_compared_by_welch() {
        let answer = |value: f64| super::Estimate {
            value,
            low: value / 1.1,
            high: value * 1.1,
            confidence: 0.95,
            n: 10,
        };
        let found = super::answers_ratio(&answer(300.0), &answer(200.0), 0.95).unwrap();
        assert!((found.ratio - 1.5).abs() < 1e-12 && (found.freedom - 16.0).abs() < 1e-9);
        // t(0.9875, 8) = 2.7515 (half of the error, as in a search), t(0.975, 16) = 2.120.
        let half = 2.120 * 2.0_f64.sqrt() * 1.1_f64.ln() / 2.7515;
        assert!((found.high.ln() - 1.5_f64.ln() - half).abs() < 1e-4, "{found:?}");
        let open = super::Estimate { low: f64::NEG_INFINITY, ..answer(1.0) };
        assert_eq!(super::answers_ratio(&open, &answer(1.0), 0.95), None);
        assert_eq!(super::answers_ratio(&answer(1.0), &super::Estimate { n: 2, ..answer(1.0) }, 0.95), None);
    }
}
