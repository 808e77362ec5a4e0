//! An anytime-valid interval: it holds its level at any number of looks and for any reason to stop.

use crate::centre::Centre;
use crate::estimate::{Estimate, count, usable};

/// Variance of the prior on the effect size (mean over spread). It gives the narrowest intervals for effects of about two
/// spreads, between 6 and 20 rounds. Any value gives a valid interval.
const PRIOR_VARIANCE: f64 = 4.0;

/// Returns the mean with an anytime-valid interval, for normal samples of unknown spread. The probability that the interval
/// *ever* misses, at any number of samples, is at most 1 - confidence. So the run may look after every round and stop at any of
/// them.
///
/// The interval has every m for which the Bayes factor against "the mean is m" stays below 1/α. With a normal prior of variance
/// τ² on the effect size and the right Haar measure on the spread, B = (1 + nτ²)^-½ · [(1 + t²/ν) / (1 + t²/(ν (1 + nτ²)))]^(n/2)
/// with ν = n - 1. Under the hypothesis it is a nonnegative martingale of mean 1, so Ville's inequality bounds its maximum.
/// Source: Lai (1976), Annals of Statistics 4:265-280; Wang, Ramdas (2023), "Anytime-valid t-tests and confidence sequences for
/// Gaussian means with unknown variance", arXiv:2310.03722 (the test martingale in the reduced filtration).
///
/// Unbounded for the first few samples, where no evidence can reach 1/α. `None` as for [`crate::mean_t`].
#[must_use]
pub fn mean_anytime(samples: &[f64], confidence: f64) -> Option<Estimate> {
    if !usable(samples, confidence) {
        return None;
    }
    Some(anytime(&Centre::of(samples, None)?, confidence))
}

/// The same for a mean or a trimmed mean; the samples of a trimmed mean are the kept ones, as in [`crate::trimmed_mean`].
pub(crate) fn anytime(centre: &Centre, confidence: f64) -> Estimate {
    centre.within(anytime_quantile(confidence, centre.kept).unwrap_or(f64::INFINITY), confidence)
}

/// Returns the value that replaces Student's quantile: the largest |t| at which the Bayes factor stays below 1/α; `None` where it
/// always does.
fn anytime_quantile(confidence: f64, n: usize) -> Option<f64> {
    anytime_quantile_of(PRIOR_VARIANCE, confidence, n)
}

/// The same for a prior of this variance.
pub(crate) fn anytime_quantile_of(prior_variance: f64, confidence: f64, n: usize) -> Option<f64> {
    if n < 2 {
        return None;
    }
    let grown = 1.0 + count(n) * prior_variance;
    let bar = (grown.sqrt() / (1.0 - confidence)).powf(2.0 / count(n));
    let room = 1.0 - bar / grown;
    (room > 0.0).then(|| ((count(n) - 1.0) * (bar - 1.0) / room).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{PRIOR_VARIANCE, anytime_quantile, mean_anytime};
    use crate::mean_t;

    /// At the quantile, the Bayes factor from its definition is exactly 1/α.
    #[test]
    fn at_the_quantile_the_evidence_is_one_over_alpha() {
        for (confidence, n) in [(0.95, 4_u32), (0.95, 10), (0.99, 30), (0.8, 5)] {
            let t = anytime_quantile(confidence, n as usize).unwrap();
            let (nu, grown) = (f64::from(n) - 1.0, 1.0 + f64::from(n) * PRIOR_VARIANCE);
            let u = t * t / nu;
            let factor = grown.powf(-0.5) * ((1.0 + u) / (1.0 + u / grown)).powf(f64::from(n) / 2.0);
            assert!((factor * (1.0 - confidence) - 1.0).abs() < 1e-9, "{factor}");
        }
    }

    /// Under the hypothesis the factor is a martingale of mean 1: for n = 2 (|t| Cauchy) by numerical integration.
    #[test]
    fn the_evidence_has_mean_one_under_the_hypothesis() {
        let grown = 1.0 + 2.0 * PRIOR_VARIANCE;
        let steps = 200_000_u32;
        let total: f64 = (0..steps)
            .map(|i| {
                let angle = (f64::from(i) + 0.5) / f64::from(steps) * std::f64::consts::FRAC_PI_2;
                let u = angle.tan().powi(2);
                grown.powf(-0.5) * (1.0 + u) / (1.0 + u / grown)
            })
            .sum();
        let mean = total / f64::from(steps);
        assert!((mean - 1.0).abs() < 1e-3, "{mean}");
    }

    /// A run that stops because two cells differ also shows this in its answer: the answer's test, Student's at half of the error
    /// and with the strictest Holm adjustment, is never stricter than the interval that the run stopped by.
    #[test]
    fn whoever_stops_by_this_is_told_apart_by_students_test_at_half_of_the_error() {
        for n in 4..400 {
            for family in [1.0, 2.0, 3.0, 6.0, 10.0, 45.0, 190.0, 4950.0] {
                for error in [0.01, 0.05, 0.1, 0.2] {
                    let Some(stop) = anytime_quantile(1.0 - error / family, n) else { continue };
                    let told = crate::estimate::t_quantile(1.0 - error / family / 2.0, n).unwrap();
                    assert!(told <= stop, "{n} rounds, {family} pairs at {error}: {told} > {stop}");
                }
            }
        }
    }

    #[test]
    fn wider_than_students_and_unbounded_at_first() {
        let samples = [99.0, 101.0, 100.0, 102.0, 98.0, 100.0, 101.0, 99.0];
        let (any, t) = (mean_anytime(&samples, 0.95).unwrap(), mean_t(&samples, 0.95).unwrap());
        assert!(any.low < t.low && any.high > t.high && any.value == t.value);
        assert!(!mean_anytime(&samples[..3], 0.95).unwrap().is_bounded());
        assert!(!mean_anytime(&samples[..1], 0.95).unwrap().is_bounded());
        assert_eq!(mean_anytime(&[], 0.95), None);
        assert_eq!(mean_anytime(&[1.0, f64::NAN], 0.95), None);
    }
}
