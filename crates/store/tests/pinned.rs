//! Files that earlier versions wrote stay readable. A pinned file is never written anew: each format gets its own.

#[path = "support/sample.rs"]
mod sample;

use diskproof_store::{STORE_FORMAT, Store};
use record::event::Stopped;
use record::trial::{Outcome, TrialRecord};
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

#[test]
#[ignore = "makes the file to pin when the format has changed"]
fn make_the_file_of_this_format() {
    let path = pinned(&STORE_FORMAT.to_string());
    assert!(!path.exists(), "{} is pinned", path.display());
    let store = Store::open(&path).unwrap();
    let run = run_id("20261121-201455-3f9a");
    store.create_run(&run, &plan(2, 1), &environment("6.1")).unwrap();
    store.append_trial(&run, &trial(0, 0)).unwrap();
    store.append_trial(&run, &failed()).unwrap();
    store.finish_run(&run, &Stopped::RoundsDone { rounds: 1 }).unwrap();
}

#[test]
fn a_file_of_format_1_0_reads_as_it_was_written_and_can_be_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy.db");
    fs::copy(pinned("1.0"), &path).unwrap();
    let store = Store::open(&path).unwrap();
    let run = store.find("2026").unwrap();
    let data = store.load(&run).unwrap();
    assert_eq!(data.plan, plan(2, 1));
    assert_eq!(data.environment, environment("6.1"));
    assert_eq!(data.stopped, Stopped::RoundsDone { rounds: 1 });
    assert_eq!(data.trials, [trial(0, 0), failed()]);
    let summary = &store.runs().unwrap()[0];
    assert_eq!((summary.trials_done, summary.trials_failed, summary.trials_planned), (2, 1, 2));
    store.append_trial(&run, &trial(0, 1)).unwrap();
    assert_eq!(store.done(&run).unwrap().len(), 3);
}
