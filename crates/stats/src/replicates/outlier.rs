//! Outliers among samples.

use crate::estimate::{count, mean, standard_deviation};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// One outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Index of the sample.
    pub index: usize,
    /// Distance from the mean, in standard deviations of all samples that were left when it was found.
    pub deviations: f64,
}

/// Finds outliers by the generalized extreme studentized deviate test: at most a third of the samples, and below 15 samples at
/// most one (Grubbs' test), since the test for more doesn't hold its level there. It removes the farthest sample one by one. The
/// number of outliers is the largest i with a deviation Rᵢ above λᵢ = (n-i) t / √((n-i-1+t²)(n-i+1)), with t the 1 - α/(2(n-i+1))
/// quantile of Student's t on n-i-1 degrees of freedom. Several outliers can't hide each other, unlike in a test of single
/// samples. Source: Rosner (1983), Technometrics 25:165-172; NIST/SEMATECH e-Handbook 1.3.5.17.3. Outliers are shown and kept.
///
/// Empty for fewer than five samples, where no sample can be an outlier, or samples that aren't finite.
#[must_use]
pub fn outliers(samples: &[f64], level: f64) -> Vec<Outlier> {
    let n = samples.len();
    if n < 5 || samples.iter().any(|x| !x.is_finite()) || !(level > 0.0 && level < 1.0) {
        return Vec::new();
    }
    let mut left: Vec<usize> = (0..n).collect();
    let (mut removed, mut found) = (Vec::new(), 0);
    let most = if n < 15 { 1 } else { n / 3 };
    for _ in 0..most {
        let values: Vec<f64> = left.iter().map(|i| samples[*i]).collect();
        let m = mean(&values);
        let spread = standard_deviation(&values, m);
        let far = |i: usize| (samples[i] - m).abs();
        let Some((at, &index)) = left.iter().enumerate().max_by(|a, b| far(*a.1).total_cmp(&far(*b.1)))
        else {
            break;
        };
        if spread == 0.0 {
            break;
        }
        let deviations = far(index) / spread;
        removed.push(Outlier { index, deviations });
        if critical(left.len(), level).is_some_and(|bar| deviations > bar) {
            found = removed.len();
        }
        left.remove(at);
    }
    removed.truncate(found);
    removed
}

/// Returns Grubbs' critical value for the farthest of m samples.
fn critical(m: usize, level: f64) -> Option<f64> {
    let m = count(m);
    let t = StudentsT::new(0.0, 1.0, m - 2.0).ok()?.inverse_cdf(1.0 - level / (2.0 * m));
    Some((m - 1.0) * t / ((m - 2.0 + t * t) * m).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{critical, outliers};

    /// Grubbs' two-sided critical values at 5 %, as tabled: 1.715 for 5, 1.887 for 6, 2.290 for 10, 2.709 for 20.
    #[test]
    fn critical_values_agree_with_the_table() {
        for (m, table) in [(5, 1.715), (6, 1.887), (10, 2.290), (20, 2.709)] {
            let bar = critical(m, 0.05).unwrap();
            assert!((bar - table).abs() < 1e-3, "{m}: {bar}");
        }
    }

    /// Rosner's own example, NIST/SEMATECH 1.3.5.17.3: of 54 values the three largest are outliers, although one alone isn't.
    #[test]
    fn rosners_example() {
        let data = [
            -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65,
            1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24,
            2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59,
            3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
        ];
        let found: Vec<usize> = outliers(&data, 0.05).iter().map(|o| o.index).collect();
        assert_eq!(found, [53, 52, 51]);
    }

    #[test]
    fn nothing_stands_apart_among_few_or_equal() {
        assert!(outliers(&[1.0, 1.0, 1.0, 99.0], 0.05).is_empty());
        assert!(outliers(&[1.0; 9], 0.05).is_empty());
        assert!(outliers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.05).is_empty());
        assert!(outliers(&[1.0, 2.0, 3.0, 4.0, f64::NAN], 0.05).is_empty());
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.05, 0.95, 3.0], 0.05)[0].index, 5);
    }
}
