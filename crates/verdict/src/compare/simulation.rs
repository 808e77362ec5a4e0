//! Simulations of whole gates and histories, on made runs with known truth. Seeds are fixed.

use super::gate::{Rules, gate};
use super::history::{PastRun, history};
use super::judged::{Usual, Wanted};
use super::tests::Made;
use crate::generator as random;
use crate::run_tests::cell;
use random::Random;
use record::comparison::Passage;
use record::history::HistoryChange;
use record::id::RunId;
use record::judged::Metric;

const PAIRS: usize = 200;
const NOISE: f64 = 0.05;
const ROUNDS: [u64; 6] = [2000; 6];

/// Standard normal. Source: Box, Muller (1958), Annals of Mathematical Statistics 29:610-611.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.uniform()).cos()
}

fn usual() -> Wanted {
    Wanted { usual: Usual::Gated, ..Wanted::default() }
}

/// A judged run of these cells. Judging takes long in a test, so the others are copies of it.
fn like(cells: &[&str]) -> Made {
    Made::of("like", &cells.iter().map(|name| cell(name, &ROUNDS)).collect())
}

fn copy(like: &Made, name: &str) -> Made {
    let mut made = Made { plan: like.plan.clone(), view: like.view.clone() };
    made.view.run = RunId(name.to_owned());
    made
}

/// Sets the rounds of rate, 99th percentile and CPU per I/O of all cells, each with 5 % noise; the tail latency is `tail` times as long.
fn measured(mut made: Made, tail: f64, random: &mut Random) -> Made {
    for cell in &mut made.view.cells {
        let figures = [
            ("iops", "1/s", 2000.0),
            ("read_lat_p99", "us", 8000.0 * tail),
            ("engine_cpu_per_io", "ns", 3000.0),
        ];
        for (name, unit, level) in figures {
            let values: Vec<f64> = ROUNDS.iter().map(|_| level * (NOISE * normal(random)).exp()).collect();
            let like = cell.metrics["iops"].clone();
            let metric = Metric { unit: unit.to_owned(), values, ..like };
            cell.metrics.insert(name.to_owned(), metric);
        }
    }
    made
}

/// The results of the gate for 200 pairs of runs.
fn passages(tail: f64, random: &mut Random) -> Vec<Passage> {
    let like = like(&["a"]);
    let one = |_| {
        let (old, new) = (copy(&like, "old"), copy(&like, "new"));
        let (old, new) = (measured(old, 1.0, random), measured(new, tail, random));
        let comparison = gate(&new.judged(), &old.judged(), &usual(), &Rules::default());
        assert_eq!(comparison.lines.len(), 3);
        comparison.gate.unwrap().passage
    };
    (0..PAIRS).map(one).collect()
}

/// The bar: of equal runs at most 5 % are called a regression, and a p99 that is 10 % worse is found in at least 80 %, with six rounds of 5 % noise and
/// the gate as it is by default.
#[test]
fn of_200_pairs_few_are_false_alarms_and_most_regressions_are_found() {
    let mut random = Random::new(2311);
    let count = |all: &[Passage], of: Passage| all.iter().filter(|p| **p == of).count();
    let equal = passages(1.0, &mut random);
    let alarms = count(&equal, Passage::Regression);
    assert!(alarms * 20 <= PAIRS, "{alarms} false alarms of {PAIRS}");
    let passed = count(&equal, Passage::Pass);
    assert!(passed * 10 >= PAIRS * 6, "only {passed} of {PAIRS} equal pairs pass");
    let worse = passages(1.1, &mut random);
    let found = count(&worse, Passage::Regression);
    assert!(found * 10 >= PAIRS * 8, "{found} found of {PAIRS}");
}

/// A p99 that is 10 % worse from one run on: the run is named, or the one beside it, with what else changed at it.
#[test]
fn a_history_names_the_run_that_made_it_worse() {
    let mut random = Random::new(2312);
    let (mut near, mut named) = (0, 0);
    const HISTORIES: usize = 20;
    let like = like(&["a", "b"]);
    for _ in 0..HISTORIES {
        for step in [None, Some(12)] {
            let runs: Vec<Made> = (0..18)
                .map(|at| {
                    let made = copy(&like, &format!("run-{at:02}"));
                    let worse = step.is_some_and(|step| at >= step);
                    let mut made = measured(made, if worse { 1.1 } else { 1.0 }, &mut random);
                    made.view.environment.kernel = Some(if worse { "6.12.0" } else { "6.1.0" }.to_owned());
                    made
                })
                .collect();
            let past: Vec<PastRun<'_>> = (0_u64..)
                .zip(&runs)
                .map(|(at, made)| PastRun { judged: made.judged(), started_unix_ms: at, tags: Vec::new() })
                .collect();
            let view = history(&past, &usual()).unwrap();
            assert_eq!((view.lines.len(), view.runs.len()), (6, 18));
            let changes: Vec<(&str, &HistoryChange)> = view
                .lines
                .iter()
                .flat_map(|line| line.changes.iter().map(|change| (line.metric.as_str(), change)))
                .collect();
            if step.is_none() {
                named += usize::from(!changes.is_empty());
                continue;
            }
            let is_near = |run: &str| ["run-11", "run-12", "run-13"].contains(&run);
            near += usize::from(changes.iter().any(|(metric, change)| {
                *metric == "read_lat_p99" && change.is_worse && is_near(&change.run.0)
            }));
            for (_, exact) in changes.iter().filter(|(_, c)| c.run.0 == "run-12") {
                assert_eq!(exact.after_run.0, "run-11");
                let kernel = exact.differences.iter().find(|d| d.what == "kernel").unwrap();
                assert_eq!(kernel.text, "kernel was 6.1.0, and is 6.12.0 from this run on");
            }
        }
    }
    assert!(near * 10 >= HISTORIES * 9, "{near} of {HISTORIES} named within one run");
    assert!(named <= 4, "{named} of {HISTORIES} equal histories name a run");
}

#[test]
fn runs_of_another_machine_and_cells_of_another_workload_are_not_part_of_a_history() {
    let mut random = Random::new(2313);
    let like = like(&["a"]);
    let runs: Vec<Made> = (0..10)
        .map(|at| {
            let mut made = measured(copy(&like, &format!("run-{at}")), 1.0, &mut random);
            if at == 3 {
                made.view.environment.cpu_model = Some("Other CPU".to_owned());
            }
            if at == 4 {
                made.plan.cells[0].workload.cache = record::workload::CacheStart::Warm;
            }
            made
        })
        .collect();
    let past: Vec<PastRun<'_>> = runs
        .iter()
        .map(|made| PastRun { judged: made.judged(), started_unix_ms: 0, tags: vec!["t".to_owned()] })
        .collect();
    let view = history(&past, &usual()).unwrap();
    assert_eq!(view.left_out.len(), 1);
    assert_eq!(view.left_out[0].text, "CPU model is Other CPU, in the latest run Example CPU");
    assert_eq!((view.runs.len(), view.lines[0].points.len()), (9, 8));
    assert!(!view.lines[0].points.iter().any(|p| p.run == 3), "run-4 is the fourth of those that are left");
    assert!(history(&[], &usual()).is_none());
}
