//! Centres other than the mean: median, trimmed mean, geometric mean.

use crate::centre::Centre;
use crate::estimate::{Estimate, count, mean_t, usable};

/// Returns the median with the distribution-free interval of order statistics: [x₍ₖ₎, x₍ₙ₊₁₋ₖ₎] with the largest k for which 1 -
/// 2·P(Binomial(n, ½) < k) ≥ confidence. That probability is exact for any continuous distribution and a lower bound for others.
/// The estimate's `confidence` is the reached one, never below the requested one. Source: David, Nagaraja (2003), "Order
/// Statistics", 3rd ed., 7.1; Thompson (1936), Annals of Mathematical Statistics 7:122-128.
///
/// Below a number of samples (6 at 95 %), not even the whole range covers the median often enough, so there is no interval
/// without an assumption about the distribution. The interval is unbounded then, with the requested confidence.
///
/// `None` when there are no samples, one isn't finite, or `confidence` isn't strictly between 0 and 1.
#[must_use]
pub fn median(samples: &[f64], confidence: f64) -> Option<Estimate> {
    if !usable(samples, confidence) {
        return None;
    }
    let n = samples.len();
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let value = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    let Some((below, reached)) = rank_of_lower_end(n, confidence) else {
        return Some(Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence, n });
    };
    Some(Estimate { value, low: sorted[below], high: sorted[n - 1 - below], confidence: reached, n })
}

/// Returns how many samples lie below the lower end of the interval, and the confidence that this gives.
fn rank_of_lower_end(n: usize, confidence: f64) -> Option<(usize, f64)> {
    let mut best = None;
    let mut log_term = -count(n) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for below in 0..n / 2 {
        tail += log_term.exp();
        let reached = 1.0 - 2.0 * tail;
        if reached < confidence {
            break;
        }
        best = Some((below, reached));
        log_term += (count(n - below) / count(below + 1)).ln();
    }
    best
}

/// Returns the mean without the `share` lowest and highest samples (0.1: a tenth on each side, rounded down), with the t interval
/// from the winsorized variance: g = ⌊share · n⌋, h = n - 2g, x̄ₜ ± t(h - 1) · √(SSD_w / (h (h - 1))). SSD_w is the sum of
/// squared deviations when the g outer samples on each side are replaced by the nearest kept one. Source: Tukey, McLaughlin
/// (1963), Sankhyā A 25:331-352; Yuen (1974), Biometrika 61:165-170.
///
/// With too few samples to trim any (fewer than 10 at 0.1), this is the mean with Student's interval. It estimates the trimmed
/// mean of the distribution, which differs from its mean if the distribution is skewed. So outliers are trimmed only where the
/// experiment requests it.
///
/// `None` as for [`median`], and when `share` isn't in 0 .. 0.5.
#[must_use]
pub fn trimmed_mean(samples: &[f64], share: f64, confidence: f64) -> Option<Estimate> {
    if !usable(samples, confidence) {
        return None;
    }
    Centre::of(samples, Some(share))?.student(confidence)
}

/// Returns the geometric mean, for values that are ratios by nature: exp of the mean of the logarithms, with the t interval on
/// them. Source: the t interval of [`mean_t`] under a monotone map, which keeps its level; Fleming, Wallace (1986), CACM
/// 29:218-221 for why ratios are averaged in this way.
///
/// `None` as for [`median`], and when a sample isn't positive. With one sample the interval is 0 to infinity.
#[must_use]
pub fn geometric_mean(samples: &[f64], confidence: f64) -> Option<Estimate> {
    if samples.iter().any(|x| *x <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = samples.iter().map(|x| x.ln()).collect();
    let e = mean_t(&logs, confidence)?;
    Some(Estimate { value: e.value.exp(), low: e.low.exp(), high: e.high.exp(), ..e })
}

#[cfg(test)]
mod tests {
    use super::{geometric_mean, median, rank_of_lower_end, trimmed_mean};
    use crate::mean_t;

    /// Ranks and confidences from the tables of Conover, "Practical Nonparametric Statistics", for 95 %: n = 6: 1st and 6th,
    /// 0.9688; n = 10: 2nd and 9th, 0.9785; n = 20: 6th and 15th, 0.9586.
    #[test]
    fn ranks_agree_with_the_tables() {
        for (n, rank, reached) in [(6, 1, 0.968_75), (9, 2, 0.9609), (10, 2, 0.9785), (20, 6, 0.9586)] {
            let (below, got) = rank_of_lower_end(n, 0.95).unwrap();
            assert_eq!(below + 1, rank, "n = {n}");
            assert!((got - reached).abs() < 1e-4, "n = {n}: {got}");
        }
        assert_eq!(rank_of_lower_end(5, 0.95), None);
        assert_eq!(rank_of_lower_end(5, 0.93), Some((0, 0.9375)));
    }

    #[test]
    fn median_of_few_has_no_interval_and_of_many_has_order_statistics() {
        let five = median(&[3.0, 1.0, 2.0, 5.0, 4.0], 0.95).unwrap();
        assert!(five.value == 3.0 && !five.is_bounded() && five.confidence == 0.95);
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let e = median(&ten, 0.95).unwrap();
        assert_eq!((e.value, e.low, e.high, e.n), (5.5, 2.0, 9.0, 10));
        assert!(e.confidence > 0.978 && e.confidence < 0.979);
    }

    #[test]
    fn a_thousand_samples_do_not_underflow() {
        let many: Vec<f64> = (0..5000).map(f64::from).collect();
        let e = median(&many, 0.95).unwrap();
        let half_ranks = 1.96 * 5000.0_f64.sqrt() / 2.0;
        assert!((e.half_width() - half_ranks).abs() < 2.0, "{e:?}");
    }

    /// By hand: 10 samples, one trimmed on each side; winsorized 2, 2, 3 ... 9, 9: SSD = 66.5, h = 8, t(0.975, 7) = 2.3646.
    #[test]
    fn trimmed_mean_by_hand() {
        let samples = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1000.0];
        let e = trimmed_mean(&samples, 0.1, 0.95).unwrap();
        assert!((e.value - 5.5).abs() < 1e-12);
        let half = 2.364_624 * (66.5_f64 / 56.0).sqrt();
        assert!((e.half_width() - half).abs() < 1e-5, "{} {half}", e.half_width());
        assert_eq!(e.n, 10);
    }

    #[test]
    fn nothing_to_trim_is_the_mean() {
        let samples = [1.0, 2.0, 4.0, 8.0, 16.0];
        assert_eq!(trimmed_mean(&samples, 0.1, 0.9), mean_t(&samples, 0.9));
        assert_eq!(trimmed_mean(&samples, 0.5, 0.9), None);
        assert!(!trimmed_mean(&[1.0, 2.0, 3.0], 0.4, 0.9).unwrap().is_bounded());
    }

    #[test]
    fn geometric_mean_by_hand() {
        let e = geometric_mean(&[1.0, 10.0, 100.0], 0.95).unwrap();
        assert!((e.value - 10.0).abs() < 1e-9);
        let factor = (4.302_652_73 * 10.0_f64.ln() / 3.0_f64.sqrt()).exp();
        assert!(
            (e.high / e.value / factor - 1.0).abs() < 1e-6 && (e.value / e.low / factor - 1.0).abs() < 1e-6
        );
        let one = geometric_mean(&[3.0], 0.95).unwrap();
        assert_eq!((one.low, one.high), (0.0, f64::INFINITY));
    }

    #[test]
    fn nonsense_has_no_estimate() {
        for samples in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert_eq!(median(samples, 0.95), None);
            assert_eq!(trimmed_mean(samples, 0.1, 0.95), None);
            assert_eq!(geometric_mean(samples, 0.95), None);
        }
        assert_eq!(median(&[1.0], 1.0), None);
        assert_eq!(geometric_mean(&[0.0, 1.0], 0.95), None);
    }
}
