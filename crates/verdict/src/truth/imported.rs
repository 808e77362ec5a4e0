//! Imported trials: there are no counters, and only the job's options tell anything.

use crate::attribute::attribute;
use crate::detect::in_trial;
use crate::detected::Detected;
use crate::facts::Facts;
use crate::testing::{GIB, MIB, Truth, filesystem};
use record::counter::Evidence;
use record::environment::Environment;
use record::finding::{Claim, Severity};
use record::imported::Imported;
use record::stack::FsKind;
use record::topology::Topology;
use record::workload::{Ask, Rw};

/// A trial as `import` makes it: no samples, no files, no devices.
fn imported(rw: Rw, direct: bool) -> Truth {
    let mut t = Truth::new(rw, 4096, direct, filesystem(FsKind::Ext4), 1);
    t.options().end_fsync = false;
    t.asked(if rw.reads() { GIB } else { 0 }, if rw.writes() { GIB } else { 0 });
    t.cell.stack.layers.clear();
    t.trial.imported = Some(Imported { file: "a.json".to_owned(), format: "fio JSON".to_owned() });
    t.trial.topology = Topology::default();
    t
}

fn findings(truth: &Truth) -> Vec<Detected> {
    let mut record = truth.record();
    record.evidence = Evidence::default();
    (record.files_before, record.files_after) = (Vec::new(), Vec::new());
    (record.cache_before, record.cache_after) = (Vec::new(), Vec::new());
    let facts = Facts::of(&record, &truth.cell).unwrap();
    let shares = attribute(&facts);
    assert!((shares.both.unknown - 1.0).abs() < 1e-12, "{shares:?}");
    in_trial(&truth.scene(&facts, &shares, &[])).into_iter().map(|(_, found)| found).collect()
}

fn of(truth: &Truth, claim: Claim) -> Option<Detected> {
    findings(truth).into_iter().find(|found| found.claim == claim)
}

#[test]
fn the_source_of_all_bytes_is_unknown_and_the_file_is_named() {
    let mut t = imported(Rw::Randread, true);
    t.options().other.insert("randrepeat".to_owned(), "0".to_owned());
    let all = findings(&t);
    let [found] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((found.claim, found.severity), (Claim::SourceUnknown, Severity::Caveat));
    assert!(found.text.contains("100 %") && found.text.contains("a.json (fio JSON)"), "{}", found.text);
    assert!(found.remedy.contains("diskproof run"), "{}", found.remedy);
}

#[test]
fn buffered_reads_are_doubted_unless_the_data_exceed_memory() {
    let claim = Claim::SmallerThanMemory;
    let mut t = imported(Rw::Read, false);
    let found = of(&t, claim).unwrap();
    assert!(found.text.contains("256 MiB may be smaller") && found.remedy.contains("--memory"), "{found:?}");
    t.machine = Environment { memory_bytes: Some(GIB), ..Environment::default() };
    assert!(of(&t, claim).unwrap().text.contains("smaller than the machine's memory of 1 GiB"));
    t.machine.memory_bytes = Some(128 * MIB);
    assert!(of(&t, claim).is_none());
    assert!(
        of(&imported(Rw::Read, true), claim).is_none() && of(&imported(Rw::Write, false), claim).is_none()
    );
}

#[test]
fn repeated_data_and_offsets_are_told_from_the_options() {
    let mut t = imported(Rw::Randwrite, true);
    let found = of(&t, Claim::JobOptions).unwrap();
    assert_eq!(found.severity, Severity::Note);
    assert!(found.text.contains("no refill_buffers") && !found.text.contains("offsets"), "{}", found.text);
    t.trial.topology.fs_type = Some("btrfs".to_owned());
    let found = of(&t, Claim::JobOptions).unwrap();
    assert_eq!(found.severity, Severity::Caveat);
    assert!(found.text.contains("On btrfs"), "{}", found.text);
    t.options().other.insert("refill_buffers".to_owned(), "1".to_owned());
    assert!(of(&t, Claim::JobOptions).is_none());
    let mut t = imported(Rw::Randread, true);
    assert!(of(&t, Claim::JobOptions).unwrap().text.contains("randrepeat"));
    t.options().other.insert("randseed".to_owned(), "7".to_owned());
    assert!(of(&t, Claim::JobOptions).is_none(), "each run has its own offsets");
    let mut t = imported(Rw::Randwrite, true);
    t.trial.engine.as_mut().unwrap().engine = "elbencho-3.0".to_owned();
    assert!(of(&t, Claim::JobOptions).is_none(), "these are fio's options");
}

#[test]
fn bonnies_bytes_are_unknown_too() {
    let mut t = imported(Rw::Write, false);
    t.asked(0, 0);
    t.cell.workload.ask = Ask::Bonnie(record::bonnie::BonnieAsk {
        size_bytes: 8 * GIB,
        chunk_bytes: 8192,
        ram_bytes: None,
        files: 0,
        max_bytes: 0,
        min_bytes: 0,
        directories: 1,
        per_character: false,
        no_buffering: false,
        direct: false,
        concurrency: 1,
    });
    let found = of(&t, Claim::SourceUnknown).unwrap();
    assert!(found.text.contains("a.json") && found.remedy.contains("--memory"), "{found:?}");
    t.trial.imported = None;
    assert!(of(&t, Claim::SourceUnknown).is_none(), "diskproof's own runs have their own rules");
}

#[test]
fn nobody_says_how_diskproof_would_run_an_imported_job() {
    let mut t = imported(Rw::Randread, true);
    t.cell.workload.ask = Ask::JobFile {
        path: "a.json".to_owned(),
        text: "[a]\nrw=read\n".to_owned(),
        size_bytes: 0,
        jobs: Vec::new(),
    };
    assert!(of(&t, Claim::NotAsAsked).is_none());
    t.trial.imported = None;
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    let shares = attribute(&facts);
    let found = in_trial(&t.scene(&facts, &shares, &[]));
    assert!(
        found.iter().any(|(_, found)| found.claim == Claim::NotAsAsked),
        "as for a job file of diskproof's own"
    );
}
