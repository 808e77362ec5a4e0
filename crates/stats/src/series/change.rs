//! Change points: where the level of a series changes.

use crate::estimate::{count, mean};
use crate::replicates::unbiased;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first sample at the new level.
    pub at: usize,
    /// Mean of the segment before.
    pub before: f64,
    /// Mean of the segment after.
    pub after: f64,
    /// P-value of the split when it was found.
    pub p: f64,
}

/// Fewest samples on each side of a change.
const SHORTEST: usize = 5;
/// Autocorrelation above this value counts as this value: a series that drifts like a random walk has no level to change.
const MOST_RHO: f64 = 0.9;

/// Finds changes of level by binary segmentation: the CUSUM statistic max |S_k - (k/n) S_n| / (σ √n) against the Kolmogorov
/// distribution. σ² is the long-run variance of the residuals about two to four levels (one for every twenty samples), as of an
/// AR(1) process: σ² = s_e² / (1 - ρ̂)². ρ̂ is raised by one standard error (1/√n), since levels that are fitted at the best
/// places lower it. So a series that only wanders doesn't count as one that jumps, and jumps don't inflate σ. The place of a
/// change minimizes the sum of squares about two levels; then both sides are searched in the same way. Source: Brown, Durbin,
/// Evans (1975), JRSS B 37:149-192, and Ploberger, Krämer (1992), Econometrica 60:271-285, for the statistic; Robbins, Gallagher,
/// Lund, Aue (2011), Journal of Time Series Analysis 32:498-511, for AR residuals in it; Vostrikova (1981), Soviet Mathematics
/// Doklady 24:55-59, for binary segmentation.
///
/// Empty for fewer than ten samples or samples that aren't finite.
#[must_use]
pub fn change_points(series: &[f64], level: f64) -> Vec<ChangePoint> {
    if series.iter().any(|x| !x.is_finite()) {
        return Vec::new();
    }
    let mut places = Vec::new();
    search(series, 0, level, &mut places);
    places.sort_unstable_by_key(|(at, _)| *at);
    let ends = places.iter().map(|(at, _)| *at).skip(1).chain([series.len()]);
    let mut start = 0;
    let mut found = Vec::new();
    for (&(at, p), end) in places.iter().zip(ends) {
        found.push(ChangePoint { at, before: mean(&series[start..at]), after: mean(&series[at..end]), p });
        start = at;
    }
    found
}

fn search(series: &[f64], offset: usize, level: f64, places: &mut Vec<(usize, f64)>) {
    let Some((at, p)) = tested_split(series).filter(|(_, p)| *p <= level) else { return };
    places.push((offset + at, p));
    search(&series[..at], offset, level, places);
    search(&series[at..], offset + at, level, places);
}

/// Returns the best place for a change, and its p-value.
fn tested_split(series: &[f64]) -> Option<(usize, f64)> {
    let (at, _) = best_split(series)?;
    let (n, m) = (count(series.len()), mean(series));
    let mut sum = 0.0;
    let farthest = series.iter().fold(0.0_f64, |far, x| {
        sum += x - m;
        far.max(sum.abs())
    });
    let sigma = noise(series).sqrt();
    let p = if sigma == 0.0 { 0.0 } else { kolmogorov_tail(farthest / (sigma * n.sqrt())) };
    Some((at, p))
}

/// Returns the long-run variance about as many levels as the series may have, found greedily: one for every twenty samples, at
/// least two and at most four.
fn noise(series: &[f64]) -> f64 {
    let levels = (series.len() / 20).clamp(2, 4);
    let mut parts = vec![series];
    while parts.len() < levels {
        let splits = parts.iter().enumerate().filter_map(|(i, part)| Some((i, best_split(part)?)));
        let Some((i, (at, _))) = splits.max_by(|a, b| a.1.1.total_cmp(&b.1.1)) else { break };
        let (left, right) = parts[i].split_at(at);
        parts.splice(i..=i, [left, right]);
    }
    let residuals: Vec<f64> = parts
        .iter()
        .flat_map(|part| {
            let m = mean(part);
            part.iter().map(move |x| x - m)
        })
        .collect();
    long_run_variance(&residuals, count(parts.len()), 1.0 / count(series.len()).sqrt())
}

/// Returns the place with the smallest sum of squares about two levels, and by how much it lowers the sum; `None` if no place lowers it.
fn best_split(series: &[f64]) -> Option<(usize, f64)> {
    let n = series.len();
    if n < 2 * SHORTEST {
        return None;
    }
    let (m, mut sum, mut best) = (mean(series), 0.0, (0, 0.0));
    for k in 1..=n - SHORTEST {
        sum += series[k - 1] - m;
        let gain = sum * sum * count(n) / (count(k) * count(n - k));
        if k >= SHORTEST && gain > best.1 {
            best = (k, gain);
        }
    }
    (best.0 > 0).then_some(best)
}

/// Returns the long-run variance of residuals as of an AR(1) process. Their lag-1 autocorrelation is corrected for its bias, once
/// per fitted level, and raised by `margin`.
pub(crate) fn long_run_variance(residuals: &[f64], levels: f64, margin: f64) -> f64 {
    let n = count(residuals.len());
    let squares: f64 = residuals.iter().map(|x| x * x).sum();
    if squares == 0.0 || n <= levels + 1.0 {
        return 0.0;
    }
    let r = residuals.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / squares;
    let rho = (unbiased(r, n / levels) + margin).clamp(0.0, MOST_RHO);
    let innovations: f64 = residuals.windows(2).map(|w| (w[1] - rho * w[0]).powi(2)).sum();
    innovations / (n - 1.0 - levels) / (1.0 - rho).powi(2)
}

/// P(sup |Brownian bridge| > x) = 2 Σ (-1)^(j+1) exp(-2 j² x²). Source: Kolmogorov (1933), Giornale dell'Istituto Italiano degli Attuari 4:83-91.
fn kolmogorov_tail(x: f64) -> f64 {
    if x < 0.2 {
        return 1.0;
    }
    let terms = (1..=100_u32).map(|j| {
        let term = (-2.0 * f64::from(j * j) * x * x).exp();
        if j % 2 == 1 { term } else { -term }
    });
    (2.0 * terms.sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::{change_points, kolmogorov_tail, long_run_variance};

    /// From tables: 10 % at 1.224, 5 % at 1.358, 1 % at 1.628.
    #[test]
    fn kolmogorov_agrees_with_the_table() {
        for (x, p) in [(1.2238, 0.10), (1.3581, 0.05), (1.6276, 0.01)] {
            assert!((kolmogorov_tail(x) - p).abs() < 1e-4, "{x}");
        }
        assert!(kolmogorov_tail(0.1) == 1.0 && kolmogorov_tail(9.0) < 1e-60);
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let wiggle = |i: usize| [0.0, 1.0, -1.0, 0.5, -0.5, 1.2, -1.1][i % 7];
        let levels = |i: usize| {
            if i < 20 {
                100.0
            } else if i < 50 {
                60.0
            } else {
                80.0
            }
        };
        let series: Vec<f64> = (0..80).map(|i| levels(i) + wiggle(i)).collect();
        let found = change_points(&series, 0.01);
        assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [20, 50]);
        assert!((found[0].before - 100.0).abs() < 0.5 && (found[0].after - 60.0).abs() < 0.5);
        assert!((found[1].before - 60.0).abs() < 0.5 && (found[1].after - 80.0).abs() < 0.5);
    }

    #[test]
    fn an_exact_step_and_nothing_at_all() {
        let step: Vec<f64> = (0..20).map(|i| if i < 8 { 5.0 } else { 3.0 }).collect();
        let found = change_points(&step, 0.05);
        assert_eq!((found.len(), found[0].at, found[0].before, found[0].after), (1, 8, 5.0, 3.0));
        assert!(change_points(&[7.0; 50], 0.05).is_empty());
        assert!(change_points(&[1.0, 9.0, 1.0, 9.0], 0.05).is_empty());
        assert!(change_points(&[f64::NAN; 50], 0.05).is_empty());
    }

    /// An alternating series has no positive autocorrelation, so its variance is used as it is: 1 on 19 - 1 degrees of freedom.
    #[test]
    fn long_run_variance_by_hand() {
        let alternating: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!((long_run_variance(&alternating, 1.0, 0.0) - 19.0 / 18.0).abs() < 1e-12);
        assert_eq!(long_run_variance(&[0.0; 20], 1.0, 0.0), 0.0);
    }
}
