//! Two modes: a test whether trials fall into two groups.

use crate::estimate::{count, mean};
use crate::random::Random;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Two groups of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoModes {
    /// Mean of the lower group.
    pub low: f64,
    /// Mean of the upper group.
    pub high: f64,
    /// Share of samples in the upper group.
    pub upper_share: f64,
    /// P-value against a single group.
    pub p: f64,
}

/// Number of draws for the null distribution.
const DRAWS: u32 = 9_999;
/// Smallest number of samples: fewer can't show two groups of two.
const LEAST: usize = 5;
/// With more samples, every k-th of the sorted ones is used: two groups show as well, and the null distribution stays cheap.
const MOST: usize = 200;

/// Splits the sorted samples into the two groups with the smallest sum of squares within them. Each group has at least two
/// samples, so an outlier is not a group. The statistic is the share of squares between the groups. The p-value is the share of
/// 9,999 seeded draws of uniform samples that split at least as well. The uniform distribution is the one-humped one that looks
/// most like two groups, so no other one-humped shape is mistaken for two. Source: Engelman, Hartigan (1969), "Percentage points
/// of a test for clusters", JASA 64:1647-1648. The uniform reference is that of the dip test: Hartigan, Hartigan (1985), Annals
/// of Statistics 13:70-84, which has no power at a dozen samples.
///
/// `None` for fewer than five samples, no spread, or samples that aren't finite.
#[must_use]
pub fn two_modes(samples: &[f64]) -> Option<TwoModes> {
    if samples.len() < LEAST || samples.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() > MOST {
        let step = sorted.len().div_ceil(MOST);
        sorted = sorted.into_iter().skip(step / 2).step_by(step).collect();
    }
    let (between, below) = best_split(&sorted)?;
    let null = null_distribution(sorted.len());
    let as_far = null.len() - null.partition_point(|x| *x < between - 1e-12);
    Some(TwoModes {
        low: mean(&sorted[..below]),
        high: mean(&sorted[below..]),
        upper_share: 1.0 - count(below) / count(sorted.len()),
        p: (count(as_far) + 1.0) / (f64::from(DRAWS) + 1.0),
    })
}

/// Returns the largest share of squares between two groups, and the size of the lower group.
fn best_split(sorted: &[f64]) -> Option<(f64, usize)> {
    let (n, m) = (sorted.len(), mean(sorted));
    let total: f64 = sorted.iter().map(|x| (x - m).powi(2)).sum();
    if total == 0.0 {
        return None;
    }
    let mut best = (0.0, 0);
    let mut sum = sorted[0] - m;
    for below in 2..=n - 2 {
        sum += sorted[below - 1] - m;
        let between = sum * sum * count(n) / (count(below) * count(n - below)) / total;
        if between > best.0 {
            best = (between, below);
        }
    }
    (best.1 > 0).then_some(best)
}

/// Returns sorted shares of uniform samples of this number, drawn once.
fn null_distribution(n: usize) -> Arc<[f64]> {
    static DRAWN: LazyLock<Mutex<BTreeMap<usize, Arc<[f64]>>>> = LazyLock::new(Mutex::default);
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(drawn.entry(n).or_insert_with(|| {
        let mut random = Random::new(n as u64);
        let mut shares: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let mut sample: Vec<f64> = (0..n).map(|_| random.uniform()).collect();
                sample.sort_by(f64::total_cmp);
                best_split(&sample).map_or(0.0, |(share, _)| share)
            })
            .collect();
        shares.sort_by(f64::total_cmp);
        shares.into()
    }))
}

#[cfg(test)]
mod tests {
    use super::{best_split, two_modes};

    /// By hand: 0, 0, 4, 4: all squares lie between the groups. 0, 1, 4, 5: mean 2.5, total 17, between 4 · 2² = 16.
    #[test]
    fn splits_by_hand() {
        assert_eq!(best_split(&[0.0, 0.0, 4.0, 4.0]), Some((1.0, 2)));
        let (share, below) = best_split(&[0.0, 1.0, 4.0, 5.0]).unwrap();
        assert!((share - 16.0 / 17.0).abs() < 1e-12 && below == 2);
    }

    #[test]
    fn two_groups_are_seen_with_their_shares() {
        let m = two_modes(&[100.0, 80.2, 99.5, 80.0, 100.5, 100.1]).unwrap();
        assert!(m.p < 0.01, "{m:?}");
        assert!((m.low - 80.1).abs() < 1e-9 && (m.high - 100.025).abs() < 1e-9);
        assert!((m.upper_share - 4.0 / 6.0).abs() < 1e-12);
        let many: Vec<f64> = (0..1000).map(|i| f64::from(i % 2) * 10.0 + f64::from(i % 7) * 0.1).collect();
        assert!(two_modes(&many).unwrap().p < 0.001);
    }

    #[test]
    fn even_spacing_and_one_outlier_are_not_two_groups() {
        assert!(two_modes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap().p > 0.1);
        assert!(two_modes(&[1.0, 1.1, 0.9, 1.05, 0.95, 3.0]).unwrap().p > 0.1);
        assert_eq!(two_modes(&[1.0; 8]), None);
        assert_eq!(two_modes(&[1.0, 1.0, 2.0, 2.0]), None);
    }
}
