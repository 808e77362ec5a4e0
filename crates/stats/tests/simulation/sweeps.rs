//! How far a figure scales along a factor, for truths with a known knee and for figures that don't grow.

use super::noise::normal;
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{Rounds, scaling};

const LEVELS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
const ROUNDS: usize = 6;

/// The knee found in six rounds of 5 % noise per trial, and 3 % that the round adds to all.
fn found(truth: impl Fn(f64) -> f64, random: &mut Random) -> usize {
    let mut cells = vec![Vec::new(); LEVELS.len()];
    for _ in 0..ROUNDS {
        let of_round = 1.0 + 0.03 * normal(random);
        for (cell, level) in cells.iter_mut().zip(LEVELS) {
            cell.push(Some(truth(level) * of_round * (1.0 + 0.05 * normal(random)).max(0.1)));
        }
    }
    let cells: Vec<Rounds> = cells.iter().map(Vec::as_slice).collect();
    scaling(&LEVELS, &cells, 0.5, None, 0.95).unwrap().knee
}

/// Knees within one level of the truth in at least 95 %; a figure that doesn't grow is said to scale in at most 5 %.
#[test]
fn knees_are_found_and_flat_sweeps_have_none() {
    let n = repetitions(400);
    let mut table = Table::new(
        "70-sweeps.md",
        "The knee of a sweep over depths 1 to 64, six rounds of 5 % noise",
        &["truth", "knee", "named exactly", "within one level"],
    );
    let mut random = Random(23);
    for (index, knee) in LEVELS.into_iter().enumerate().skip(1) {
        let sharp = move |level: f64| 1000.0 * level.min(knee);
        let round = move |level: f64| 1000.0 * level / (1.0 + level / (2.0 * knee));
        let slow = move |level: f64| 1000.0 * level.min(knee) * (level / knee).max(1.0).powf(0.15);
        let shapes: [(&str, &dyn Fn(f64) -> f64); 3] =
            [("sharp", &sharp), ("round", &round), ("grows slowly after it", &slow)];
        for (name, truth) in shapes {
            let knees: Vec<usize> = (0..n).map(|_| found(truth, &mut random)).collect();
            let count = |far: usize| knees.iter().filter(|found| found.abs_diff(index) <= far).count() as u32;
            let (exact, near) = (share(count(0), n), share(count(1), n));
            assert!(near >= 0.95 - slack(0.95, n), "{name} at {knee}: {near}");
            table.row(&[name.to_owned(), knee.to_string(), percent(exact), percent(near)]);
        }
    }
    let named = (0..n).filter(|_| found(|_| 1000.0, &mut random) > 0).count() as u32;
    assert!(share(named, n) <= 0.05 + slack(0.05, n), "{named} of {n} flat sweeps scale");
    table.row(&["flat".to_owned(), "none".to_owned(), percent(1.0 - share(named, n)), String::new()]);
    table.write();
}
