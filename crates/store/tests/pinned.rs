//! Files that earlier versions wrote stay readable. A pinned file is never written anew: each format gets its own.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/sample.rs"]
mod sample;

use diskproof_store::{STORE_FORMAT, Store};
use record::event::Stopped;
use record::plan::Plan;
use record::trial::{
    EngineOutput, FaultKind, GeneratorCost, Outcome, Totals, TrialRecord, Verified, VerifyFault,
};
use record::version::FormatVersion;
use sample::{environment, plan, run_id, trial};
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

/// The samples as a writer of that record format wrote them.
fn planned(format: FormatVersion) -> Plan {
    Plan { format, ..plan(2, 1) }
}

fn written(format: FormatVersion, trial: TrialRecord) -> TrialRecord {
    TrialRecord { format, ..trial }
}

/// What records of 1.1 may hold and those of 1.0 can't.
fn with_all_of_1_1() -> TrialRecord {
    let mut trial = trial(0, 0);
    let engine = trial.engine.take().unwrap();
    trial.engine = Some(EngineOutput {
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

#[test]
#[ignore = "makes the file to pin when the format of the store or of records has changed"]
fn make_the_file_of_this_format() {
    let path = pinned(&format!("{STORE_FORMAT}-record-{}", FormatVersion::RECORD));
    assert!(!path.exists(), "{} is pinned", path.display());
    let store = Store::open(&path).unwrap();
    let run = run_id("20261121-201455-3f9a");
    store.create_run(&run, &plan(2, 1), &environment("6.1")).unwrap();
    store.append_trial(&run, &with_all_of_1_1()).unwrap();
    store.append_trial(&run, &failed()).unwrap();
    store.finish_run(&run, &Stopped::RoundsDone { rounds: 1 }).unwrap();
}

/// Opens a copy of a pinned file, reads all of it, and goes on with it.
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
