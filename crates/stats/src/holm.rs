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

#[cfg(test)]
mod tests {
    use super::holm;

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
