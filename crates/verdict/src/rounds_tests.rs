//! Findings over rounds are about the figure by which the cell is judged, whatever its engine.

use crate::run_tests::{cell, run, run_with};
use crate::testing::{totals, whole};
use record::bonnie::{Bonnie, BonnieAsk, Figure};
use record::copy::{Copied, Copier, Copies, CopyAsk, CopyOrder, CopySync, Corpus, CorpusKind, Preserve};
use record::finding::Claim;
use record::plan::{Cell, Goal, Until};
use record::trial::{EngineOutput, TrialRecord};
use record::workload::{Ask, EngineKind};
use std::collections::BTreeMap;

fn bonnie() -> Ask {
    Ask::Bonnie(BonnieAsk {
        size_bytes: 1 << 30,
        chunk_bytes: 8192,
        ram_bytes: None,
        files: 0,
        max_bytes: 0,
        min_bytes: 0,
        directories: 0,
        per_character: false,
        no_buffering: false,
        direct: false,
        concurrency: 1,
    })
}

fn copy() -> Ask {
    Ask::Copy(CopyAsk {
        corpus: Corpus::Generated { kind: CorpusKind::Mail, files: 10, seed: 1, size_bytes: 1000 },
        copier: Copier::Native,
        writers: 1,
        copies: Copies::Each,
        order: vec![CopyOrder::Ascending],
        sync: CopySync::End,
        preserve: Preserve::default(),
        verify: false,
    })
}

fn copied(files: u64) -> Copied {
    Copied {
        source: "in memory".to_owned(),
        files,
        directories: 1,
        links: 0,
        logical_bytes: files * 1000,
        allocated_bytes: None,
        extents: None,
        writers: Vec::new(),
        sync_seconds: 0.0,
        verified_cold: None,
    }
}

/// A cell of a copy or of Bonnie++, with the figure of each round.
fn other_engine(ask: Ask, values: &[f64], figure: fn(&mut EngineOutput, f64)) -> (Cell, Vec<TrialRecord>) {
    let (mut cell, mut trials) = cell("c", &vec![2000; values.len()]);
    (cell.workload.engine, cell.workload.ask) = (EngineKind::Corpus, ask);
    for (trial, value) in trials.iter_mut().zip(values) {
        let engine = trial.engine.as_mut().unwrap();
        (engine.read, engine.write) = (None, None);
        figure(engine, *value);
    }
    (cell, trials)
}

const CLIMB: [f64; 6] = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0];

#[test]
fn copies_and_bonnie_are_tested_over_rounds_in_their_own_figures() {
    let cells = [
        (
            other_engine(bonnie(), &CLIMB, |engine, value| {
                let figures = BTreeMap::from([("block_output_bw".to_owned(), Figure::Value(value * 1e6))]);
                engine.bonnie = Some(Bonnie { version: "2.00a".to_owned(), figures, memory_bytes: None });
            }),
            ("first_round_bytes_per_second", 100e6, "MB/s"),
        ),
        (
            other_engine(copy(), &CLIMB, |engine, value| {
                engine.write = Some(totals(1, 1));
                engine.copied = Some(copied(whole(value * 20.0)));
            }),
            ("first_round_files_per_second", 100.0, "files/s"),
        ),
    ];
    for (cell, (key, first, unit)) in cells {
        let view = run(&[cell], vec![]);
        let trend = view.findings.iter().find(|f| f.claim == Claim::Trend);
        let trend = trend.unwrap_or_else(|| panic!("{key}: {:?}", view.findings));
        assert!((trend.evidence[key] / first - 1.0).abs() < 0.01, "{trend:?}");
        assert!(trend.text.contains(unit) && !trend.text.contains("IOPS"), "{}", trend.text);
        assert!(!trend.evidence.contains_key("first_round_iops"));
    }
}

#[test]
fn rounds_are_tested_in_the_figure_that_until_asks_for() {
    // The rate is constant, the latency rises.
    let (cell, mut trials) = cell("c", &[2000; 6]);
    for (trial, value) in trials.iter_mut().zip(CLIMB) {
        let read = trial.engine.as_mut().unwrap().read.as_mut().unwrap();
        read.latency_mean_ns = Some(value * 1e3);
    }
    let of = |of: Option<&str>| {
        let until = Until::new(Goal::Interval(0.05), of.map(str::to_owned));
        run_with(&[(cell.clone(), trials.clone())], |plan| plan.measure.until = Some(until)).findings
    };
    assert!(of(None).iter().all(|f| f.claim != Claim::Trend));
    let found = of(Some("read_lat_mean"));
    let trend = found.iter().find(|f| f.claim == Claim::Trend).unwrap();
    assert!((trend.evidence["last_round_read_lat_mean"] - 600.0).abs() < 1.0, "{trend:?}");
    assert!(trend.text.contains("us"), "{}", trend.text);
}
