//! Agreements of synthetic records.

use super::{agreement, is_calibration};
use crate::Input;
use crate::testing::{MIB, Truth, filesystem, totals, whole};
use record::agreement::{Agreement, AgreementStatus, Cause, Margins, MetricAgreement};
use record::environment::Environment;
use record::event::Stopped;
use record::id::{CellId, RunId};
use record::latency::LatencyHistogram;
use record::plan::{Measure, Plan};
use record::stack::FsKind;
use record::trial::{Outcome, Totals, TrialRecord};
use record::workload::{EngineKind, Rw};
use std::collections::BTreeMap;

const MARGINS: Margins = Margins { rate: 0.01, latency: 0.02 };

/// A run of random reads by both engines.
struct Bench {
    plan: Plan,
    trials: Vec<TrialRecord>,
}

impl Bench {
    fn new() -> Self {
        let cells = [EngineKind::Native, EngineKind::Fio].map(|engine| truth(engine).cell);
        let measure = Measure::new(20.0, 0.0, 5);
        let plan = Plan { seed: 1, ..Plan::new("calibrate".to_owned(), cells.to_vec(), measure) };
        Self { plan, trials: Vec::new() }
    }

    /// Adds a trial of `ios` I/Os with these latencies (ns, count) and other changes.
    fn add(
        &mut self,
        engine: EngineKind,
        round: u32,
        ios: u64,
        latency: &[(u64, u64)],
        change: impl FnOnce(&mut Truth),
    ) {
        let mut truth = truth(engine);
        truth.asked(ios * 4096, 0);
        truth.device_read = ios * 4096;
        change(&mut truth);
        let mut trial = truth.record();
        trial.id.round = round;
        let sum: u64 = latency.iter().map(|(ns, n)| ns * n).sum();
        let count: u64 = latency.iter().map(|(_, n)| n).sum();
        trial.engine.as_mut().unwrap().read = Some(Totals {
            latency: LatencyHistogram { bins_ns: latency.iter().copied().collect() },
            latency_mean_ns: Some(sum as f64 / count as f64),
            ..totals(ios, 4096)
        });
        self.trials.push(trial);
    }

    /// Five rounds in which a round's factor changes both engines alike.
    fn rounds(native_factor: f64, latency: fn(u64, f64) -> Vec<(u64, u64)>) -> Self {
        let mut bench = Self::new();
        for (round, drift) in (0..).zip([1.0, 0.7, 1.4, 1.1, 0.9]) {
            let jitter = [1.0005, 0.9995, 1.0, 1.001, 0.999][round as usize];
            for (engine, factor) in [(EngineKind::Native, native_factor * jitter), (EngineKind::Fio, 1.0)] {
                let ios = whole(100_000.0 * drift * factor);
                bench.add(engine, round, ios, &latency(whole(1e6 / drift), factor), |_| {});
            }
        }
        bench
    }

    fn judge(&self) -> Agreement {
        agreement(
            &Input {
                run: &RunId("r".to_owned()),
                plan: &self.plan,
                environment: &Environment::default(),
                volumes: &[],
                trials: &self.trials,
                stopped: &Stopped::RoundsDone { rounds: 5 },
            },
            MARGINS,
        )
    }
}

fn truth(engine: EngineKind) -> Truth {
    let mut truth = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    let (name, version) =
        if engine == EngineKind::Native { ("native", "native-0.1.0") } else { ("fio", "fio-3.33") };
    truth.cell.id = CellId(format!("{name:0<16}"));
    truth.cell.workload.name = format!("randread-{name}");
    truth.cell.workload.engine = engine;
    truth.cell.levels = BTreeMap::from([("engine".to_owned(), name.to_owned())]);
    truth.trial.id.cell = truth.cell.id.clone();
    truth.trial.engine.as_mut().unwrap().engine = version.to_owned();
    truth.file(256 * MIB, |_| {});
    truth
}

/// All I/Os take the same time.
fn flat(ns: u64, _factor: f64) -> Vec<(u64, u64)> {
    vec![(ns, 10_000)]
}

fn line<'a>(agreement: &'a Agreement, metric: &str) -> &'a MetricAgreement {
    agreement.lines.iter().find(|l| l.metric == metric).unwrap()
}

#[test]
fn engines_that_agree_agree_although_the_rounds_drift() {
    let agreement = Bench::rounds(1.0, flat).judge();
    let metrics: Vec<&str> = agreement.lines.iter().map(|l| l.metric.as_str()).collect();
    assert_eq!(metrics, ["read_iops", "read_lat_mean", "read_lat_p50", "read_lat_p99"]);
    assert_eq!(agreement.count(AgreementStatus::Agree), 4, "{agreement:#?}");
    assert!(agreement.explanations.is_empty() && agreement.missing.is_empty());
    assert_eq!(
        (agreement.native.as_deref(), agreement.fio.as_deref()),
        (Some("native-0.1.0"), Some("fio-3.33"))
    );
    assert_eq!(line(&agreement, "read_iops").workload, "randread");
}

#[test]
fn a_slower_engine_is_told_and_what_nothing_explains_is_said() {
    let agreement = Bench::rounds(0.97, flat).judge();
    assert_eq!(line(&agreement, "read_iops").standing, AgreementStatus::Beyond);
    assert_eq!(line(&agreement, "read_lat_p50").standing, AgreementStatus::Agree);
    let texts: Vec<&str> = agreement.explanations.iter().map(|e| e.text.as_str()).collect();
    // 3 % fewer in flight are too few to speak of a cause.
    assert_eq!(texts, ["no available counter explains it"], "{agreement:#?}");
    assert_eq!(agreement.explanations[0].metrics, ["read_iops"]);
}

#[test]
fn fewer_in_flight_explain_fewer_iops() {
    let agreement = Bench::rounds(0.8, flat).judge();
    let causes: Vec<_> = agreement.explanations.iter().map(|e| e.cause).collect();
    assert_eq!(causes, [Some(Cause::Depth)], "{:#?}", agreement.explanations);
}

/// Half of the I/Os take 1 ms, half 70: a shift of 2 % of them moves p50 by a factor of 70.
#[test]
fn a_percentile_in_a_gap_is_explained() {
    let humps = |_: u64, factor: f64| {
        let fast = if factor > 1.1 { 4900 } else { 5100 };
        vec![(1_000_000, fast), (70_000_000, 10_000 - fast)]
    };
    let mut bench = Bench::rounds(1.0, flat);
    for trial in &mut bench.trials {
        let native = trial.id.cell == bench.plan.cells[0].id;
        let read = trial.engine.as_mut().unwrap().read.as_mut().unwrap();
        read.latency.bins_ns = humps(0, if native { 1.2 } else { 1.0 }).into_iter().collect();
    }
    let agreement = bench.judge();
    assert_eq!(line(&agreement, "read_lat_p50").standing, AgreementStatus::Beyond);
    assert_eq!(line(&agreement, "read_lat_p99").standing, AgreementStatus::Agree);
    let gap = agreement.explanations.iter().find(|e| e.cause == Some(Cause::Gap)).unwrap();
    assert_eq!(gap.metrics, ["read_lat_p50"], "{gap:?}");
    assert_eq!(agreement.explanations.len(), 1, "{:#?}", agreement.explanations);
}

#[test]
fn what_fio_leaves_out_of_its_latencies_explains_longer_ones() {
    let mut bench = Bench::new();
    for round in 0..5 {
        bench.add(EngineKind::Native, round, 100_000, &[(120_832, 10_000)], |_| {});
        bench.add(EngineKind::Fio, round, 100_000, &[(100_864, 10_000)], |truth| {
            truth.trial.engine.as_mut().unwrap().raw =
                r#"{"jobs":[{"read":{"slat_ns":{"mean":18000.0,"N":100000}}}]}"#.to_owned();
        });
    }
    let agreement = bench.judge();
    assert_eq!(line(&agreement, "read_lat_p50").standing, AgreementStatus::Beyond);
    let said = agreement.explanations.iter().find(|e| e.cause == Some(Cause::Definition)).unwrap();
    assert!(said.text.contains("18 us"), "{}", said.text);
    assert_eq!(said.metrics, ["read_lat_mean", "read_lat_p50", "read_lat_p99"]);
}

#[test]
fn threads_against_a_ring_the_page_cache_and_other_requests_are_named() {
    let mut bench = Bench::new();
    for round in 0..5 {
        bench.add(EngineKind::Native, round, 50_000, &[(100_864, 10_000)], |truth| {
            truth.trial.engine.as_mut().unwrap().raw =
                r#"{"issued_by":"pread and pwrite, one thread for each I/O in flight"}"#.to_owned();
        });
        bench.add(EngineKind::Fio, round, 100_000, &[(100_864, 10_000)], |truth| {
            let engine = truth.trial.engine.as_mut().unwrap();
            engine.input = "[global]\nioengine=io_uring\n".to_owned();
            truth.options().direct = false;
            truth.device_read /= 2;
            truth.cached(128 * MIB, 256 * MIB);
        });
    }
    let agreement = bench.judge();
    let causes: Vec<Cause> = agreement.explanations.iter().filter_map(|e| e.cause).collect();
    assert!(causes.contains(&Cause::Means), "{:#?}", agreement.explanations);
    let evidence = &agreement.evidence[0];
    assert_eq!(evidence.fio.issued_by.as_deref(), Some("io_uring"));
    assert_eq!(evidence.native.device_io_bytes, None, "these records count no device I/Os");
}

#[test]
fn only_rounds_that_both_measured_count() {
    let mut bench = Bench::rounds(1.0, flat);
    bench.trials[0].outcome = Outcome::Failed("a reason".to_owned());
    let agreement = bench.judge();
    assert!(agreement.lines.iter().all(|l| l.rounds == 4), "{agreement:#?}");
    bench.trials.retain(|t| t.id.cell == bench.plan.cells[0].id);
    let alone = bench.judge();
    assert_eq!((alone.lines.len(), alone.missing.len()), (0, 1), "{alone:#?}");
}

#[test]
fn too_few_ios_for_a_percentile_are_said() {
    let mut bench = Bench::new();
    for round in 0..3 {
        for engine in [EngineKind::Native, EngineKind::Fio] {
            bench.add(engine, round, 50, &[(100_864, 50)], |_| {});
        }
    }
    let agreement = bench.judge();
    assert_eq!(agreement.missing, ["randread: too few I/Os for read_lat_p99 in some round"]);
}

#[test]
fn a_plan_with_one_engine_is_no_calibration() {
    let mut bench = Bench::new();
    assert!(is_calibration(&bench.plan));
    bench.plan.cells.pop();
    assert!(!is_calibration(&bench.plan));
    let mut other = Bench::new();
    match &mut other.plan.cells[1].workload.ask {
        record::workload::Ask::Options(o) => o.iodepth = 1,
        _ => unreachable!(),
    }
    assert!(!is_calibration(&other.plan), "they don't ask the same");
}
