//! Adjustment of p-values for several tests.

/// Returns Holm's adjusted p-values, in the given order: sorted ascending, the i-th of m is multiplied by m - i + 1, capped at 1
/// and never below the one before it. If all hypotheses with a value below α are rejected, the probability of even one false
/// rejection is at most α, for any dependence between the tests. Source: Holm (1979), "A Simple Sequentially Rejective Multiple
/// Test Procedure", Scandinavian Journal of Statistics 6:65-70.
///
/// A value that is not a probability (NaN, above 1) counts as 1.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let clean: Vec<f64> = p_values.iter().map(|p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..clean.len()).collect();
    order.sort_by(|&a, &b| clean[a].total_cmp(&clean[b]));
    let mut adjusted = vec![1.0; clean.len()];
    let mut so_far = 0.0_f64;
    let mut factor = super::estimate::count(clean.len());
    for index in order {
        so_far = so_far.max((clean[index] * factor).min(1.0));
        adjusted[index] = so_far;
        factor -= 1.0;
    }
    adjusted
}

/// The same with a weight for each hypothesis: the error is divided in proportion to the weights of the hypotheses that aren't rejected yet,
/// so p / weight decides the order, and the i-th is multiplied by (sum of the weights from the i-th on) / (its own weight). The error stays
/// at most α for any weights that were fixed before the data. Source: Holm (1979), as above, section 4.
///
/// A weight that isn't positive and finite counts as 0: its hypothesis is never rejected. With equal weights: as [`holm`].
///
/// # Panics
/// If there are not as many weights as p-values.
#[must_use]
pub fn holm_weighted(p_values: &[f64], weights: &[f64]) -> Vec<f64> {
    assert_eq!(p_values.len(), weights.len(), "a weight for each p-value");
    let clean = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let usable = |w: f64| w.is_finite() && w > 0.0;
    let mut order: Vec<(usize, f64, f64)> = p_values
        .iter()
        .zip(weights)
        .enumerate()
        .filter(|(_, (_, w))| usable(**w))
        .map(|(index, (p, w))| (index, clean(*p), *w))
        .collect();
    order.sort_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut so_far = 0.0_f64;
    let mut left: f64 = order.iter().map(|(_, _, w)| w).sum();
    for (index, p, weight) in order {
        so_far = so_far.max((p * (left / weight).max(1.0)).min(1.0));
        adjusted[index] = so_far;
        left -= weight;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::{holm, holm_weighted};

    /// By hand: p / w is 0.005, 0.02, 0.03, so the factors are 4/2, 2/1 and 1/1.
    #[test]
    fn weights_by_hand() {
        let adjusted = holm_weighted(&[0.02, 0.01, 0.03], &[1.0, 2.0, 1.0]);
        for (got, expected) in adjusted.iter().zip([0.04, 0.02, 0.04]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
        let p = [0.01, 0.04, 0.03, 0.005];
        for (weighted, plain) in holm_weighted(&p, &[3.0; 4]).iter().zip(holm(&p)) {
            assert!((weighted - plain).abs() < 1e-12);
        }
        assert_eq!(holm_weighted(&[0.0, f64::NAN, 0.04], &[0.0, 1.0, 1.0]), [1.0, 1.0, 0.08]);
    }

    /// By hand, and as R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
    #[test]
    fn a_case_by_hand() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn one_test_needs_no_correction_and_none_is_none() {
        assert_eq!(holm(&[0.04]), [0.04]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn never_above_one_and_nonsense_rejects_nothing() {
        assert_eq!(holm(&[0.9, 0.8, f64::NAN, 7.0, -1.0]), [1.0, 1.0, 1.0, 1.0, 0.0]);
    }
}
