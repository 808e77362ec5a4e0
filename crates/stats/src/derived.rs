//! Figures derived from two estimates.

use crate::estimate::{Estimate, count, mean, standard_deviation, t_quantile, usable};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the ratio of the means of two independent sets of samples, by Fieller's theorem: all θ with (ā - θ b̄)² ≤ t² (vₐ + θ²
/// v_b). v are the variances of the means, and t has Welch-Satterthwaite degrees of freedom at θ = ā / b̄. Source: Fieller
/// (1954), JRSS B 16:175-185; degrees of freedom: Satterthwaite (1946), Biometrics Bulletin 2:110-114. For samples from the same
/// rounds, [`crate::paired_ratio`] is sharper.
///
/// Unbounded when either side has one sample, or when b̄ is not shown to differ from 0 (then no bounded interval can hold its
/// level: Gleser, Hwang 1987, Annals of Statistics 15:1351-1362). `None` as for [`crate::mean_t`] on either side, and when b̄ is
/// 0.
#[must_use]
pub fn quotient(a: &[f64], b: &[f64], confidence: f64) -> Option<Estimate> {
    if !usable(a, confidence) || !usable(b, confidence) {
        return None;
    }
    let (top, bottom) = (MeanOf::new(a), MeanOf::new(b));
    let value = Some(top.mean / bottom.mean).filter(|v| v.is_finite())?;
    let n = a.len().min(b.len());
    let unbounded = Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence, n };
    if n < 2 {
        return Some(unbounded);
    }
    let total = top.variance + value * value * bottom.variance;
    if total == 0.0 {
        return Some(Estimate { low: value, high: value, ..unbounded });
    }
    let parts =
        top.variance.powi(2) / top.freedom + (value * value * bottom.variance).powi(2) / bottom.freedom;
    let t = StudentsT::new(0.0, 1.0, total * total / parts).ok()?.inverse_cdf(0.5 + confidence / 2.0);
    let g = t * t * bottom.variance / (bottom.mean * bottom.mean);
    if !t.is_finite() || g >= 1.0 {
        return Some(unbounded);
    }
    let half = t / bottom.mean.abs() * (total - g * top.variance).max(0.0).sqrt() / (1.0 - g);
    let centre = value / (1.0 - g);
    Some(Estimate { low: centre - half, high: centre + half, ..unbounded })
}

/// Returns the ratio of the means of paired samples (a, b), e.g. of two metrics of the same trials, by Fieller's theorem with the
/// covariance: all θ for which the t interval of the mean of a - θb contains 0, that is (ā - θ b̄)² ≤ t² (vₐ - 2θ c + θ² v_b)
/// with n - 1 degrees of freedom. Exact for normal pairs, for any correlation. Source: Fieller (1954), as for [`quotient`].
///
/// Unbounded and `None` as for [`quotient`].
#[must_use]
pub fn paired_quotient(pairs: &[(f64, f64)], confidence: f64) -> Option<Estimate> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    if !usable(&a, confidence) || !usable(&b, confidence) {
        return None;
    }
    let (mean_a, mean_b, n) = (mean(&a), mean(&b), a.len());
    let value = Some(mean_a / mean_b).filter(|v| v.is_finite())?;
    let unbounded = Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence, n };
    if n < 2 {
        return Some(unbounded);
    }
    let products = |x: &[f64], mx: f64, y: &[f64], my: f64| {
        let sum: f64 = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum();
        sum / (count(n) - 1.0) / count(n)
    };
    let (var_a, var_b) = (products(&a, mean_a, &a, mean_a), products(&b, mean_b, &b, mean_b));
    let covariance = products(&a, mean_a, &b, mean_b);
    let t = t_quantile(confidence, n)?;
    let square = t * t;
    // (b̄² - t²v_b) θ² - 2 (āb̄ - t²c) θ + (ā² - t²vₐ) ≤ 0: an interval when the first is positive.
    let leading = mean_b * mean_b - square * var_b;
    if !square.is_finite() || leading <= 0.0 {
        return Some(unbounded);
    }
    let centre = (mean_a * mean_b - square * covariance) / leading;
    // The discriminant, in a form without cancellation of large terms: t² times the variance about θ = ā/b̄, minus a term that
    // Cauchy-Schwarz bounds.
    let about = var_a - 2.0 * value * covariance + value * value * var_b;
    let root = square * (mean_b * mean_b * about - square * (var_a * var_b - covariance * covariance));
    let half = root.max(0.0).sqrt() / leading;
    Some(Estimate { low: centre - half, high: centre + half, ..unbounded })
}

/// A mean, its variance and the degrees of freedom of that variance.
struct MeanOf {
    mean: f64,
    variance: f64,
    freedom: f64,
}

impl MeanOf {
    fn new(samples: &[f64]) -> Self {
        let (mean, n) = (mean(samples), count(samples.len()));
        Self { mean, variance: standard_deviation(samples, mean).powi(2) / n, freedom: n - 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{paired_quotient, quotient};
    use crate::mean_t;

    /// At each end θ the mean of a - θb lies exactly at the end of its own t interval about 0.
    #[test]
    fn paired_ends_are_where_the_t_interval_of_the_difference_touches_zero() {
        let pairs = [(20.0, 10.1), (21.0, 10.4), (19.2, 9.7), (20.4, 10.0)];
        let e = paired_quotient(&pairs, 0.9).unwrap();
        for end in [e.low, e.high] {
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - end * b).collect();
            let d = mean_t(&differences, 0.9).unwrap();
            assert!((d.value.abs() / d.half_width() - 1.0).abs() < 1e-9, "{end} {d:?}");
        }
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let apart = quotient(&a, &b, 0.9).unwrap();
        assert!(e.value == apart.value && e.high - e.low < apart.high - apart.low, "{e:?} {apart:?}");
    }

    #[test]
    fn what_moves_together_has_an_exact_quotient() {
        let e = paired_quotient(&[(20.0, 10.0), (22.0, 11.0), (18.0, 9.0)], 0.95).unwrap();
        assert!((e.value - 2.0).abs() < 1e-12 && e.half_width() < 1e-6, "{e:?}");
        assert!(!paired_quotient(&[(1.0, 2.0)], 0.95).unwrap().is_bounded());
        assert!(!paired_quotient(&[(1.0, -1.0), (2.0, 0.5), (3.0, 2.0)], 0.95).unwrap().is_bounded());
        assert_eq!(paired_quotient(&[], 0.95), None);
        assert_eq!(paired_quotient(&[(1.0, 0.0)], 0.95), None);
    }

    /// The ends are where equality holds: (ā - θ b̄)² = t² (vₐ + θ² v_b). Equal sizes and relative spreads give 2 (n-1) degrees
    /// of freedom: t(0.975, 4) = 2.7764.
    #[test]
    fn the_ends_solve_the_defining_equation() {
        let (a, b) = ([19.0, 20.0, 21.0], [9.5, 10.0, 10.5]);
        let e = quotient(&a, &b, 0.95).unwrap();
        assert_eq!(e.value, 2.0);
        for end in [e.low, e.high] {
            let left = (20.0 - end * 10.0).powi(2);
            let right = 2.776_445_f64.powi(2) * (1.0 / 3.0 + end * end * 0.25 / 3.0);
            assert!((left / right - 1.0).abs() < 1e-5, "{end}: {left} {right}");
        }
        assert!(e.high - e.value > e.value - e.low, "skewed, as a ratio is");
    }

    #[test]
    fn an_exact_divisor_leaves_the_interval_of_the_dividend() {
        let a = [19.0, 20.0, 22.0];
        let e = quotient(&a, &[10.0, 10.0, 10.0], 0.95).unwrap();
        let m = mean_t(&a, 0.95).unwrap().scaled(0.1).unwrap();
        assert!((e.low - m.low).abs() < 1e-9 && (e.high - m.high).abs() < 1e-9, "{e:?} {m:?}");
    }

    #[test]
    fn a_divisor_that_may_be_zero_bounds_nothing() {
        assert!(!quotient(&[1.0, 2.0, 3.0], &[-1.0, 0.5, 2.0], 0.95).unwrap().is_bounded());
        assert!(!quotient(&[1.0], &[1.0, 2.0], 0.95).unwrap().is_bounded());
        assert_eq!(quotient(&[1.0], &[0.0], 0.95), None);
        assert_eq!(quotient(&[], &[1.0], 0.95), None);
    }

    #[test]
    fn scaling_takes_positive_factors_only() {
        let e = mean_t(&[1.0, 2.0], 0.95).unwrap();
        assert_eq!(e.scaled(-1.0), None);
        assert_eq!(e.scaled(f64::NAN), None);
        assert_eq!(e.scaled(2.0).unwrap().value, 3.0);
    }
}
