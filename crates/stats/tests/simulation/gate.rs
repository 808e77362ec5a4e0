//! The gate: how often it calls equal runs a regression, and how often it finds one.

use super::noise::normal;
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{GateOutcome, GatedFigure, gate, unpaired_ratio};

const ROUNDS: u32 = 6;

/// The figures of one cell: rate, 99th percentile, CPU per I/O, with their weights and margins as verdicts have them.
const CELL: [(f64, f64); 3] = [(1.0, 0.05), (2.0, 0.05), (1.0, 0.10)];
/// The place of the 99th percentile in [`CELL`].
const TAIL: usize = 1;

/// The outcome for all figures of two runs with this many cells. The tail latency of the first cell is worse by `factor`.
fn outcome(cells: usize, factor: f64, noise: f64, random: &mut Random) -> GateOutcome {
    let run = |level: f64, random: &mut Random| -> Vec<f64> {
        (0..ROUNDS).map(|_| 100.0 * level * (noise * normal(random)).exp()).collect()
    };
    let mut figures = Vec::new();
    for cell in 0..cells {
        for (at, (weight, margin)) in CELL.into_iter().enumerate() {
            let level = if (cell, at) == (0, TAIL) { factor } else { 1.0 };
            let (new, old) = (run(level, random), run(1.0, random));
            let worse = unpaired_ratio(&new, &old, 0.95).unwrap();
            figures.push(GatedFigure { worse, margin: f64::ln_1p(margin), resolution: 0.0, weight });
        }
    }
    let outcomes = gate(&figures, 0.05);
    let has = |wanted| outcomes.contains(&wanted);
    if has(GateOutcome::Regression) {
        GateOutcome::Regression
    } else if has(GateOutcome::Undecided) {
        GateOutcome::Undecided
    } else {
        GateOutcome::Pass
    }
}

/// Equal runs are called a regression in at most 5 %, whatever the number of cells and the noise. A p99 that is 10 % worse, with 5 % noise and
/// six rounds, is found in at least 80 %. A run that is worse by twice a margin passes in at most 5 %.
#[test]
fn the_gate_errs_in_five_percent_at_most_and_finds_ten_percent() {
    let n = repetitions(1000);
    let columns = ["cells", "noise", "p99 of one cell", "regression", "pass", "undecided"];
    let mut table =
        Table::new("80-gate.md", "The gate, 6 rounds in each run, margins as by default", &columns);
    let mut random = Random::new(81);
    for cells in [1, 4, 12] {
        for noise in [0.02, 0.05, 0.10] {
            for factor in [1.0, 1.05, 1.10, 1.11, 1.20] {
                let outcomes: Vec<GateOutcome> =
                    (0..n).map(|_| outcome(cells, factor, noise, &mut random)).collect();
                let of = |wanted| share(outcomes.iter().filter(|o| **o == wanted).count() as u32, n);
                let (regression, pass) = (of(GateOutcome::Regression), of(GateOutcome::Pass));
                let case = format!("{cells} cells, noise {noise}, factor {factor}");
                let limit = 0.05 + slack(0.05, n);
                if factor == 1.0 {
                    assert!(regression <= limit, "{case}: {regression} false alarms");
                }
                // Twice the margin is 1.05 times 1.05.
                if factor >= 1.11 {
                    assert!(pass <= limit, "{case}: {pass} false passes");
                }
                if (cells, noise, factor) == (1, 0.05, 1.10) {
                    assert!(regression >= 0.80, "{case}: {regression} found");
                }
                table.row(&[
                    cells.to_string(),
                    format!("{:.0} %", 100.0 * noise),
                    format!("{factor:.2} times"),
                    percent(regression),
                    percent(pass),
                    percent(of(GateOutcome::Undecided)),
                ]);
            }
        }
    }
    table.write();
}
