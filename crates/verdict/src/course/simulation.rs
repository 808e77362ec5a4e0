//! Simulations: the rate of false alarms for clean rounds and trials, and the rate of detection for others. Seeds are fixed.

use super::over_rounds::over_rounds;
use super::rounds::CellRounds;
use super::shape::{Shape, shape};
use super::tests::measure;
use crate::generator as random;
use noise::{Noise, normal};
use random::Random;
use record::finding::{Claim, Finding};
use std::collections::BTreeMap;

#[path = "../../../stats/tests/simulation/noise.rs"]
mod noise;

const CELLS: usize = 20;

fn cells(noise: Noise, spread: f64, rounds: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let cell = |random: &mut Random| {
        let mut next = noise.rounds(spread, random);
        (0..rounds).map(|_| next()).collect()
    };
    (0..CELLS).map(|_| cell(random)).collect()
}

fn judged(cells: &[Vec<f64>]) -> Vec<Finding> {
    let cells: Vec<CellRounds> =
        cells.iter().enumerate().map(|(i, values)| CellRounds::made(&format!("c{i}"), values)).collect();
    over_rounds(&cells, &measure())
}

/// Of runs of twenty cells with independent rounds, at most 5 % have any finding. Heavy tails do have outliers, and so have few rounds with
/// few distinct rates, where one differs from five equal ones; these runs have no other claim.
#[test]
fn clean_runs_have_no_findings() {
    const RUNS: u32 = 50;
    let mut all = (0, 0);
    for noise in [
        Noise::Normal,
        Noise::Lognormal,
        Noise::Uniform,
        Noise::Discrete,
        Noise::Laplace,
        Noise::HeavyTail,
        Noise::Stalls,
    ] {
        let tailed = matches!(noise, Noise::Discrete | Noise::Laplace | Noise::HeavyTail | Noise::Stalls);
        for (rounds, spread) in [(6, 5.0), (6, 10.0), (12, 5.0), (30, 5.0)] {
            let mut random = Random::new(rounds as u64);
            let (mut alarms, mut claims) = (0, Vec::new());
            for _ in 0..RUNS {
                let found = judged(&cells(noise, spread, rounds, &mut random));
                let counts = |f: &Finding| !(tailed && f.claim == Claim::Outliers);
                alarms += u32::from(found.iter().any(counts));
                claims.extend(found.iter().filter(|f| counts(f)).map(|f| f.claim));
            }
            // Four standard errors above 5 %.
            assert!(alarms <= 8, "{noise:?}, {rounds} rounds of ±{spread} %: {alarms} of {RUNS}, {claims:?}");
            all = (all.0 + alarms, all.1 + RUNS);
        }
    }
    assert!(f64::from(all.0) <= 0.05 * f64::from(all.1), "{} of {} runs", all.0, all.1);
}

/// One cell of twenty has a defect; the findings must name it and nothing else.
#[test]
fn one_bad_cell_among_twenty_is_named() {
    const RUNS: u32 = 40;
    let cases = [
        (Noise::Drift(1.0), 12, Claim::Trend, 0.9),
        (Noise::Drift(2.0), 8, Claim::Trend, 0.9),
        (Noise::WarmUp(30.0), 12, Claim::Trend, 0.9),
        (Noise::Bimodal, 20, Claim::Bimodal, 0.9),
        (Noise::Autocorrelated(0.9), 30, Claim::Autocorrelated, 0.4),
    ];
    for (noise, rounds, claim, least) in cases {
        let mut random = Random::new(7);
        let (mut named, mut others) = (0, 0);
        for _ in 0..RUNS {
            let mut run = cells(Noise::Normal, 2.0, rounds, &mut random);
            run[3] = cells(noise, 2.0, rounds, &mut random).remove(0);
            let found = judged(&run);
            named += u32::from(found.iter().any(|f| f.cell.0 == "c3" && f.claim == claim));
            others += u32::from(found.iter().any(|f| f.cell.0 != "c3" || f.claim == Claim::MachineDrift));
        }
        assert!(f64::from(named) >= least * f64::from(RUNS), "{noise:?}: {named} of {RUNS}");
        assert!(others <= 7, "{noise:?}: {others} of {RUNS} have a finding of another cell");
    }
}

/// All cells drift by half a spread per round: one finding, about the machine. A few cells that drift by themselves don't make one.
#[test]
fn what_all_cells_share_is_said_once() {
    const RUNS: u32 = 40;
    let mut random = Random::new(9);
    let (mut machine, mut single) = (0, 0);
    for _ in 0..RUNS {
        let found = judged(&cells(Noise::Drift(0.5), 2.0, 12, &mut random));
        machine += u32::from(found.iter().filter(|f| f.claim == Claim::MachineDrift).count() == 1);
        single += u32::from(found.iter().any(|f| f.claim == Claim::Trend));
    }
    assert!(machine >= 38 && single <= 4, "{machine} of the machine, {single} of cells, of {RUNS}");
    for _ in 0..RUNS {
        let mut run = cells(Noise::Normal, 2.0, 12, &mut random);
        for cell in &mut run[..3] {
            for (round, x) in cell.iter_mut().enumerate() {
                *x *= 1.5_f64.powf(round as f64);
            }
        }
        let found = judged(&run);
        assert!(found.iter().all(|f| f.claim != Claim::MachineDrift), "{found:?}");
        let own = |f: &&Finding| f.claim == Claim::Trend && ["c0", "c1", "c2"].contains(&f.cell.0.as_str());
        assert_eq!(found.iter().filter(own).count(), 3);
    }
}

/// A trial of 100 batches of two tenths of a second, from the amounts in each tenth.
fn trial(mut amount: impl FnMut(u32) -> f64) -> Vec<f64> {
    (0..100).map(|batch| amount(2 * batch) + amount(2 * batch + 1)).collect()
}

/// Poisson-distributed I/Os in a tenth of a second, 8 on average. Method: Knuth, TAOCP 2, 3.4.1.
fn poisson(random: &mut Random) -> f64 {
    let (limit, mut product, mut n) = ((-8.0_f64).exp(), 1.0, -1.0);
    while product > limit {
        product *= random.uniform();
        n += 1.0;
    }
    n
}

/// Of trials that only wander, hardly any is called unsteady.
#[test]
fn steady_trials_raise_no_alarm() {
    const TRIALS: u32 = 600;
    let mut random = Random::new(17);
    let mut alarms = Vec::new();
    // Spread, and autocorrelation at a tenth of a second; 0.95 there is still 0.6 at a second.
    for (spread, rho) in [(20.0, 0.0), (10.0, 0.3), (10.0, 0.8), (5.0, 0.95)] {
        for _ in 0..TRIALS {
            let mut state = normal(&mut random);
            let trial = trial(|_| {
                let now = 100.0 + spread * state;
                state = rho * state + f64::sqrt(1.0 - rho * rho) * normal(&mut random);
                now
            });
            alarms.extend(shape(&trial, false, 2).map(|s| (format!("ρ {rho}"), s)));
        }
    }
    for _ in 0..TRIALS {
        let by_chance = trial(|_| poisson(&mut random));
        alarms.extend(shape(&by_chance, false, 2).map(|s| ("80 a second by chance".to_owned(), s)));
        for noise in [Noise::HeavyTail, Noise::Stalls] {
            let mut next = noise.rounds(20.0, &mut random);
            let trial = trial(|_| next().max(0.0));
            alarms.extend(shape(&trial, false, 2).map(|s| (format!("{noise:?}"), s)));
        }
    }
    assert!(alarms.len() <= 2, "{} of {}: {alarms:?}", alarms.len(), 7 * TRIALS);
}

/// Poisson arrivals of 80 I/Os a second, with a limit that is halved, a ramp of 4 s, or a burst of three times the rate.
#[test]
fn unsteady_trials_are_seen_through_the_noise_of_few_ios() {
    const TRIALS: u32 = 300;
    let mut random = Random::new(23);
    let mut seen = |factor: fn(u32) -> f64, disturbed: bool, is: fn(&Shape) -> bool| {
        let mut seen = 0;
        for _ in 0..TRIALS {
            let trial = trial(|step| poisson(&mut random) * factor(step));
            seen += u32::from(shape(&trial, disturbed, 2).as_ref().is_some_and(is));
        }
        seen
    };
    let halved = seen(|i| if i < 100 { 2.0 } else { 1.0 }, true, |s| near(s, 2, 50));
    let ramps = seen(|i| (f64::from(i + 1) / 40.0).min(1.0), false, |s| place(s).0 == 0);
    let bursts = seen(|i| if i < 60 { 3.0 } else { 1.0 }, false, |s| near(s, 1, 30));
    assert!(halved >= 240 && ramps >= 200 && bursts >= 285, "{halved}, {ramps}, {bursts} of {TRIALS}");
}

fn near(shape: &Shape, kind: u8, batch: usize) -> bool {
    let (found, at) = place(shape);
    found == kind && at.abs_diff(batch) <= 2
}

/// The number of the shape's kind, and its batch.
fn place(shape: &Shape) -> (u8, usize) {
    match shape {
        Shape::Settled { batches, .. } => (0, *batches),
        Shape::Fell(c) => (1, c.at),
        Shape::Changed { largest, .. } => (2, largest.at),
        Shape::Episodes(found) => (3, found.places[0].0),
    }
}

/// Of trials of 60 to 200 steps of a tenth of a second without a return to a level, hardly any has an episode.
#[test]
fn steady_noisy_wandering_and_trending_trials_have_no_episodes() {
    const TRIALS: u32 = 400;
    let mut random = Random::new(31);
    let mut alarms = BTreeMap::new();
    for (steps, shortest) in [(30, 2), (60, 4), (100, 2), (200, 4)] {
        for kind in [
            "steady",
            "noisy",
            "few I/Os",
            "stalls",
            "tails",
            "wanders 0.8",
            "wanders 0.95",
            "trend",
            "swell",
        ] {
            let mut found = 0;
            for _ in 0..TRIALS {
                let trial = wandering(kind, steps, &mut random);
                found += u32::from(stats::episodes(&trial, shortest, 1e-3).is_some());
            }
            *alarms.entry(kind).or_insert(0) += found;
        }
    }
    // of 1600 trials of each kind
    let all: u32 = alarms.values().sum();
    assert!(all <= 3, "{all} of {}: {alarms:?}", 4 * 9 * TRIALS);
}

fn wandering(kind: &str, steps: u32, random: &mut Random) -> Vec<f64> {
    let tailed = |noise: Noise, random: &mut Random| -> Vec<f64> {
        let mut next = noise.rounds(20.0, random);
        (0..steps).map(|_| next().max(0.0)).collect()
    };
    let wave = |step: u32| 40.0 * (f64::from(step) / 9.0).sin();
    let (spread, rho, way): (f64, f64, fn(u32, f64) -> f64) = match kind {
        "stalls" => return tailed(Noise::Stalls, random),
        "tails" => return tailed(Noise::HeavyTail, random),
        "few I/Os" => return (0..steps).map(|_| poisson(random) + poisson(random)).collect(),
        "steady" => (1.0, 0.0, |_, _| 0.0),
        "noisy" => (25.0, 0.0, |_, _| 0.0),
        "wanders 0.8" => (15.0, 0.8, |_, _| 0.0),
        "wanders 0.95" => (15.0, 0.95, |_, _| 0.0),
        "trend" => (3.0, 0.0, |step, _| f64::from(step)),
        _ => (3.0, 0.0, |_, wave| wave),
    };
    let mut state = normal(random);
    let mut one = |step: u32| {
        let now = 100.0 + spread * state + way(step, wave(step));
        state = rho * state + f64::sqrt(1.0 - rho * rho) * normal(random);
        now.max(0.0)
    };
    (0..steps).map(&mut one).collect()
}

/// Episodes in noise of 6 %, some of it wandering, in trials of 6 s and of 20 s: an outage, two outages and a rise of different lengths,
/// and a dip to 40 % for half a second in every two.
#[test]
fn pairs_several_pairs_and_periods_are_found_where_they_are() {
    const TRIALS: u32 = 400;
    let cases: [(&str, u32, Level, usize, Option<f64>); 5] = [
        ("an outage of 2 s in 6", 60, |i| if (20..40).contains(&i) { 0.0 } else { 1.0 }, 1, None),
        ("an outage of 1 s in 20", 200, |i| if (20..30).contains(&i) { 0.0 } else { 1.0 }, 1, None),
        ("two pairs", 60, |i| if (8..16).contains(&i) || (40..54).contains(&i) { 0.3 } else { 1.0 }, 2, None),
        ("a period", 60, |i| if i % 20 >= 10 && i % 20 < 15 { 0.4 } else { 1.0 }, 3, Some(20.0)),
        ("a long period", 200, |i| if i % 20 >= 10 && i % 20 < 15 { 0.4 } else { 1.0 }, 10, Some(20.0)),
    ];
    let mut random = Random::new(37);
    for (name, steps, level, episodes, period) in cases {
        for rho in [0.0, 0.5] {
            let (mut found, mut even) = (0, 0);
            for _ in 0..TRIALS {
                let mut state = normal(&mut random);
                let mut next = || {
                    state = rho * state + f64::sqrt(1.0 - rho * rho) * normal(&mut random);
                    1.0 + 0.06 * state
                };
                let trial: Vec<f64> = (0..steps).map(|i| 1000.0 * level(i) * next()).collect();
                let Some(Shape::Episodes(said)) = shape(&trial, false, 4) else { continue };
                found += u32::from(said.places.len() == episodes);
                even += u32::from(said.period.map(f64::round) == period);
            }
            assert!(found >= 380 && even >= 380, "{name}, ρ {rho}: {found} and {even} of {TRIALS}");
        }
    }
}

/// A factor by step.
type Level = fn(u32) -> f64;
