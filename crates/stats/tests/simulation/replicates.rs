//! How often doubts are raised, without and with a reason.

use super::noise::{Noise, TRUTH, normal};
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{
    Suspicion, autocorrelation, doubts, first_round, machine_rounds, outliers, trend, two_modes,
};

fn samples(noise: Noise, n: usize, random: &mut Random) -> Vec<f64> {
    let mut next = noise.rounds(2.0, random);
    (0..n).map(|_| next()).collect()
}

/// Each test by itself holds 5 % on independent trials: the permutation tests for any distribution, the test of two modes for any
/// with one hump.
#[test]
fn nothing_is_raised_by_independent_trials() {
    let n = repetitions(600);
    for noise in [Noise::Normal, Noise::Uniform, Noise::Laplace] {
        for rounds in [6, 9, 14] {
            let mut random = Random::new(rounds as u64);
            let (mut trends, mut serial, mut modes, mut all, mut first, mut apart) = (0, 0, 0, 0, 0, 0);
            for _ in 0..n {
                let x = samples(noise, rounds, &mut random);
                trends += u32::from(trend(&x, 0.95).unwrap().p <= 0.05);
                serial += u32::from(autocorrelation(&x).unwrap().p <= 0.05);
                modes += u32::from(two_modes(&x).unwrap().p <= 0.05);
                first += u32::from(first_round(&x).unwrap().p <= 0.05);
                apart += u32::from(!outliers(&x, 0.05).is_empty());
                all += u32::from(!doubts(&x, 0.05).is_empty());
            }
            let most = 0.05 + slack(0.05, n);
            for (what, hits) in [("trend", trends), ("autocorrelation", serial), ("modes", modes)] {
                assert!(share(hits, n) <= most, "{what}, {noise:?}, {rounds}: {hits} of {n}");
            }
            if noise == Noise::Normal {
                for (what, hits) in [("first", first), ("outliers", apart), ("any doubt", all)] {
                    assert!(share(hits, n) <= most, "{what}, {rounds}: {hits} of {n}");
                }
            }
        }
    }
}

/// The power of each doubt among the four with Holm's adjustment.
#[test]
fn doubts_are_raised_where_there_is_reason() {
    let n = repetitions(200);
    let columns = ["what there is", "doubt", "6 rounds", "8", "12", "20"];
    let mut table = Table::new("80-doubts.md", "Doubts raised at 5 % for four tests together", &columns);
    type Is = fn(&Suspicion) -> bool;
    let cases: [(&str, Noise, &str, Is, f64); 10] = [
        ("nothing (normal)", Noise::Normal, "any", |_| true, 0.0),
        ("drift, 0.5 spreads a round", Noise::Drift(0.5), "trend", |s| matches!(s, Suspicion::Trend(_)), 0.5),
        ("drift, 1 spread a round", Noise::Drift(1.0), "trend", |s| matches!(s, Suspicion::Trend(_)), 0.95),
        ("drift, 2 spreads a round", Noise::Drift(2.0), "trend", |s| matches!(s, Suspicion::Trend(_)), 0.95),
        (
            "first round 5 spreads low",
            Noise::WarmUp(5.0),
            "first round",
            |s| matches!(s, Suspicion::FirstRound(_)),
            0.5,
        ),
        (
            "first round 10 spreads low",
            Noise::WarmUp(10.0),
            "first round",
            |s| matches!(s, Suspicion::FirstRound(_)),
            0.6,
        ),
        ("AR(1), ρ = 0.3", Noise::Autocorrelated(0.3), "any", |_| true, 0.0),
        ("AR(1), ρ = 0.6", Noise::Autocorrelated(0.6), "any", |_| true, 0.2),
        ("AR(1), ρ = 0.9", Noise::Autocorrelated(0.9), "any", |_| true, 0.5),
        ("two modes, half each", Noise::Bimodal, "two modes", |s| matches!(s, Suspicion::TwoModes(_)), 0.8),
    ];
    for (name, noise, doubt, is, least_at_12) in cases {
        let mut cells = vec![name.to_owned(), doubt.to_owned()];
        for rounds in [6, 8, 12, 20] {
            let mut random = Random::new(61);
            let mut raised = 0;
            for _ in 0..n {
                let x = samples(noise, rounds, &mut random);
                raised += u32::from(doubts(&x, 0.05).iter().any(|d| is(&d.suspicion)));
            }
            if rounds == 12 {
                assert!(share(raised, n) >= least_at_12, "{name}: {raised} of {n}");
            }
            cells.push(percent(share(raised, n)));
        }
        table.row(&cells);
    }
    table.write();
}

/// The bias of the plain lag-1 autocorrelation at 8 rounds is large; the correction removes most of it.
#[test]
fn autocorrelation_is_corrected_for_its_bias() {
    let n = repetitions(300);
    for (rho, tolerance) in [(0.0, 0.08), (0.3, 0.12)] {
        let mut random = Random::new(71);
        let mut sum = 0.0;
        for _ in 0..n {
            let mut state = normal(&mut random);
            let x: Vec<f64> = (0..30)
                .map(|_| {
                    let now = TRUTH + state;
                    state = rho * state + f64::sqrt(1.0 - rho * rho) * normal(&mut random);
                    now
                })
                .collect();
            sum += autocorrelation(&x).unwrap().rho;
        }
        let mean = sum / f64::from(n);
        assert!((mean - rho).abs() < tolerance, "{rho}: {mean}");
    }
}

/// A machine that drifts by half a spread each round, seen over eight cells and six rounds; and one that doesn't drift.
#[test]
fn the_machines_drift_is_seen_over_its_cells() {
    let n = repetitions(300);
    for (step, least, most) in [(0.0, 0.0, 0.05 + slack(0.05, n)), (0.5, 0.5, 1.0)] {
        let mut random = Random::new(111);
        let (mut together, mut alone) = (0, 0);
        for _ in 0..n {
            let cells: Vec<Vec<Option<f64>>> = (0..8)
                .map(|_| samples(Noise::Drift(step), 6, &mut random).into_iter().map(Some).collect())
                .collect();
            let views: Vec<&[Option<f64>]> = cells.iter().map(|c| &c[..]).collect();
            together += u32::from(!doubts(&machine_rounds(&views).unwrap(), 0.05).is_empty());
            alone += u32::from(!doubts(&machine_rounds(&views[..1]).unwrap(), 0.05).is_empty());
        }
        let raised = share(together, n);
        assert!((least..=most).contains(&raised), "{step}: {together} of {n}");
        assert!(step == 0.0 || together > 2 * alone, "{together} together, {alone} alone of {n}");
    }
}
