//! Figures on either side of each threshold.

use super::{Foreign, Injection, Measured, Outage, Scenario, Source, Span};
use crate::truth::gauge::{Disk, Sample, Ticks};
use crate::truth::scenario::{clean, truth};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;
use std::collections::BTreeMap;

fn sample(at_ns: u64, ticks: Ticks) -> Sample {
    Sample { at_ns, ticks, disks: BTreeMap::new() }
}

/// One second on two processors with `busy` used ticks.
fn span(busy: u64, run: u64, kernel: u64, steal: u64) -> Span {
    let ticks = Ticks { all: 200, busy, steal, run, harness: 0, kernel: [(9, 7 + kernel)].into() };
    let before = Ticks { kernel: [(9, 7)].into(), ..Ticks::default() };
    Span::new(&sample(0, before), &sample(1_000_000_000, ticks), &[])
}

fn measured(span: Span) -> Measured {
    Measured {
        span,
        disk: None,
        reached: None,
        ours_read_bytes: 0,
        read_again: None,
        amplified: None,
        writes: None,
        held: None,
        resident: None,
    }
}

fn foreign(ios_share: f64, bytes_share: f64, disk_read_bytes: u64) -> Option<Foreign> {
    Some(Foreign {
        name: "vda".to_owned(),
        ios_share,
        bytes_share,
        iops: 500.0,
        bytes_per_second: 0.0,
        disk_read_bytes,
    })
}

fn is_made(measured: &Measured, scenario: Scenario) -> bool {
    measured.unmade(&scenario).is_empty()
}

#[test]
fn what_the_run_and_the_kernel_use_of_the_cpu_is_not_foreign() {
    let scenario = || clean("x", "free", "").needs_cpu();
    assert!(is_made(&measured(span(180, 100, 75, 0)), scenario()));
    assert!(!is_made(&measured(span(180, 100, 25, 0)), scenario()));
    assert!(!is_made(&measured(span(100, 100, 0, 40)), scenario()), "stolen time counts");
    assert!(is_made(&measured(span(180, 0, 0, 0)), clean("x", "free", "")), "it doesn't need the CPU");
}

#[test]
fn a_kernel_thread_that_came_later_counts_from_nothing() {
    let after = Ticks { all: 200, busy: 50, kernel: [(11, 50)].into(), ..Ticks::default() };
    let span = Span::new(&sample(0, Ticks::default()), &sample(1, after), &[]);
    assert_eq!(span.foreign_cpu, 0.0);
}

#[test]
fn a_limit_must_be_reached_or_missed() {
    let limited = || clean("x", "raw", "").limited_by(&[LimitKind::Throttle]);
    let short = || truth("row", "x", "raw", "").short_of_limit();
    let reached = |share| Measured { reached: Some(share), ..measured(span(0, 0, 0, 0)) };
    assert!(is_made(&reached(0.99), limited()) && !is_made(&reached(0.7), limited()));
    assert!(!is_made(&reached(0.99), short()) && is_made(&reached(0.7), short()));
}

#[test]
fn others_on_the_disk_are_measured_not_believed() {
    let with = |disk| Measured { disk, ..measured(span(0, 0, 0, 0)) };
    let scenario = || clean("x", "free", "").needs_disk();
    assert!(is_made(&with(foreign(0.2, 0.2, 0)), scenario()));
    assert!(!is_made(&with(foreign(0.2, 0.3, 0)), scenario()));
    assert!(with(foreign(0.0, 0.11, 0)).others_used_the_disk());
    assert!(!with(foreign(0.05, 0.05, 0)).others_used_the_disk());
    let beside = Injection::Neighbour { volume: "free", threads: 1, writes: false };
    let neighbour = truth("row", "x", "free", "").injection(beside);
    let neighbour = neighbour.claim(Claim::Interference, Severity::Caveat);
    assert!(!is_made(&with(foreign(0.5, 0.5, 0)), neighbour.clone()));
    assert!(is_made(&with(foreign(0.5, 0.9, 0)), neighbour));
}

#[test]
fn holes_below_are_hidden_by_what_others_read() {
    let of = |disk_read_bytes| Measured {
        ours_read_bytes: 1000,
        disk: foreign(0.0, 0.0, disk_read_bytes),
        ..measured(span(0, 0, 0, 0))
    };
    let injection = Injection::PunchBelow { volume: "free", mib: 64, percent: 50 };
    let scenario = || truth("row", "x", "free", "").injection(injection).served(Source::Hole, 0.5, 0.06);
    assert!(is_made(&of(520), scenario()));
    assert!(!is_made(&of(540), scenario()));
}

#[test]
fn memory_and_amplification_have_thresholds() {
    let cached = || clean("x", "free", "").in_memory();
    let with = |resident, read_again| Measured {
        resident: Some(resident),
        read_again: Some(read_again),
        ..measured(span(0, 0, 0, 0))
    };
    assert!(is_made(&with(1.0, 0.01), cached()));
    assert!(!is_made(&with(0.9, 0.01), cached()) && !is_made(&with(1.0, 0.1), cached()));
    let amplified = |share| Measured { amplified: Some(share), ..measured(span(0, 0, 0, 0)) };
    let must = || truth("row", "x", "free", "").claim(Claim::WriteAmplified, Severity::Note);
    let never = || clean("x", "free", "").never(&[Claim::WriteAmplified]);
    assert!(is_made(&amplified(1.7), must()) && !is_made(&amplified(1.6), must()));
    assert!(is_made(&amplified(1.1), never()) && !is_made(&amplified(1.4), never()));
}

#[test]
fn disks_are_counted_between_the_samples() {
    let disk = |reads| Disk { reads, ..Disk::default() };
    let with = |at_ns, reads| Sample {
        disks: [("vda".to_owned(), disk(reads))].into(),
        ..sample(at_ns, Ticks::default())
    };
    assert_eq!(Span::new(&with(0, 5), &with(1, 12), &[]).disks["vda"].reads, 7);
}

#[test]
fn what_holes_keep_from_the_disk_hides_nobody() {
    let disk = |reads, backing: Option<&str>| Disk {
        reads,
        read_bytes: reads * 4096,
        backing: backing.map(Into::into),
        ..Disk::default()
    };
    let name = super::disk_of(&std::env::temp_dir());
    // if this machine's temporary files aren't on a local disk, nothing is counted
    let Some(name) = name else { return };
    let image = std::env::temp_dir().join("image").to_string_lossy().into_owned();
    let ours = disk(1000, Some(&image));
    let mut span = span(0, 0, 0, 0);
    span.disks = [(name, disk(800, None))].into();
    let lab = std::env::temp_dir();
    assert_eq!(super::foreign(&span, &lab, &[&ours], 1.0).unwrap().ios_share, 0.0);
    let half = super::foreign(&span, &lab, &[&ours], 0.5).unwrap();
    assert!((half.ios_share - 0.375).abs() < 1e-9, "300 of 800: {half:?}");
}

#[test]
fn a_few_large_ios_of_others_count_by_their_bytes() {
    let with = |bytes_per_second| Measured {
        disk: Some(Foreign { iops: 5.0, bytes_per_second, ..foreign(0.05, 0.5, 0).unwrap() }),
        ..measured(span(0, 0, 0, 0))
    };
    assert!(with(19e6).others_used_the_disk() && !with(1e5).others_used_the_disk());
    assert!(!is_made(&with(19e6), clean("x", "free", "").needs_disk()));
}

#[test]
fn a_quota_must_hold_the_engine_back() {
    let at = |ms: u64, reads| Sample {
        disks: [("loop1".to_owned(), Disk { reads, ..Disk::default() })].into(),
        ..sample(ms * 1_000_000, Ticks::default())
    };
    let held = |while_held: u64| {
        let reads = [0, 1000, 2000, 2000 + while_held, 3000 + while_held];
        let samples: Vec<Sample> =
            [0, 500, 1000, 2000, 2500].into_iter().zip(reads).map(|(ms, n)| at(ms, n)).collect();
        let all: Vec<&Sample> = samples.iter().collect();
        Span::new(all[0], all[4], &all).lowest_share(&["loop1"]).unwrap()
    };
    assert!(held(10) < super::MOST_HELD && held(200) > super::MOST_HELD, "{} {}", held(10), held(200));
    let injection = Injection::Outages { how: Outage::Quota, times: &[(1000, 1000)] };
    let scenario = || truth("x", "x", "free", "").injection(injection);
    let with = |held| Measured { held: Some(held), ..measured(span(0, 0, 0, 0)) };
    assert!(is_made(&with(0.01), scenario()) && !is_made(&with(0.2), scenario()));
}

#[test]
fn a_few_writes_show_no_amplification() {
    let with = |writes| Measured { writes: Some(writes), amplified: Some(4.0), ..measured(span(0, 0, 0, 0)) };
    let must = || truth("row", "x", "free", "").claim(Claim::WriteAmplified, Severity::Note);
    assert!(is_made(&with(100), must()) && !is_made(&with(40), must()));
}
