//! Means with Student's t interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A number with its interval. Neither exists without the other: where the data give no interval, it is unbounded, never of width zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end; minus infinity when one sample gives no interval.
    pub low: f64,
    /// Upper end; infinity when one sample gives no interval.
    pub high: f64,
    /// Confidence of the interval, between 0 and 1.
    pub confidence: f64,
    /// Number of samples.
    pub n: usize,
}

impl Estimate {
    /// Whether the interval is bounded.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// Returns half the width of the interval; infinite when it is unbounded.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Returns the half-width divided by the magnitude of the estimate; infinite when the interval is unbounded, or when the
    /// estimate is 0 and the half-width isn't.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        let half = self.half_width();
        if half == 0.0 { 0.0 } else { half / self.value.abs() }
    }

    /// Returns the same estimate in another unit: value and ends times `factor`. A derived figure with an exactly known constant
    /// (IOPS per dollar at a list price) needs no more, because a constant adds no uncertainty. `None` unless the factor is
    /// positive and finite.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Option<Self> {
        let usable = factor.is_finite() && factor > 0.0;
        let Self { value, low, high, .. } = self;
        usable.then_some(Self { value: value * factor, low: low * factor, high: high * factor, ..self })
    }
}

/// Whether an estimate is possible: there are samples, all are finite, and the confidence is strictly between 0 and 1.
pub(crate) fn usable(samples: &[f64], confidence: f64) -> bool {
    !samples.is_empty() && confidence > 0.0 && confidence < 1.0 && samples.iter().all(|x| x.is_finite())
}

/// Returns the mean of independent samples with a two-sided t interval: mean ± t(1 - (1-c)/2, n-1) · s / √n, where s is the
/// sample standard deviation (n-1 in the denominator). Source: Student (1908), "The Probable Error of a Mean", Biometrika 6:1;
/// NIST/SEMATECH e-Handbook 1.3.5.2. The samples must be trials: seconds within one trial are not independent.
///
/// `None` when there are no samples, one isn't finite, or `confidence` isn't strictly between 0 and 1.
#[must_use]
pub fn mean_t(samples: &[f64], confidence: f64) -> Option<Estimate> {
    if !usable(samples, confidence) {
        return None;
    }
    let n = samples.len();
    let value = Some(mean(samples)).filter(|m| m.is_finite())?;
    let unbounded = Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence, n };
    if n == 1 {
        return Some(unbounded);
    }
    let half = t_quantile(confidence, n)? * standard_deviation(samples, value) / count(n).sqrt();
    if !half.is_finite() {
        return Some(unbounded);
    }
    Some(Estimate { low: value - half, high: value + half, ..unbounded })
}

/// Returns roughly how many samples in total would reduce the relative half-width to `target`, if the spread stays the same.
/// `None` when the samples give no estimate (fewer than two, no spread at all, mean 0) or the target isn't positive.
///
/// The result is the smallest m with t(c, m) · s / √m ≤ target · |mean|. It is only a forecast: s is itself an estimate.
#[must_use]
pub fn trials_for(samples: &[f64], confidence: f64, target: f64) -> Option<u32> {
    let now = mean_t(samples, confidence)?;
    let spread = standard_deviation(samples, now.value);
    if samples.len() < 2 || spread == 0.0 {
        return None;
    }
    trials_for_spread(spread, confidence, target * now.value.abs())
}

/// Returns roughly how many samples in total would narrow an interval over `n` samples from this half-width to the half-width `wanted`,
/// if the spread stays the same: the smallest m with t(c, m) / √m · (half · √n / t(c, n)) ≤ wanted, which is n · (half / wanted)² but for
/// the quantiles. With few samples it is a poor forecast, because the half-width is itself an estimate.
///
/// `None` when there are fewer than two samples, when the interval has no width, or when no practicable number would do.
#[must_use]
pub fn rounds_to_narrow(half_width: f64, n: usize, confidence: f64, wanted: f64) -> Option<u32> {
    let sound = n >= 2 && half_width.is_finite() && half_width > 0.0;
    let spread = half_width * count(n).sqrt() / t_quantile(confidence, n).filter(|_| sound)?;
    trials_for_spread(spread, confidence, wanted)
}

/// Returns the smallest m with t(c, m) · spread / √m ≤ wanted; `None` when no practicable number does.
pub(crate) fn trials_for_spread(spread: f64, confidence: f64, wanted: f64) -> Option<u32> {
    const MOST: u32 = 100_000;
    if wanted.is_nan() || wanted <= 0.0 {
        return None;
    }
    let tight = |m: u32| {
        t_quantile(confidence, m as usize).is_some_and(|t| t * spread / f64::from(m).sqrt() <= wanted)
    };
    // Finds the first step that is far enough, then the place between it and the step before.
    let (mut too_few, mut enough) = (1, 4);
    while !tight(enough) {
        if enough == MOST {
            return None;
        }
        too_few = enough;
        enough = (enough * 2).min(MOST);
    }
    while enough - too_few > 1 {
        let middle = u32::midpoint(too_few, enough);
        if tight(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough)
}

/// Returns the arithmetic mean, computed relative to the first sample, so that large equal samples give exactly their value.
pub(crate) fn mean(samples: &[f64]) -> f64 {
    let origin = samples[0];
    origin + samples.iter().map(|x| x - origin).sum::<f64>() / count(samples.len())
}

/// Returns the sample standard deviation about `mean`; 0 for one sample.
pub(crate) fn standard_deviation(samples: &[f64], mean: f64) -> f64 {
    if samples.len() < 2 {
        return 0.0;
    }
    let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (count(samples.len()) - 1.0)).sqrt()
}

/// Returns the two-sided quantile of Student's t for `n` samples.
pub(crate) fn t_quantile(confidence: f64, n: usize) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, count(n) - 1.0).ok()?;
    Some(t.inverse_cdf(0.5 + confidence / 2.0))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of samples are far below 2^52")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::{mean_t, rounds_to_narrow, t_quantile, trials_for};

    /// NIST/SEMATECH e-Handbook 1.3.6.7.2 and, for 0.9999, R's qt().
    #[test]
    fn t_quantiles_agree_with_the_tables() {
        for (confidence, n, table) in [
            (0.95, 2, 12.706),
            (0.95, 3, 4.303),
            (0.95, 5, 2.776),
            (0.95, 11, 2.228),
            (0.99, 6, 4.032),
            (0.90, 31, 1.697),
            (0.95, 1001, 1.962),
        ] {
            let t = t_quantile(confidence, n).unwrap();
            assert!((t - table).abs() < 6e-4, "t({confidence}, {n}) = {t}, table {table}");
        }
    }

    /// A small example by hand: 9, 10, 11 -> 10 ± 4.303 / √3.
    #[test]
    fn a_small_case_by_hand() {
        let e = mean_t(&[9.0, 10.0, 11.0], 0.95).unwrap();
        assert_eq!((e.value, e.n, e.confidence), (10.0, 3, 0.95));
        assert!((e.half_width() - 4.302_652_73 / 3.0_f64.sqrt()).abs() < 1e-6);
        assert!((e.relative_half_width() - e.half_width() / 10.0).abs() < 1e-12);
    }

    #[test]
    fn one_sample_has_no_interval_and_not_one_of_width_zero() {
        let e = mean_t(&[80.0], 0.95).unwrap();
        assert!(!e.is_bounded());
        assert_eq!((e.low, e.high), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(e.relative_half_width(), f64::INFINITY);
    }

    #[test]
    fn nonsense_has_no_estimate() {
        for samples in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert_eq!(mean_t(samples, 0.95), None);
        }
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(mean_t(&[1.0, 2.0], confidence), None);
        }
    }

    #[test]
    fn equal_samples_give_exactly_themselves() {
        let e = mean_t(&[0.1, 0.1, 0.1], 0.95).unwrap();
        assert_eq!((e.value, e.low, e.high), (0.1, 0.1, 0.1));
    }

    #[test]
    fn a_half_width_forecasts_what_its_samples_forecast() {
        let samples = [95.0, 100.0, 105.0, 118.0];
        let e = mean_t(&samples, 0.95).unwrap();
        for target in [0.2, 0.1, 0.03, 0.01] {
            let by_width = rounds_to_narrow(e.half_width(), e.n, 0.95, target * e.value);
            assert_eq!(by_width, trials_for(&samples, 0.95, target), "{target}");
        }
        // The case: 1,100 ± 1,800 from two rounds. The spread is 200, so 15.5 rounds by hand: t(15) · 200 / √15.5 = 108.
        assert_eq!(rounds_to_narrow(1800.0, 2, 0.95, 110.0), Some(16));
        assert_eq!(rounds_to_narrow(1800.0, 1, 0.95, 110.0), None);
        assert_eq!(rounds_to_narrow(0.0, 3, 0.95, 1.0), None);
        assert_eq!(rounds_to_narrow(f64::INFINITY, 3, 0.95, 1.0), None);
        assert_eq!(rounds_to_narrow(1.0, 3, 0.95, 0.0), None);
    }

    #[test]
    fn forecast_of_samples_is_the_smallest_that_suffices() {
        let samples = [95.0, 100.0, 105.0];
        let m = trials_for(&samples, 0.95, 0.05).unwrap();
        let half = |m: u32| t_quantile(0.95, m as usize).unwrap() * 5.0 / f64::from(m).sqrt();
        assert!(half(m) <= 5.0 && half(m - 1) > 5.0, "{m}");
        assert_eq!(trials_for(&[100.0], 0.95, 0.05), None);
        assert_eq!(trials_for(&[100.0, 100.0], 0.95, 0.05), None);
        assert_eq!(trials_for(&[0.0, 1.0, -1.0], 0.95, 0.05), None);
        assert_eq!(trials_for(&[1.0, 2.0], 0.95, 0.0), None);
    }
}
