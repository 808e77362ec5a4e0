//! Tests of the order of rounds: trend, a different first round, autocorrelation.

use crate::estimate::{Estimate, count, mean, standard_deviation, t_quantile};
use crate::permutation::p_value;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A trend over rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Least-squares slope: change per round.
    pub per_round: Estimate,
    /// Slope divided by the mean: relative change per round.
    pub relative: f64,
    /// P-value against "the order of the rounds doesn't matter".
    pub p: f64,
    /// P-value by Student's t of the slope. It assumes normal trials, but can be smaller than the p-value of an order of six
    /// rounds (at least 2 of 720), which many simultaneous tests need.
    pub p_student: f64,
}

/// Returns the least-squares slope over rounds b = Σ (i - ī) xᵢ / Σ (i - ī)², with the t interval on n - 2 degrees of freedom,
/// and the permutation p-value of its magnitude. The latter is exact at small n for any distribution of independent trials, while
/// the tail of t assumes normality. Source: Draper, Smith (1998), "Applied Regression Analysis", 1.4; Pitman (1937), JRSS
/// Supplement 4:225-232, for the permutation test.
///
/// `None` for fewer than four rounds (no order is unusual enough), no spread, or samples that aren't finite.
#[must_use]
pub fn trend(samples: &[f64], confidence: f64) -> Option<Trend> {
    let centred = centred(samples, 4)?;
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let n = samples.len();
    let steps: Vec<f64> = (0..n).map(|i| count(i) - (count(n) - 1.0) / 2.0).collect();
    let squares: f64 = steps.iter().map(|s| s * s).sum();
    let product = |order: &[usize]| order.iter().zip(&steps).map(|(r, s)| centred[*r] * s).sum::<f64>();
    let slope = steps.iter().zip(&centred).map(|(s, x)| s * x).sum::<f64>() / squares;
    let left: f64 = steps.iter().zip(&centred).map(|(s, x)| (x - slope * s).powi(2)).sum();
    let error = (left / (count(n) - 2.0) / squares).sqrt();
    let half = t_quantile(confidence, n - 1)? * error;
    let per_round = Estimate { value: slope, low: slope - half, high: slope + half, confidence, n };
    let p = p_value(n, |order| product(order).abs());
    let t = StudentsT::new(0.0, 1.0, count(n) - 2.0).ok()?;
    let far = slope.abs() / error;
    // Infinite: a perfect line; NaN: values too large to be squared.
    let p_student = match far.is_finite() {
        true => 2.0 * t.cdf(-far),
        false if far.is_nan() => 1.0,
        false => 0.0,
    };
    Some(Trend { per_round, relative: slope / mean(samples).abs(), p, p_student })
}

/// A first round that differs from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstRound {
    /// The first round divided by the mean of the others.
    pub ratio: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// Tests whether the first round differs from the others (cold caches, an empty journal, a burst): t = (x₁ - m) / (s √(1 +
/// 1/(n-1))), with mean and spread of the others and n - 2 degrees of freedom, which inverts a prediction interval. Source: Hahn
/// (1969), JASA 64:878-888. `None` for fewer than four rounds, no spread among the others, or samples that aren't finite.
#[must_use]
pub fn first_round(samples: &[f64]) -> Option<FirstRound> {
    centred(samples, 4)?;
    let (first, others) = samples.split_first()?;
    let m = mean(others);
    let spread = standard_deviation(others, m) * (1.0 + 1.0 / count(others.len())).sqrt();
    let t = StudentsT::new(0.0, 1.0, count(others.len()) - 1.0).ok()?;
    let far = (first - m).abs() / spread;
    (spread > 0.0 && far.is_finite()).then(|| FirstRound { ratio: first / m, p: 2.0 * t.cdf(-far) })
}

/// How much a round resembles the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Autocorrelation {
    /// Lag-1 autocorrelation, corrected for its bias at small n, between -1 and 1.
    pub rho: f64,
    /// Number of independent rounds with the same information: n (1 - ρ) / (1 + ρ), between 1 and n.
    pub effective_n: f64,
    /// One-sided p-value against "the order of the rounds doesn't matter".
    pub p: f64,
}

/// Returns the lag-1 autocorrelation r₁ = Σ (xᵢ - x̄)(xᵢ₊₁ - x̄) / Σ (xᵢ - x̄)². Its mean is ρ - (1 + 4ρ) / n to first order, so
/// ρ̂ = (n r₁ + 1) / (n - 4). The p-value is that of the serial permutation test, one-sided: only positive autocorrelation makes
/// intervals too narrow. Source: Marriott, Pope (1954), Kendall (1954), Biometrika 41:390-404, for the bias; Wald, Wolfowitz
/// (1943), Annals of Mathematical Statistics 14:378-388, for the test; Bayley, Hammersley (1946), JRSS Supplement 8:184-197, for
/// the effective number.
///
/// `None` for fewer than six rounds, no spread, or samples that aren't finite.
#[must_use]
pub fn autocorrelation(samples: &[f64]) -> Option<Autocorrelation> {
    let centred = centred(samples, 6)?;
    let n = count(samples.len());
    let squares: f64 = centred.iter().map(|x| x * x).sum();
    let product = |order: &[usize]| order.windows(2).map(|w| centred[w[0]] * centred[w[1]]).sum::<f64>();
    let r = centred.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / squares;
    let rho = unbiased(r, n);
    let effective_n = (n * (1.0 - rho.max(0.0)) / (1.0 + rho.max(0.0))).max(1.0);
    Some(Autocorrelation { rho, effective_n, p: p_value(samples.len(), product) })
}

/// Returns r₁ without its bias at small n.
pub(crate) fn unbiased(r: f64, n: f64) -> f64 {
    ((n * r + 1.0) / (n - 4.0)).clamp(-1.0, 1.0)
}

/// Returns the samples minus their mean; `None` when there are too few, one isn't finite, or they have no spread.
fn centred(samples: &[f64], least: usize) -> Option<Vec<f64>> {
    if samples.len() < least || samples.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let m = mean(samples);
    let centred: Vec<f64> = samples.iter().map(|x| x - m).collect();
    centred.iter().any(|x| *x != 0.0).then_some(centred)
}

#[cfg(test)]
mod tests {
    use super::{autocorrelation, first_round, trend};

    #[test]
    fn a_straight_line_is_the_oddest_order_of_all() {
        let t = trend(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        assert!((t.p - 2.0 / 720.0).abs() < 1e-12, "one order of 720 each way: {}", t.p);
        assert!((t.per_round.value - 1.0).abs() < 1e-12 && t.per_round.half_width() < 1e-6);
        assert!((t.relative - 1.0 / 3.5).abs() < 1e-12);
    }

    /// By hand: x = 1, 3, 2, 4 has slope 0.8, Σ(i-ī)² = 5, residual squares 1.8; t(0.975, 2) = 4.3027.
    #[test]
    fn slope_and_interval_by_hand() {
        let t = trend(&[1.0, 3.0, 2.0, 4.0], 0.95).unwrap();
        assert!((t.per_round.value - 0.8).abs() < 1e-12);
        assert!((t.per_round.half_width() - 4.302_652_73 * (0.9_f64 / 5.0).sqrt()).abs() < 1e-6);
        // |Σ s x| ≥ 4: of 24 orders those with 5 (2) and with 4 (6), by counting.
        assert!((t.p - 8.0 / 24.0).abs() < 1e-12, "{}", t.p);
        // t = 0.8 / √(0.9 / 5) = 1.886 on 2 degrees of freedom, where the tail is 1 - t / √(2 + t²): 1 - √0.64.
        assert!((t.p_student - 0.2).abs() < 1e-9, "{}", t.p_student);
        assert_eq!(trend(&[0.0, 1.0, 2.0, 3.0], 0.95).unwrap().p_student, 0.0);
    }

    #[test]
    fn a_cold_first_round_is_seen() {
        let f = first_round(&[50.0, 99.0, 101.0, 100.0, 98.0, 102.0]).unwrap();
        assert!((f.ratio - 0.5).abs() < 1e-12 && f.p < 1e-3);
        // By hand: others 1, 2, 3: mean 2, s 1, so t = 2 / √(4/3) = 1.732 on 2 degrees of freedom: p = 0.2254.
        let f = first_round(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert!((f.p - 0.2254).abs() < 1e-4, "{}", f.p);
    }

    /// By hand: 1, 2, 3, 1, 2, 3: centred products -1·0, 0·1, 1·-1, -1·0, 0·1 = -1, squares 4: r = -0.25, corrected -0.25.
    #[test]
    fn autocorrelation_by_hand() {
        let a = autocorrelation(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]).unwrap();
        assert!((a.rho + 0.25).abs() < 1e-12 && (a.effective_n - 6.0).abs() < 1e-12);
        let long = autocorrelation(&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]).unwrap();
        assert!(long.p < 0.05 && long.rho > 0.8 && long.effective_n < 2.0, "{long:?}");
    }

    #[test]
    fn too_few_or_equal_samples_show_nothing() {
        assert_eq!(trend(&[1.0, 2.0, 3.0], 0.95), None);
        assert_eq!(trend(&[1.0; 6], 0.95), None);
        assert_eq!(first_round(&[1.0, 2.0, 2.0, 2.0]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0, 1.0, 2.0, 1.0]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0, 1.0, 2.0, 1.0, f64::NAN]), None);
    }
}
