//! Synthetic trials and rounds with known truth: as many clean ones as others.

use super::{CellRounds, over_rounds, within};
use crate::facts::Facts;
use crate::testing::{Truth, filesystem, whole};
use record::finding::{Claim, Finding, Severity};
use record::id::TrialId;
use record::plan::{Cell, Measure};
use record::stack::FsKind;
use record::trial::{Series, TrialRecord};
use record::volume::Limits;
use record::workload::Rw;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
/// I/Os in each tenth of a second.
type PerStep = fn(u64) -> u64;

/// The steps of a trial of 20 s.
const STEPS: u64 = 200;

pub(super) fn measure() -> Measure {
    Measure::new(20.0, 2.0, 3)
}

/// A trial of 20 s with the given reads in each tenth of a second.
fn trial(ios: impl Fn(u64) -> u64) -> (Cell, TrialRecord) {
    let list: Vec<u64> = (0..STEPS).map(ios).collect();
    let all: u64 = list.iter().sum();
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(all * 4096, 0);
    t.device_read = all * 4096;
    let none = vec![0; list.len()];
    t.trial.engine.as_mut().unwrap().series = Some(Series {
        start_ns: 100 * SECOND,
        step_ns: SECOND / 10,
        bytes: list.iter().map(|n| n * 4096).collect(),
        read_ios: list,
        write_ios: none.clone(),
        trim_ios: none,
        ..Series::default()
    });
    let record = t.record();
    (t.cell, record)
}

fn judged(cell: &Cell, records: &[TrialRecord]) -> Vec<Finding> {
    let facts: Vec<Facts<'_>> = records.iter().map(|r| Facts::of(r, cell).unwrap()).collect();
    let found = within(cell, &facts, &measure());
    for f in &found {
        assert!(!f.text.contains("NaN") && f.evidence.values().all(|v| v.is_finite()), "{f:?}");
        assert_eq!(f.evidence.keys().filter(|k| k.starts_with("tenth_")).count(), 10, "{f:?}");
    }
    found
}

fn one(ios: impl Fn(u64) -> u64) -> Vec<Finding> {
    let (cell, record) = trial(ios);
    judged(&cell, &[record])
}

fn claims(found: &[Finding]) -> Vec<Claim> {
    found.iter().map(|f| f.claim).collect()
}

/// A little unevenness: 0 to 4 I/Os.
fn wiggle(step: u64) -> u64 {
    [0, 3, 1, 4, 2, 0, 2][(step % 7) as usize]
}

#[test]
fn steady_trials_are_not_talked_about() {
    let steady: [(&str, PerStep); 9] = [
        ("80 a second, evenly", |_| 8),
        ("slices that come too late", |i| if i % 2 == 0 { 0 } else { 16 }),
        ("a bucket filled each second", |i| if i % 10 == 0 { 80 } else { 0 }),
        ("one every two seconds", |i| u64::from(i % 20 == 0)),
        ("a pause of two tenths every five seconds", |i| if i % 50 < 2 { 0 } else { 100 + wiggle(i) }),
        ("6 % less from the half on", |i| if i < 100 { 100 + wiggle(i) } else { 94 + wiggle(i) }),
        ("a slow swell of 8 %", |i| whole(100.0 + 4.0 * (i as f64 / 15.0).sin())),
        ("one slice more at the begin", |i| if i == 0 { 16 } else { 8 }),
        ("nothing at all", |_| 0),
    ];
    for (name, ios) in steady {
        assert_eq!(claims(&one(ios)), [], "{name}");
    }
}

#[test]
fn a_ramp_says_how_long_it_took_and_what_came_of_it() {
    let found = one(|i| (40 * (i + 1)).min(1000) + wiggle(i));
    assert_eq!(claims(&found), [Claim::RampUp]);
    let f = &found[0];
    assert_eq!((f.severity, f.trials), (Severity::Caveat, 1));
    let (took, settled) = (f.evidence["settled_after_seconds"], f.evidence["settled_iops"]);
    assert!((2.0..=4.0).contains(&took) && (settled / 10_020.0 - 1.0).abs() < 0.01, "{f:?}");
    assert!(f.text.contains("10,0") && f.text.contains("below that"), "{}", f.text);
    assert!(f.remedy.contains("(2 s now)"), "{}", f.remedy);
}

#[test]
fn a_burst_that_ends_is_located_with_both_rates() {
    let found = one(|i| if i < 80 { 300 } else { 30 } + wiggle(i));
    assert_eq!(claims(&found), [Claim::BurstExhausted]);
    let f = &found[0];
    assert!((f.evidence["fell_at_seconds"] - 8.0).abs() < 0.1, "{f:?}");
    assert!(
        (f.evidence["before_iops"] - 3017.0).abs() < 10.0 && (f.evidence["after_iops"] - 317.0).abs() < 5.0
    );
    assert!(f.text.contains("8 s after measuring began (10 s after the load did)"), "{}", f.text);
    assert!(f.remedy.contains("ramp: 12s (2 s now)") && f.remedy.contains("trial: 8s"), "{}", f.remedy);
}

/// The findings of the same trial on a volume whose backing file lies on `vda`, which other processes use from the given tenth on.
fn neighboured(ios: impl Fn(u64) -> u64, from: u64, per_tenth: u64) -> Vec<Finding> {
    let (mut cell, mut record) = trial(ios);
    let mut owned = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    owned.emulated(1);
    cell.stack.volumes = owned.cell.stack.volumes;
    let mut disk = record.topology.nodes[0].clone();
    (disk.name, disk.depth, disk.devno) = ("vda".to_owned(), 1, (254, 0));
    disk.kind = record::topology::BlockKind::Disk;
    record.topology.nodes.push(disk);
    for (number, sample) in (0_u64..).zip(&mut record.evidence.samples) {
        let ours = sample.block["loop0"];
        // The measured time begins with the twentieth sample.
        let theirs = number.saturating_sub(20 + from).min(STEPS) * per_tenth;
        let disk = record::counter::BlockCounters {
            reads: ours.reads + theirs,
            read_bytes: ours.read_bytes + theirs * 65_536,
            busy_ms: 100 * number,
            ..ours
        };
        sample.block.insert("vda".to_owned(), disk);
    }
    judged(&cell, &[record])
}

#[test]
fn a_fall_that_a_neighbour_made_is_no_burst() {
    let fall = |i| if i < 80 { 300 } else { 30 } + wiggle(i);
    let found = neighboured(fall, 80, 400);
    assert_eq!(claims(&found), [Claim::NotSteady]);
    assert!(found[0].text.contains("Others used vda meanwhile"), "{}", found[0].text);
    assert!(found[0].remedy.starts_with("Stop what else uses vda"), "{}", found[0].remedy);
    // The neighbour was there all the time, and did no more after the fall than before.
    assert_eq!(claims(&neighboured(fall, 0, 400)), [Claim::BurstExhausted]);
    // The neighbour did next to nothing.
    assert_eq!(claims(&neighboured(fall, 80, 1)), [Claim::BurstExhausted]);
}

#[test]
fn no_ramp_is_asked_for_because_of_a_neighbour() {
    let ramp = |i: u64| (40 * (i + 1)).min(1000) + wiggle(i);
    let found = neighboured(ramp, 0, 3000);
    assert_eq!(claims(&found), [Claim::NotSteady]);
    assert!(!found[0].remedy.contains("ramp"), "{}", found[0].remedy);
    assert_eq!(claims(&neighboured(ramp, 0, 0)), [Claim::RampUp]);
}

#[test]
fn a_cache_whose_content_is_replaced_is_no_burst() {
    let (cell, mut record) = trial(|i| if i < 80 { 300 } else { 100 } + wiggle(i));
    for (number, sample) in (0..).zip(&mut record.evidence.samples) {
        sample.arc = Some(record::zfs::ArcCounters {
            demand_data_hits: Some(1000 * number),
            demand_data_misses: Some(0),
            prefetch_data_misses: Some(0),
            ..Default::default()
        });
    }
    let found = judged(&cell, &[record]);
    assert_eq!(claims(&found), [Claim::NotSteady]);
    assert!(found[0].text.contains("(ARC) held 100 % of the blocks asked for"), "{}", found[0].text);
    assert!(!found[0].remedy.contains("burst"), "{}", found[0].remedy);
}

#[test]
fn a_burst_knows_what_the_volumes_are_provided_with() {
    let (mut cell, record) = trial(|i| if i < 75 { 30 } else { 8 });
    let mut provided = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    provided.emulated(1);
    cell.stack.volumes = provided.cell.stack.volumes;
    let f = &judged(&cell, &[record])[0];
    assert_eq!((f.claim, f.evidence["provided_iops"]), (Claim::BurstExhausted, 80.0));
    assert!(f.text.contains("provisioned with 80 IOPS, so this is the lasting rate"), "{}", f.text);
}

#[test]
fn other_changes_are_not_steady() {
    let changed: [(&str, PerStep, f64); 4] = [
        ("doubled late", |i| if i < 120 { 50 } else { 100 } + wiggle(i), 12.0),
        ("an outage of five seconds", |i| if (80..130).contains(&i) { 0 } else { 100 + wiggle(i) }, 8.0),
        ("three levels", |i| [100, 60, 30, 30][(i / 50) as usize] + wiggle(i), 5.0),
        ("half as fast and back", |i| if (60..140).contains(&i) { 50 } else { 100 } + wiggle(i), 6.0),
    ];
    for (name, ios, at) in changed {
        let found = one(ios);
        assert_eq!(claims(&found), [Claim::NotSteady], "{name}: {found:?}");
        let f = &found[0];
        let where_ = f.evidence["changed_at_seconds"];
        let ends = [at, at + 5.0, at + 8.0];
        assert!(ends.iter().any(|e| (where_ - e).abs() <= 1.0), "{name}: {}", f.text);
        match f.evidence.get("episodes") {
            Some(_) => assert!(f.text.contains("from second"), "{}", f.text),
            None => assert!(f.evidence["range_share"] > 0.2 && f.text.contains("SNIA"), "{}", f.text),
        }
    }
    let decline = one(|i| 1000 - 2 * i + wiggle(i));
    assert_eq!(claims(&decline), [Claim::NotSteady], "a line is no burst: {decline:?}");
}

/// The limit is halved after 10 s: the finding says that, and not that credits ran out.
#[test]
fn limits_that_changed_explain_the_change() {
    let (cell, mut record) = trial(|i| if i < 100 { 16 } else { 8 });
    let limits =
        |read_iops| Some(BTreeMap::from([("7:0".to_owned(), Limits { read_iops, ..Limits::default() })]));
    for sample in &mut record.evidence.samples {
        sample.throttles = limits(Some(if sample.monotonic_ns < 110 * SECOND { 160 } else { 80 }));
    }
    let found = judged(&cell, &[record.clone()]);
    assert_eq!(claims(&found), [Claim::NotSteady]);
    assert!(found[0].remedy.contains("see the finding throttle_changed"), "{}", found[0].remedy);
    assert!((found[0].evidence["changed_at_seconds"] - 10.0).abs() <= 0.5);
    for sample in &mut record.evidence.samples {
        sample.throttles = limits(Some(160));
    }
    assert_eq!(
        claims(&judged(&cell, &[record])),
        [Claim::BurstExhausted],
        "unchanged limits explain nothing"
    );
}

#[test]
fn what_few_trials_show_is_a_note_with_the_trial_that_shows_it() {
    let (cell, steady) = trial(|i| 100 + wiggle(i));
    let (_, outage) = trial(|i| if (80..130).contains(&i) { 0 } else { 100 + wiggle(i) });
    let round = |record: &TrialRecord, round| TrialRecord {
        id: TrialId { round, ..record.id.clone() },
        ..record.clone()
    };
    let some = |outages: u32| -> Vec<TrialRecord> {
        (0..4).map(|r| round(if r < outages { &outage } else { &steady }, r)).collect()
    };
    assert_eq!(claims(&judged(&cell, &some(0))), []);
    let found = judged(&cell, &some(1));
    assert_eq!((found[0].severity, found[0].trials), (Severity::Note, 1));
    assert!(found[0].text.starts_with("Round 1 (1 of 4 rounds show it): "), "{}", found[0].text);
    assert_eq!(judged(&cell, &some(2))[0].severity, Severity::Caveat);
}

/// Older records have no time series of the engine; then the devices' counters of direct I/O count.
#[test]
fn without_a_course_the_devices_tell() {
    let (mut cell, mut record) = trial(|_| 100);
    record.engine.as_mut().unwrap().series = None;
    assert_eq!(claims(&judged(&cell, &[record.clone()])), [], "steady on the devices");
    for sample in &mut record.evidence.samples {
        let tenths = (sample.monotonic_ns / (SECOND / 10)).saturating_sub(980);
        let bytes = tenths.min(100) * 3 * 409_600 + tenths.saturating_sub(100) * 409_600;
        sample.block.values_mut().for_each(|b| b.read_bytes = bytes);
    }
    let found = judged(&cell, &[record.clone()]);
    assert_eq!(claims(&found), [Claim::BurstExhausted]);
    assert!(
        found[0].text.contains("MB/s") && found[0].text.contains("devices' counters"),
        "{}",
        found[0].text
    );
    match &mut cell.workload.ask {
        record::workload::Ask::Options(o) => o.direct = false,
        _ => panic!("options"),
    }
    assert_eq!(
        claims(&judged(&cell, &[record])),
        [],
        "what the page cache collects comes at times of its own"
    );
}

/// Lists of unequal lengths and absurd steps give no time series and no panic.
#[test]
fn a_broken_course_is_none() {
    let (cell, record) = trial(|_| 100);
    let with = |change: fn(&mut Series)| {
        let mut record = record.clone();
        change(record.engine.as_mut().unwrap().series.as_mut().unwrap());
        claims(&judged(&cell, &[record]))
    };
    assert_eq!(with(|s| s.step_ns = 0), []);
    assert_eq!(with(|s| s.read_ios.clear()), []);
    assert_eq!(with(|s| s.write_ios.truncate(3)), []);
    assert_eq!(with(|s| s.step_ns = u64::MAX), []);
}

#[test]
fn a_cache_that_warms_over_the_rounds_is_named_with_the_climb() {
    let of = |values: &[f64], rounds: &[(f64, u32)]| {
        over_rounds(&[CellRounds::made("c", values).cached(rounds)], &measure())
    };
    let found = of(&[69.0, 347.0, 2663.0, 7089.0], &[(0.02, 0), (0.6, 1), (0.97, 2), (1.0, 3)]);
    assert_eq!(claims(&found), [Claim::Trend]);
    assert!(found[0].text.contains("69, 347, 2,663, 7,089 IOPS"), "{}", found[0].text);
    assert!(
        found[0].text.contains("reads that were in the LVM cache grew from 2 % to 100 %"),
        "{}",
        found[0].text
    );
    assert!(found[0].remedy.contains("rebuild: run"), "{}", found[0].remedy);

    let two = of(&[70.0, 300.0], &[(0.02, 0), (0.6, 1)]);
    assert_eq!(claims(&two), [Claim::CacheWarming], "two rounds show no trend, the counters do");
    let warm = of(&[7000.0, 7001.0, 6999.0], &[(0.99, 4), (1.0, 5), (0.99, 6)]);
    assert_eq!(claims(&warm), []);
}

#[test]
fn a_stack_that_was_built_anew_between_rounds_is_named() {
    let rounds = [(0.5, 0), (0.51, 1), (0.5, 0), (0.5, 1)];
    let found = over_rounds(&[CellRounds::made("c", &[70.0, 71.0, 70.0, 71.0]).cached(&rounds)], &measure());
    assert_eq!(claims(&found), [Claim::StackRebuilt]);
    assert!(found[0].text.contains("before round 3:"), "{}", found[0].text);
}

#[test]
fn a_cache_in_memory_that_warms_under_a_stack_that_stays_up_is_named_without_a_trend() {
    let rounds = |stays: bool| {
        let mut cell = CellRounds::made("c", &[20.0, 36.0, 35.0]);
        for (number, (round, share)) in (0..).zip(cell.rounds.iter_mut().zip([0.15, 0.51, 0.56])) {
            (round.other_cache, round.trials_before) = (Some(share), stays.then_some(number));
        }
        over_rounds(&[cell], &measure())
    };
    let found = rounds(true);
    assert_eq!(claims(&found), [Claim::CacheWarming]);
    assert!(found[0].text.contains("(ARC) served grew from 15 % to 56 %"), "{}", found[0].text);
    assert_eq!(claims(&rounds(false)), [], "a stack that is built anew has no cache that could warm");
}

#[test]
fn a_pair_of_changes_says_from_when_to_when() {
    let found = one(|i| if (80..100).contains(&i) { 40 + wiggle(i) } else { 100 + wiggle(i) });
    assert_eq!(claims(&found), [Claim::NotSteady]);
    let f = &found[0];
    assert!(f.text.contains("the rate fell to 41 % (416 IOPS) from second 8.0 to 10.0."), "{}", f.text);
    assert_eq!((f.severity, f.evidence["episodes"]), (Severity::Caveat, 1.0));
    let two = |i: u64| if (30..40).contains(&i) || (100..130).contains(&i) { 250 } else { 100 };
    let found = one(|i| two(i) + wiggle(i));
    let text = &found[0].text;
    assert!(
        text.contains("the rate rose to")
            && text.contains("from second 3.0 to 4.0 and from second 10.0 to 13.0"),
        "{text}"
    );
}

#[test]
fn a_dip_that_comes_again_says_how_often() {
    let found = one(|i| if (10..15).contains(&(i % 20)) { 40 } else { 100 } + wiggle(i));
    assert_eq!(claims(&found), [Claim::NotSteady]);
    let f = &found[0];
    assert!(f.text.contains("falls to 41 % (418 IOPS) every 2.0 s for 0.5 s"), "{}", f.text);
    assert!(f.remedy.contains("every 2.0 s") && f.evidence["period_seconds"] == 2.0, "{f:?}");
}

#[test]
fn short_dips_that_hardly_matter_are_a_note() {
    let found = one(|i| if i % 100 < 50 && (10..14).contains(&(i % 50)) { 20 } else { 100 } + wiggle(i));
    assert_eq!(found.iter().map(|f| f.severity).collect::<Vec<_>>(), [Severity::Note], "{found:?}");
}
