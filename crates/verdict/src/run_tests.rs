//! Whole runs: metrics, expectations, findings over rounds, answers.

use crate::input::Input;
use crate::judge::judge;
use crate::testing::{GIB, MIB, Truth, btrfs, filesystem, measure, totals, whole};
use record::counter::Gap;
use record::environment::Environment;
use record::event::Stopped;
use record::finding::{Claim, Severity};
use record::id::{CellId, RunId};
use record::judged::{Checked, LimitKind, RUN_FORMAT, RunView, Status};
use record::plan::{Bound, Cell, Expectation, Plan};
use record::stack::{BtrfsProfile, FsKind};
use record::trial::{FaultKind, Outcome, TrialRecord, Verified, VerifyFault};
use record::workload::Rw;
use std::collections::{BTreeMap, BTreeSet};

/// A cell with the given reads of 4 KiB in 20 s, by round, all from the device.
pub(crate) fn cell(name: &str, ios: &[u64]) -> (Cell, Vec<TrialRecord>) {
    let trial = |(round, ios): (u32, &u64)| {
        let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
        t.asked(ios * 4096, 0);
        t.device_read = ios * 4096;
        let mut record = t.record();
        record.id.cell = CellId(name.to_owned());
        record.id.round = round;
        record
    };
    let mut cell = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1).cell;
    cell.id = CellId(name.to_owned());
    cell.stack.name = name.to_owned();
    (cell, (0..).zip(ios).map(trial).collect())
}

pub(crate) fn run(cells: &[(Cell, Vec<TrialRecord>)], expectations: Vec<Expectation>) -> RunView {
    run_with(cells, |plan| plan.expectations = expectations)
}

/// A judged run of these cells, with a plan that `change` has modified.
pub(crate) fn run_with(cells: &[(Cell, Vec<TrialRecord>)], change: impl FnOnce(&mut Plan)) -> RunView {
    let mut plan = Plan {
        seed: 1,
        ..Plan::new("test".to_owned(), cells.iter().map(|(c, _)| c.clone()).collect(), measure(3))
    };
    change(&mut plan);
    // Records may come in any order.
    let trials: Vec<TrialRecord> = cells.iter().flat_map(|(_, t)| t.clone()).rev().collect();
    judge(&Input {
        run: &RunId("r".to_owned()),
        plan: &plan,
        environment: &Environment::default(),
        volumes: &[],
        trials: &trials,
        stopped: &Stopped::RoundsDone { rounds: 3 },
    })
}

fn expect(name: &str, of: &str, value: f64, within: f64) -> Expectation {
    Expectation {
        of: of.to_owned(),
        expression: "x".to_owned(),
        bound: Bound::Within,
        within,
        values: BTreeMap::from([(CellId(name.to_owned()), value)]),
    }
}

fn claims(view: &RunView, cell: &str) -> Vec<Claim> {
    view.findings.iter().filter(|f| f.cell.0 == cell).map(|f| f.claim).collect()
}

#[test]
fn metrics_are_means_over_rounds_with_t_intervals() {
    let view = run(&[cell("a", &[2000, 1980, 2020])], vec![]);
    assert_eq!(view.format, RUN_FORMAT);
    let iops = &view.cells[0].metrics["iops"];
    assert_eq!((iops.estimate, iops.n, iops.unit.as_str()), (100.0, 3, "1/s"));
    assert_eq!(iops.values, [100.0, 99.0, 101.0], "in order of rounds");
    assert!((iops.half_width().unwrap() - 4.302_652_73 / 3.0_f64.sqrt()).abs() < 1e-6);
    let cell = &view.cells[0];
    assert_eq!((cell.trials.done, cell.trials.failed, cell.trials.planned), (3, 0, 3));
    assert_eq!(cell.served.unwrap().device, 1.0);
    assert_eq!(cell.served_write, None);
    assert!(view.findings.is_empty() && !cell.void, "{:?}", view.findings);
}

#[test]
fn expectations_are_met_missed_or_undecided_by_the_interval() {
    // 100 ± 2.5, and 100 ± 0 in one trial.
    let cells = [cell("a", &[2000, 1980, 2020]), cell("once", &[2000]), cell("never", &[])];
    let cases = [
        ("a", 100.0, 0.05, Status::Met),
        ("a", 102.0, 0.05, Status::Met),
        ("a", 103.0, 0.05, Status::Undecided),
        ("a", 107.0, 0.05, Status::Undecided),
        ("a", 109.0, 0.05, Status::Missed),
        ("a", 80.0, 0.05, Status::Missed),
        ("a", 100.0, 0.01, Status::Undecided),
        ("once", 100.0, 0.05, Status::Undecided),
        ("once", 500.0, 0.05, Status::Undecided),
        ("never", 100.0, 0.05, Status::Undecided),
    ];
    for (name, value, within, status) in cases {
        let view = run(&cells, vec![expect(name, "read_iops", value, within)]);
        let e = &view.expectations[0];
        assert_eq!(e.status, status, "{name} {value} {within}: {}", e.text);
        let claimed = claims(&view, name).contains(&Claim::ExpectationMissed);
        assert_eq!(claimed, status == Status::Missed);
    }
    let view = run(&cells, vec![expect("a", "no_such_metric", 1.0, 0.1)]);
    assert_eq!(view.expectations[0].status, Status::Undecided);
    assert!(view.expectations[0].text.contains("not measured"));
}

#[test]
fn a_bound_on_one_side_is_met_by_all_on_its_side() {
    // 100 ± 2.5
    let cells = [cell("a", &[2000, 1980, 2020])];
    let cases = [
        (Bound::AtLeast, 97.0, Status::Met),
        (Bound::AtLeast, 101.0, Status::Undecided),
        (Bound::AtLeast, 103.0, Status::Missed),
        (Bound::AtMost, 97.0, Status::Missed),
        (Bound::AtMost, 101.0, Status::Undecided),
        (Bound::AtMost, 103.0, Status::Met),
        (Bound::AtMost, 0.0, Status::Missed),
    ];
    for (bound, value, status) in cases {
        let view = run(&cells, vec![Expectation { bound, ..expect("a", "iops", value, 0.0) }]);
        let e = &view.expectations[0];
        assert_eq!(e.status, status, "{bound:?} {value}: {}", e.text);
        assert!(e.text.contains(if bound == Bound::AtMost {
            "expected at most"
        } else {
            "expected at least"
        }));
    }
}

#[test]
fn a_figure_that_is_no_storage_figure_meets_nothing() {
    let (cell, mut trials) = cell("a", &[2000, 1990, 2010]);
    for trial in &mut trials {
        trial.files_before[0].unwritten_bytes = 256 * MIB;
        trial.evidence.samples.iter_mut().flat_map(|s| s.block.values_mut()).for_each(|b| b.read_bytes = 0);
    }
    let view = run(&[(cell, trials)], vec![expect("a", "iops", 100.0, 0.05)]);
    assert!(view.cells[0].void);
    assert_eq!(view.expectations[0].status, Status::Undecided);
    assert!(view.expectations[0].text.contains("no storage figure"));
    assert!(view.answers.is_empty());
    assert_eq!((view.findings[0].claim, view.findings[0].trials), (Claim::ServedFromHoles, 3));
}

#[test]
fn failed_trials_are_kept_but_not_used() {
    let (cell, mut trials) = cell("a", &[2000, 2000, 9000]);
    trials[2].outcome = Outcome::Failed("mkfs.ext4: no space".to_owned());
    let view = run(&[(cell, trials)], vec![]);
    assert_eq!(view.cells[0].metrics["iops"].estimate, 100.0);
    assert_eq!((view.cells[0].trials.done, view.cells[0].trials.failed), (2, 1));
    let finding = &view.findings[0];
    assert_eq!((finding.claim, finding.severity, finding.trials), (Claim::TrialsFailed, Severity::Caveat, 1));
    assert!(
        finding.text.contains("mkfs.ext4: no space") && finding.text.contains("round 3"),
        "{}",
        finding.text
    );
    assert!(!finding.evidence.contains_key(crate::REFUSED_TRIALS));
}

/// The third round was cut off twice; it counts as failed until it is made again.
#[test]
fn a_trial_that_was_cut_off_counts_as_failed_until_it_is_made_again() {
    let (cell, mut trials) = cell("a", &[2000, 2000, 9000, 9000, 2000]);
    for (trial, started) in trials[2..4].iter_mut().zip([10, 20]) {
        (trial.outcome, trial.cut_off) = (Outcome::Failed(format!("machine b is lost ({started})")), true);
        (trial.id.round, trial.engine, trial.started_unix_ms) = (2, None, started);
    }
    trials[4].id.round = 2;
    let claims = |view: &RunView| -> Vec<(Claim, Severity, u32)> {
        let about = |claim| matches!(claim, Claim::TrialsFailed | Claim::TrialsCutOff);
        let found = view.findings.iter().filter(|finding| about(finding.claim));
        found.map(|finding| (finding.claim, finding.severity, finding.trials)).collect()
    };
    let missing = run(&[(cell.clone(), trials[..4].to_vec())], vec![]);
    let count = missing.cells[0].trials;
    assert_eq!((count.done, count.failed, count.cut_off), (2, 1, 1));
    assert_eq!(
        claims(&missing),
        [(Claim::TrialsFailed, Severity::Caveat, 1), (Claim::TrialsCutOff, Severity::Note, 1)]
    );
    let failed = missing.findings.iter().find(|finding| finding.claim == Claim::TrialsFailed).unwrap();
    assert!(failed.text.contains("was cut off, in round 3: machine b is lost (20)"), "{}", failed.text);
    let again = run(&[(cell, trials)], vec![]);
    let count = again.cells[0].trials;
    assert_eq!((count.done, count.failed, count.cut_off), (3, 0, 2));
    assert_eq!(claims(&again), [(Claim::TrialsCutOff, Severity::Note, 1)]);
    assert_eq!(again.cells[0].metrics["iops"].values.len(), 3, "none counts twice");
    assert_eq!(again.cells[0].metrics["iops"].estimate, missing.cells[0].metrics["iops"].estimate);
}

#[test]
fn trials_that_the_guard_refused_are_counted() {
    let (cell, mut trials) = cell("a", &[2000, 2000, 9000]);
    for trial in &mut trials[1..] {
        (trial.outcome, trial.refused) = (Outcome::Failed("diskproof's checks refuse it".to_owned()), true);
    }
    trials[2].refused = false;
    let view = run(&[(cell, trials)], vec![]);
    assert_eq!(view.findings[0].evidence.get(crate::REFUSED_TRIALS), Some(&1.0));
}

#[test]
fn nothing_measured_is_said_and_is_not_called_void() {
    let (cell, mut trials) = cell("a", &[2000]);
    (trials[0].outcome, trials[0].engine) = (Outcome::Failed("gone".to_owned()), None);
    let view = run(&[(cell, trials)], vec![]);
    assert!(view.cells[0].metrics.is_empty() && view.cells[0].served.is_none() && !view.cells[0].void);
    assert_eq!((view.findings[0].claim, view.findings[0].severity), (Claim::TrialsFailed, Severity::Void));
}

/// Three rounds that checked a GiB each; the second found blocks with wrong content, and failed because of it.
fn checked(faults: Vec<VerifyFault>) -> RunView {
    let (cell, mut trials) = cell("a", &[2000, 2000, 2000]);
    for trial in &mut trials {
        trial.engine.as_mut().unwrap().verified = Some(Verified { bytes: GIB, faults: vec![] });
    }
    if !faults.is_empty() {
        trials[1].engine.as_mut().unwrap().verified = Some(Verified { bytes: GIB, faults });
        trials[1].outcome = Outcome::Failed("blocks with wrong content".to_owned());
    }
    run(&[(cell, trials)], vec![expect("a", "iops", 100.0, 0.05)])
}

#[test]
fn wrong_content_voids_the_cell_whatever_its_speed() {
    let fault = |kind, count, offsets: &[u64]| VerifyFault {
        kind,
        count,
        path: "/m/diskproof-data.0".to_owned(),
        offsets_bytes: offsets.to_vec(),
        example: "at 4096 generation 7 was expected, zeros are there".to_owned(),
    };
    let view = checked(vec![
        fault(FaultKind::Lost, 9, &[4096, 8192, 12288, 16384, 20480]),
        fault(FaultKind::Corrupt, 1, &[777]),
    ]);
    let finding = &view.findings[0];
    assert_eq!((finding.claim, finding.severity, finding.trials), (Claim::WrongContent, Severity::Void, 1));
    for words in [
        "10 blocks did not hold what was written, in round 2, of 1 GiB checked",
        "9 lost (acknowledged, but",
        "in /m/diskproof-data.0 at offsets 4096, 8192, 12288, 16384, ...",
        "1 corrupt",
        "at offset 777",
        "generation 7 was expected",
    ] {
        assert!(finding.text.contains(words), "{words}: {}", finding.text);
    }
    assert!(
        finding.remedy.contains("ignores flushes") && finding.remedy.contains("cable"),
        "{}",
        finding.remedy
    );
    assert_eq!((finding.evidence["lost_blocks"], finding.evidence["wrong_blocks"]), (9.0, 10.0));
    let cell = &view.cells[0];
    assert!(cell.void && view.findings.iter().any(|f| f.claim == Claim::TrialsFailed));
    assert_eq!(cell.verified, Some(Checked { trials: 3, bytes: 3 * GIB, wrong_blocks: 10 }));
    assert_eq!(view.expectations[0].status, Status::Undecided);
}

#[test]
fn right_content_is_said_and_raises_no_alarm() {
    let view = checked(vec![]);
    assert!(view.findings.is_empty() && !view.cells[0].void, "{:?}", view.findings);
    assert_eq!(view.cells[0].verified, Some(Checked { trials: 3, bytes: 3 * GIB, wrong_blocks: 0 }));
    assert_eq!(run(&[cell("a", &[2000])], vec![]).cells[0].verified, None, "nobody asked");
}

#[test]
fn trims_have_figures_and_no_source() {
    let mut t = Truth::new(Rw::Randtrim, 65536, true, filesystem(FsKind::Ext4), 1);
    t.trial.engine.as_mut().unwrap().trim = Some(totals(20_000, 65536));
    let view = run(&[(t.cell.clone(), vec![t.record()])], vec![]);
    let cell = &view.cells[0];
    assert_eq!(cell.metrics["trim_iops"].estimate, 1000.0);
    assert_eq!((cell.served, cell.served_read, cell.served_write), (None, None, None));
    assert!(view.findings.iter().all(|f| f.claim == Claim::IntervalTooWide), "{:?}", view.findings);
}

#[test]
fn a_wide_interval_says_how_many_rounds_would_do() {
    let view = run(&[cell("a", &[2000, 1600, 2400]), cell("once", &[2000])], vec![]);
    assert_eq!(claims(&view, "a"), [Claim::IntervalTooWide]);
    let finding = &view.findings[0];
    assert!(finding.text.contains("±50 %") && finding.text.contains("3 rounds"), "{}", finding.text);
    assert!(finding.evidence["rounds_needed"] > 50.0, "{:?}", finding.evidence);
    assert!(view.findings[1].text.starts_with("One trial gives no interval"));
}

#[test]
fn a_finding_counts_its_trials_and_shows_the_strongest() {
    let (cell, mut trials) = cell("a", &[2000, 2000, 2000]);
    for (trial, busy) in trials.iter_mut().zip([0.5, 0.93, 0.98]) {
        for sample in &mut trial.evidence.samples {
            let ticks = whole(sample.monotonic_ns as f64 / 1e9 * 100.0 * busy);
            sample.engine.as_mut().unwrap().busiest_thread_ticks = Some(ticks);
        }
    }
    let view = run(&[(cell, trials)], vec![]);
    let finding = &view.findings[0];
    assert_eq!((finding.claim, finding.trials), (Claim::EngineCpuBound, 2));
    assert!(finding.text.starts_with("Round 3 (2 of 3 rounds show it): "), "{}", finding.text);
    assert!((finding.evidence["busiest_thread_cores"] - 0.98).abs() < 0.01);
}

#[test]
fn two_kinds_of_interference_are_two_findings() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.emulated(1);
    t.asked(GIB, 0);
    (t.device_read, t.own_read) = (GIB + GIB / 2, Some(GIB));
    t.other("dd", GIB / 2, 0).on_ground = Some(true);
    (t.machine_busy, t.others_cpu) = (0.6, Some(0.5));
    let view = run(&[(t.cell.clone(), vec![t.record()])], vec![]);
    let found: Vec<_> = view.findings.iter().map(|f| (f.claim, f.severity, f.trials)).collect();
    let wide = (Claim::IntervalTooWide, Severity::Note, 1);
    let both = [(Claim::Interference, Severity::Caveat, 1), wide, (Claim::OthersUsedCpu, Severity::Note, 1)];
    assert_eq!(found, both, "{:?}", view.findings);
}

#[test]
fn a_cell_has_each_claim_once_so_that_programs_lose_none() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    // The engine was stopped, and later the agent process: two detectors make the same claim.
    t.each = |sample, done| sample.stopped = if (0.5..0.75).contains(&done) { vec![12] } else { vec![] };
    let second = 1_000_000_000;
    t.agent_gaps = vec![Gap { start_ns: 102 * second, end_ns: 105 * second, cpu_wait_ns: None }];
    let view = run(&[(t.cell.clone(), vec![t.record()])], vec![]);
    let mut seen = BTreeSet::new();
    assert!(view.findings.iter().all(|f| seen.insert((f.claim, f.cell.clone()))), "{:?}", view.findings);
    let stalled = view.findings.iter().find(|f| f.claim == Claim::Stalled).unwrap();
    assert!(
        stalled.text.contains("engine's processes") && stalled.text.contains("agent process"),
        "{stalled:?}"
    );
    assert!(stalled.evidence.contains_key("stalled_seconds_2"), "{stalled:?}");
}

#[test]
fn worst_findings_come_first_and_strangers_trials_are_ignored() {
    let (bad, mut trials) = cell("bad", &[2000, 2000, 2000]);
    for trial in &mut trials {
        trial.topology.fs_type = Some("tmpfs".to_owned());
    }
    let (_, strangers) = cell("unplanned", &[1, 2, 3]);
    trials.extend(strangers);
    let view = run(&[cell("wide", &[2000, 1000, 3000]), (bad, trials)], vec![]);
    assert_eq!(view.findings[0].claim, Claim::MemoryBacked);
    assert_eq!(view.findings.last().unwrap().claim, Claim::IntervalTooWide);
    assert_eq!(view.cells.len(), 2);
}

#[test]
fn a_mix_over_mirrors_has_both_directions() {
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(BtrfsProfile::Raid1), 2);
    t.asked(GIB, GIB / 2);
    (t.device_read, t.device_write) = (GIB, GIB);
    let view = run(&[(t.cell.clone(), vec![t.record()])], vec![]);
    let cell = &view.cells[0];
    assert!(cell.metrics.contains_key("read_iops") && cell.metrics.contains_key("write_lat_p99"));
    assert_eq!(cell.served_read.unwrap().device, 1.0);
    assert_eq!(cell.served_write.unwrap().device, 1.0);
}

/// Cells of one stack with these depths and rates; all I/Os are on the device.
fn depths(cells: &[(u32, u64)]) -> Vec<(Cell, Vec<TrialRecord>)> {
    let cell = |&(depth, iops): &(u32, u64)| {
        let (mut cell, _) = cell("stack", &[]);
        cell.id = CellId(format!("depth-{depth}"));
        let trial = |round| {
            let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
            t.asked(iops * 20 * 4096, 0);
            (t.device_read, t.device_queue) = (iops * 20 * 4096, f64::from(depth));
            t.options().iodepth = depth;
            let read = t.trial.engine.as_mut().unwrap().read.as_mut().unwrap();
            read.latency_mean_ns = Some(f64::from(depth) / iops as f64 * 1e9);
            let mut record = t.record();
            (record.id.cell, record.id.round) = (CellId(format!("depth-{depth}")), round);
            (t.cell, record)
        };
        let (asked, _) = trial(0);
        cell.workload = asked.workload;
        (cell, (0..3).map(|round| trial(round).1).collect())
    };
    cells.iter().map(cell).collect()
}

fn limits(view: &RunView) -> Vec<(LimitKind, bool)> {
    view.cells.iter().map(|c| c.limited_by.as_ref().unwrap()).map(|l| (l.by, l.shown)).collect()
}

#[test]
fn another_depth_tells_whether_it_was_the_depth_or_the_device() {
    use LimitKind::{Device, QueueDepth};
    // The device serves two at a time, so 16 and 64 only wait longer.
    let view = run(&depths(&[(1, 5000), (2, 9800), (16, 10_000), (64, 10_000)]), vec![]);
    assert_eq!(limits(&view), [(QueueDepth, true), (Device, true), (Device, true), (Device, true)]);
    let text = &view.cells[3].limited_by.as_ref().unwrap().text;
    assert!(text.contains("with 1 I/O in flight the same stack made 5,000 IOPS"), "{text}");
    // A device with a rate that grows with every depth is never full.
    let view = run(&depths(&[(4, 5000), (16, 19_000), (64, 70_000)]), vec![]);
    assert_eq!(limits(&view), [(QueueDepth, true), (QueueDepth, true), (QueueDepth, true)]);
    // The device serves one at a time, so one I/O is enough to fill it.
    let view = run(&depths(&[(1, 100), (16, 105)]), vec![]);
    assert_eq!(limits(&view), [(Device, true), (Device, true)]);
    assert!(view.findings.is_empty(), "{:?}", view.findings);
}

#[test]
fn a_cell_that_was_not_measured_has_no_limit() {
    assert_eq!(run(&[cell("a", &[])], vec![]).cells[0].limited_by, None);
}

#[test]
fn a_skipped_cell_is_named_as_such_and_keeps_what_it_has() {
    let cells = [cell("a", &[2000, 1980]), cell("never", &[]), cell("all", &[2000, 1980, 2020])];
    let skipped = |plan: &mut Plan| {
        plan.skipped.extend([(CellId("a".to_owned()), 1), (CellId("never".to_owned()), 0)]);
    };
    let view = run_with(&cells, skipped);
    let text = |name: &str| {
        let found = view.findings.iter().find(|f| f.cell.0 == name && f.claim == Claim::Skipped);
        found.map(|finding| (finding.severity, finding.text.as_str()))
    };
    let (severity, words) = text("a").unwrap();
    assert_eq!(severity, Severity::Note);
    assert_eq!(
        words,
        "you skipped this cell in round 2, after 2 trials: later rounds measured only the other cells"
    );
    assert_eq!(
        text("never").map(|found| found.1),
        Some("you skipped this cell in round 1, before it had a trial: it has no figure")
    );
    assert_eq!(text("all"), None);
    assert_eq!((view.cells[0].metrics["iops"].n, view.cells[0].trials.planned), (2, 3));
}
