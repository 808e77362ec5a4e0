//! How evenly several parties share something.

/// Jain's fairness index: `(sum x)^2 / (n * sum x^2)`. 1: all have the same; `1/n`: one has everything. Source: Jain, Chiu, Hawe
/// (1984), "A quantitative measure of fairness and discrimination for resource allocation in shared computer systems", DEC-TR-301.
/// `None` without values, if one is negative or not finite, or if all are 0.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a number of parties")]
pub fn jain(values: &[f64]) -> Option<f64> {
    if values.iter().any(|x| !x.is_finite() || *x < 0.0) {
        return None;
    }
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// The largest value over the smallest. `None` without values, or if the smallest isn't positive and finite.
#[must_use]
pub fn max_over_min(values: &[f64]) -> Option<f64> {
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    (least > 0.0 && most.is_finite()).then(|| most / least)
}

#[cfg(test)]
mod tests {
    use super::{jain, max_over_min};

    #[test]
    fn equal_shares_have_1_and_a_single_owner_1_over_n() {
        assert_eq!(jain(&[5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[7.0]), Some(1.0));
        assert_eq!(jain(&[9.0, 0.0, 0.0, 0.0]), Some(0.25));
    }

    /// The report's own example: if k of n have equal shares and the others nothing, the index is k/n.
    #[test]
    fn k_of_n_have_k_over_n() {
        for k in 1..=10 {
            let shares: Vec<f64> = (0..10).map(|i| if i < k { 3.0 } else { 0.0 }).collect();
            assert!((jain(&shares).unwrap() - k as f64 / 10.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_unit_does_not_matter_and_the_order_neither() {
        let (a, b) = (jain(&[1.0, 2.0, 4.0]).unwrap(), jain(&[4000.0, 1000.0, 2000.0]).unwrap());
        assert!((a - b).abs() < 1e-12 && (a - 49.0 / 63.0).abs() < 1e-12);
        assert_eq!(max_over_min(&[4.0, 1.0, 2.0]), Some(4.0));
    }

    #[test]
    fn nothing_is_no_share() {
        assert_eq!((jain(&[]), jain(&[0.0, 0.0]), jain(&[1.0, f64::NAN])), (None, None, None));
        assert_eq!((max_over_min(&[]), max_over_min(&[0.0, 1.0])), (None, None));
    }
}
