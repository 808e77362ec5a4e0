//! Mean or trimmed mean with its standard error, from which intervals are made.

use crate::estimate::{Estimate, count, mean, standard_deviation, t_quantile, usable};

/// A mean or trimmed mean with its standard error.
#[derive(Debug, Clone)]
pub(crate) struct Centre {
    pub(crate) value: f64,
    /// Standard error; infinite with too few samples.
    pub(crate) error: f64,
    /// Number of samples that are kept; the error has one degree of freedom less.
    pub(crate) kept: usize,
    pub(crate) n: usize,
    /// The samples in their order; trimmed ones are replaced by the nearest kept one.
    pub(crate) in_order: Vec<f64>,
}

impl Centre {
    /// Returns the mean, or the trimmed mean without the share `trim` of the samples on each side (see [`crate::trimmed_mean`]).
    /// `None` when there are no samples, a sample or the mean isn't finite, or `trim` isn't in 0 .. 0.5.
    pub(crate) fn of(samples: &[f64], trim: Option<f64>) -> Option<Self> {
        let share = trim.unwrap_or(0.0);
        if !usable(samples, 0.5) || !(0.0..0.5).contains(&share) {
            return None;
        }
        let n = samples.len();
        let cut = trimmed_per_side(n, share);
        if cut == 0 {
            let value = Some(mean(samples)).filter(|m| m.is_finite())?;
            let error = standard_deviation(samples, value) / count(n).sqrt();
            return Some(Self { value, error: bounded(error, n), kept: n, n, in_order: samples.to_vec() });
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let kept = &sorted[cut..n - cut];
        let value = Some(mean(kept)).filter(|m| m.is_finite())?;
        let h = kept.len();
        let in_order: Vec<f64> = samples.iter().map(|x| x.clamp(kept[0], kept[h - 1])).collect();
        let centre = mean(&in_order);
        let squares: f64 = in_order.iter().map(|x| (x - centre).powi(2)).sum();
        let error = (squares / (count(h) * (count(h) - 1.0))).sqrt();
        Some(Self { value, error: bounded(error, h), kept: h, n, in_order })
    }

    /// Returns Student's interval; unbounded with too few samples.
    pub(crate) fn student(&self, confidence: f64) -> Option<Estimate> {
        let reach = if self.kept < 2 { f64::INFINITY } else { t_quantile(confidence, self.kept)? };
        Some(self.within(reach, confidence))
    }

    /// Returns the interval of this many standard errors on each side.
    pub(crate) fn within(&self, errors: f64, confidence: f64) -> Estimate {
        let (value, n) = (self.value, self.n);
        let half = if errors.is_finite() { errors * self.error } else { f64::INFINITY };
        if !half.is_finite() {
            return Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence, n };
        }
        Estimate { value, low: value - half, high: value + half, confidence, n }
    }

    /// Returns the standard deviation of one sample that gives this error.
    pub(crate) fn spread(&self) -> f64 {
        self.error * count(self.n).sqrt()
    }
}

fn bounded(error: f64, kept: usize) -> f64 {
    if kept < 2 || !error.is_finite() { f64::INFINITY } else { error }
}

/// Returns ⌊share · n⌋.
pub(crate) fn trimmed_per_side(n: usize, share: f64) -> usize {
    (1..=n / 2).take_while(|g| count(*g) <= share * count(n) + 1e-9 && 2 * g < n).last().unwrap_or(0)
}
