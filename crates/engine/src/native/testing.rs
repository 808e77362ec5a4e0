//! Statistics for the tests of what should be random.

/// Pearson's statistic of counts against shares that add up to 1.
pub(crate) fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let float = |n: u64| f64::from(u32::try_from(n).unwrap());
    counts
        .iter()
        .zip(shares)
        .map(|(count, share)| {
            let expected = share * float(total);
            (float(*count) - expected).powi(2) / expected
        })
        .sum()
}

/// What the statistic exceeds in one of 1000 cases (Wilson and Hilferty's approximation).
pub(crate) fn chi_square_limit(freedom: usize) -> f64 {
    let k = f64::from(u32::try_from(freedom).unwrap());
    let z = 3.0902;
    k * (1.0 - 2.0 / (9.0 * k) + z * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

/// The largest distance between the samples' distribution and `cumulative`, times the root of their number
/// (Kolmogorov and Smirnov); above 1.95 in one of 1000 cases.
pub(crate) fn kolmogorov(samples: &mut [f64], cumulative: impl Fn(f64) -> f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = f64::from(u32::try_from(samples.len()).unwrap());
    let distance = samples.iter().zip(0_u32..).map(|(x, i)| {
        let (below, above) = (f64::from(i) / n, f64::from(i + 1) / n);
        (cumulative(*x) - below).abs().max((cumulative(*x) - above).abs())
    });
    distance.fold(0.0, f64::max) * n.sqrt()
}
