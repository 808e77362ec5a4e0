//! Files from earlier versions stay readable. A pinned file is never rewritten: each format has its own.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/sample.rs"]
mod sample;

use diskproof_store::{STORE_FORMAT, Store};
use record::counter::{CpuQuota, NetCounters};
use record::event::Stopped;
use record::extents::Residency;
use record::latency::LatencySteps;
use record::plan::{Derived, Formula, Goal, Measure, Plan, Prices, Until};
use record::trial::{
    EngineOutput, FaultKind, GeneratorCost, Outcome, Series, Totals, TrialRecord, Verified, VerifyFault,
};
use record::version::FormatVersion;
use record::volume::Limits;
use sample::{cell_id, environment, plan, run_id, trial};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn pinned(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/store-{version}.db"))
}

fn failed() -> TrialRecord {
    let mut failed = trial(1, 0);
    failed.outcome = Outcome::Failed("mkfs.xfs ended with 1".to_owned());
    failed.engine = None;
    failed
}

/// Returns a plan as a writer of that record format wrote it.
fn planned(format: FormatVersion) -> Plan {
    let minor_2 = format >= FormatVersion { major: 1, minor: 2 };
    Plan { format, ..if minor_2 { plan_with_all_of_1_2() } else { plan(2, 1) } }
}

fn written(format: FormatVersion, trial: TrialRecord) -> TrialRecord {
    TrialRecord { format, ..trial }
}

/// Returns a trial with everything that records of 1.1 have and those of 1.0 can't have.
fn with_all_of_1_1() -> TrialRecord {
    let mut trial = trial(0, 0);
    let engine = trial.engine.take().unwrap();
    trial.engine = Some(EngineOutput {
        departures: Vec::new(),
        trim: Some(Totals { ios: 3, bytes: 3 << 16, seconds: 1.0 / 7.0, ..Totals::default() }),
        verified: Some(Verified {
            bytes: 1 << 40,
            faults: vec![VerifyFault {
                kind: FaultKind::Misdirected,
                count: 2,
                path: "/m/diskproof-data.0".to_owned(),
                offsets_bytes: vec![4096, u64::MAX],
                example: "a block of offset 0".to_owned(),
            }],
        }),
        generator: Some(GeneratorCost {
            user_seconds: 0.1 + 0.2,
            busiest_thread_seconds: Some(1.0 / 3.0),
            user_instructions_per_io: Some(265.0),
            peak_memory_bytes: Some(13 << 20),
            ..GeneratorCost::default()
        }),
        ..engine
    });
    trial
}

/// Returns a plan with everything that plans of 1.2 have and those of 1.1 can't have.
fn plan_with_all_of_1_2() -> Plan {
    let plain = plan(2, 1);
    let formula = Formula { factor: 1.0 / 3.0, over: Some("iops".to_owned()), under: None };
    Plan {
        measure: Measure {
            max_trial_seconds: Some(60.0),
            until: Some(Until::new(Goal::Told(0.02), Some("read_lat_p99".to_owned()))),
            max_written_bytes: Some(u64::MAX),
            max_cost: Some(0.1 + 0.2),
            trim: Some(0.1),
            ..plain.measure
        },
        prices: Prices {
            currency: Some("EUR".to_owned()),
            per_hour: BTreeMap::from([("vol[0]".to_owned(), 1.0 / 7.0)]),
            ..Prices::default()
        },
        derived: vec![Derived {
            name: "per_third".to_owned(),
            expression: "iops / 3".to_owned(),
            cells: BTreeMap::from([(cell_id(0), formula)]),
        }],
        ..plain
    }
}

/// Returns a trial with everything that trials of 1.2 have and those of 1.1 can't have.
fn with_all_of_1_2() -> TrialRecord {
    let mut trial = with_all_of_1_1();
    let engine = trial.engine.take().unwrap();
    let series = Series {
        start_ns: u64::MAX - 1,
        step_ns: 100_000_000,
        read_ios: vec![3, 0, u64::MAX],
        write_ios: Vec::new(),
        trim_ios: vec![1],
        bytes: vec![1 << 50],
        ..Series::default()
    };
    trial.engine = Some(EngineOutput { series: Some(series), ..engine });
    let resident = |cached_bytes| Residency {
        path: "/v/a \"b\".img".into(),
        size_bytes: 1 << 40,
        cached_bytes,
        dirty_bytes: None,
    };
    trial.backing_before = vec![resident(0)];
    trial.backing_after = vec![resident(4096)];
    let last = trial.evidence.samples.last_mut().unwrap();
    let limits = Limits { read_iops: Some(80), ..Limits::default() };
    last.throttles = Some(BTreeMap::from([("7:0".to_owned(), limits)]));
    last.cpu_quota =
        Some(CpuQuota { cpus: 0.02, throttled_periods: 3, periods: 20, throttled_ns: 1_000_000_001 });
    last.network = BTreeMap::from([(
        "eth0".to_owned(),
        NetCounters { received_bytes: 1 << 60, sent_bytes: 0, speed_mbps: None },
    )]);
    last.journal_commits = BTreeMap::from([("loop0".to_owned(), 7)]);
    trial
}

/// Returns a trial with everything that trials of 1.4 have and those of 1.2 can't have, apart from what other tests hold.
fn with_all_of_1_4() -> TrialRecord {
    let mut trial = with_all_of_1_2();
    let series = trial.engine.as_mut().unwrap().series.as_mut().unwrap();
    series.read_latency = Some(LatencySteps {
        step_ns: 200_000_000,
        p50_ns: vec![Some(1), None],
        p99_ns: vec![None, None],
        max_ns: vec![Some(u64::MAX), None],
    });
    trial
}

#[test]
#[ignore = "makes the file to pin when the format of the store or of records has changed"]
fn make_the_file_of_this_format() {
    let path = pinned(&format!("{STORE_FORMAT}-record-{}", FormatVersion::RECORD));
    assert!(!path.exists(), "{} is pinned", path.to_string_lossy());
    let store = Store::open(&path).unwrap();
    let run = run_id("20261121-201455-3f9a");
    store.create_run(&run, &plan_with_all_of_1_2(), &environment("6.1")).unwrap();
    store.append_trial(&run, &with_all_of_1_4()).unwrap();
    store.append_trial(&run, &failed()).unwrap();
    store.append_trial(&run, &cut_off()).unwrap();
    store.finish_run(&run, &Stopped::RoundsDone { rounds: 1 }).unwrap();
    store.tag(&run, "nightly-42", false).unwrap();
}

/// A trial of records of 1.5 that is not made again yet.
fn cut_off() -> TrialRecord {
    let outcome = Outcome::Failed("target b: the connection to the agent process is lost".to_owned());
    TrialRecord { cut_off: true, outcome, engine: None, ..trial(0, 1) }
}

/// Opens a copy of a pinned file, reads all of it, and continues the run.
fn reads(file: &str, format: FormatVersion, first: TrialRecord) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy.db");
    fs::copy(pinned(file), &path).unwrap();
    let store = Store::open(&path).unwrap();
    let run = store.find("2026").unwrap();
    let data = store.load(&run).unwrap();
    assert_eq!(data.plan, planned(format));
    assert_eq!(data.environment, environment("6.1"));
    assert_eq!(data.stopped, Stopped::RoundsDone { rounds: 1 });
    assert_eq!(data.trials, [written(format, first), written(format, failed())]);
    let summary = &store.runs().unwrap()[0];
    assert_eq!((summary.trials_done, summary.trials_failed, summary.trials_planned), (2, 1, 2));
    store.append_trial(&run, &trial(0, 1)).unwrap();
    assert_eq!(store.done(&run).unwrap().len(), 3);
}

#[test]
fn a_file_of_records_of_1_0_reads_as_it_was_written_and_can_be_gone_on_with() {
    reads("1.0", FormatVersion { major: 1, minor: 0 }, trial(0, 0));
}

#[test]
fn a_file_of_records_of_1_1_reads_as_it_was_written_and_can_be_gone_on_with() {
    reads("1.0-record-1.1", FormatVersion { major: 1, minor: 1 }, with_all_of_1_1());
}

#[test]
fn a_file_of_records_of_1_2_reads_as_it_was_written_and_can_be_gone_on_with() {
    reads("1.1-record-1.2", FormatVersion { major: 1, minor: 2 }, with_all_of_1_2());
}

#[test]
fn a_file_of_records_of_1_4_reads_as_it_was_written_and_can_be_gone_on_with() {
    reads("1.2-record-1.4", FormatVersion { major: 1, minor: 4 }, with_all_of_1_4());
}

#[test]
fn a_file_of_1_2_has_tags_and_those_of_older_formats_can_get_some() {
    reads("1.2-record-1.3", FormatVersion { major: 1, minor: 3 }, with_all_of_1_2());
    for (file, tag) in [
        ("1.3-record-1.5", Some("nightly-42")),
        ("1.4-record-1.5", Some("nightly-42")),
        ("1.2-record-1.3", Some("nightly-42")),
        ("1.1-record-1.2", None),
        ("1.0", None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("copy.db");
        fs::copy(pinned(file), &path).unwrap();
        let store = Store::open(&path).unwrap();
        let run = store.find("2026").unwrap();
        assert_eq!(store.runs().unwrap()[0].tags, tag.map(str::to_owned).into_iter().collect::<Vec<_>>());
        store.tag(&run, "base", false).unwrap();
        assert_eq!(store.find("sample@base").unwrap(), run);
        assert_eq!(store.find("sample@last").unwrap(), run);
    }
}

#[test]
fn a_file_of_1_3_has_a_trial_that_was_cut_off_and_takes_the_one_made_in_its_place() {
    for file in ["1.3-record-1.5", "1.4-record-1.5"] {
        takes_a_trial_in_the_place_of_one_that_was_cut_off(file);
    }
}

fn takes_a_trial_in_the_place_of_one_that_was_cut_off(file: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy.db");
    fs::copy(pinned(file), &path).unwrap();
    let store = Store::open(&path).unwrap();
    let run = store.find("2026").unwrap();
    let format = FormatVersion { major: 1, minor: 5 };
    let all = [with_all_of_1_4(), failed(), cut_off()].map(|trial| written(format, trial));
    assert_eq!(store.load(&run).unwrap().trials, all);
    assert_eq!(store.done(&run).unwrap().len(), 2);
    store.append_trial(&run, &trial(0, 1)).unwrap();
    assert_eq!((store.done(&run).unwrap().len(), store.load(&run).unwrap().trials.len()), (3, 4));
}
