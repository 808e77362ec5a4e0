use super::{Distribution, Ranks, Skewed};
use crate::native::random::Random;
use crate::native::testing::{chi_square, chi_square_limit, kolmogorov};
use std::collections::BTreeMap;

const DRAWS: u32 = 100_000;

fn counts(distribution: &Distribution, blocks: u64, seed: u64) -> Vec<u64> {
    let ranks = Ranks::new(distribution, blocks);
    let mut random = Random::new(seed, 0);
    let mut counts = vec![0; usize::try_from(blocks).unwrap()];
    for _ in 0..DRAWS {
        counts[usize::try_from(ranks.next(&mut random)).unwrap()] += 1;
    }
    counts
}

/// How many of ten seeds exceed the value that one of 1000 exceeds by chance.
fn misfits(distribution: &Distribution, shares: &[f64]) -> usize {
    let blocks = shares.len() as u64;
    let exceeds = |seed: &u64| {
        chi_square(&counts(distribution, blocks, *seed), shares) > chi_square_limit(shares.len() - 1)
    };
    (0..10).filter(exceeds).count()
}

fn normalized(weights: Vec<f64>) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / sum).collect()
}

#[test]
fn even_draws_fit() {
    assert!(misfits(&Distribution::Random, &normalized(vec![1.0; 100])) <= 1);
}

#[test]
fn zipf_fits_for_every_exponent() {
    for theta in [0.5, 0.99, 1.0, 1.1, 1.6] {
        let shares = normalized((1..=100_u32).map(|r| f64::from(r).powf(-theta)).collect());
        assert!(misfits(&Distribution::Zipf(theta), &shares) <= 1, "theta {theta}");
    }
    // The test can detect a slightly different law: that one doesn't fit.
    let shares = normalized((1..=100_u32).map(|r| f64::from(r).powf(-1.13)).collect());
    assert_eq!(misfits(&Distribution::Zipf(1.1), &shares), 10);
}

#[test]
fn pareto_fits() {
    for h in [0.1, 0.2, 0.3, 0.4, 0.45_f64] {
        let power = h.ln() / (1.0 - h).ln();
        let ranks = Ranks::new(&Distribution::Pareto(h), 1 << 40);
        let mut random = Random::new(9, 0);
        let scale = 2_f64.powi(40);
        let mut samples: Vec<f64> =
            (0..DRAWS).map(|_| super::float(ranks.next(&mut random)) / scale).collect();
        let distance = kolmogorov(&mut samples, |x| x.powf(1.0 / power));
        // With small h, many accesses fall into the first of even 2^40 ranks, where the law is no longer smooth.
        assert!(distance < 2.2 || h < 0.3, "h {h}: {distance}");
        let hot = samples.iter().filter(|x| **x < h).count();
        let share = f64::from(u32::try_from(hot).unwrap()) / f64::from(DRAWS);
        assert!((share - (1.0 - h)).abs() < 0.01, "h {h}: {share} of accesses in {h} of the blocks");
    }
}

#[test]
fn normal_has_its_mean_and_deviation() {
    let ranks = Ranks::new(&Distribution::Normal(10.0), 1_000_000);
    let mut random = Random::new(4, 0);
    let samples: Vec<f64> = (0..DRAWS).map(|_| super::float(ranks.next(&mut random))).collect();
    let n = f64::from(DRAWS);
    let mean = samples.iter().sum::<f64>() / n;
    let deviation = (samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    assert!((mean - 500_000.0).abs() < 5.0 * 100_000.0 / n.sqrt(), "mean {mean}");
    assert!((deviation / 100_000.0 - 1.0).abs() < 0.015, "deviation {deviation}");
    let within: usize = samples.iter().filter(|x| (**x - 500_000.0).abs() < 100_000.0).count();
    let share = f64::from(u32::try_from(within).unwrap()) / n;
    assert!((share - 0.6827).abs() < 0.012, "{share} within one deviation");
}

#[test]
fn hot_blocks_are_scattered_but_stay_hot() {
    let mut random = Random::new(11, 0);
    let skewed = Skewed::new(&Distribution::Zipf(1.2), 10_000, &mut random);
    let mut hits: BTreeMap<u64, u32> = BTreeMap::new();
    for _ in 0..DRAWS {
        *hits.entry(skewed.next(&mut random)).or_default() += 1;
    }
    let mut by_count: Vec<(u32, u64)> = hits.iter().map(|(block, n)| (*n, *block)).collect();
    by_count.sort_unstable_by(|a, b| b.cmp(a));
    assert!(by_count[0].0 > 10_000, "the hottest block gets {} of {DRAWS}", by_count[0].0);
    let hot: Vec<u64> = by_count.iter().take(10).map(|(_, block)| *block).collect();
    assert!(hot.iter().any(|b| *b > 5_000) && hot.iter().any(|b| *b < 5_000), "{hot:?} are on one side");
}

#[test]
fn fios_notation() {
    let parse = Distribution::parse;
    assert_eq!(parse("random"), Ok(Distribution::Random));
    assert_eq!(parse("zipf:0.9"), Ok(Distribution::Zipf(0.9)));
    assert_eq!(parse("zipf"), Ok(Distribution::Zipf(1.1)));
    assert_eq!(parse("pareto:0.3"), Ok(Distribution::Pareto(0.3)));
    assert_eq!(parse("normal:25"), Ok(Distribution::Normal(25.0)));
    for refused in
        ["zoned:50/10:50/80", "zipf:1.1:0.5", "zipf:-1", "pareto:1", "normal", "zipf:x", "randomly"]
    {
        assert!(parse(refused).unwrap_err().to_string().contains("random_distribution"), "{refused}");
    }
}
