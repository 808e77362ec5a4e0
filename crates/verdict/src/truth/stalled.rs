//! Trials in which the engine, or the agent process, was stopped.

use super::judged;
use crate::detected::Detected;
use crate::testing::{GIB, SECOND, Truth, filesystem};
use record::counter::{CpuQuota, Gap, Sample};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;
use record::stack::FsKind;
use record::trial::Series;
use record::volume::Limits;
use record::workload::Rw;
use std::collections::BTreeMap;

fn plain() -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    t
}

fn stalled(truth: &Truth) -> Vec<Detected> {
    judged(truth).1.into_iter().filter(|found| found.claim == Claim::Stalled).collect()
}

#[test]
fn a_stopped_engine_is_named_with_its_times() {
    let mut t = plain();
    // a quarter of the window, from its middle on
    t.each = |sample, done| sample.stopped = if (0.5..0.75).contains(&done) { vec![12, 13] } else { vec![] };
    let found = stalled(&t);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Caveat), "{found:?}");
    let text = &found[0].text;
    assert!(
        text.contains("From 10.0 s to 15.0 s of the measured time, 2 of the engine's processes were stopped"),
        "{text}"
    );
    assert!(text.contains("says nothing about the storage"), "{text}");
    assert!((found[0].evidence["stalled_seconds"] - 5.0).abs() < 0.11, "{found:?}");
}

#[test]
fn an_engine_that_was_stopped_half_of_the_time_has_no_figure() {
    let mut t = plain();
    t.each = |sample, done| sample.stopped = if done >= 0.4 { vec![12] } else { vec![] };
    assert_eq!(stalled(&t)[0].severity, Severity::Void);
}

#[test]
fn a_stopped_agent_is_named_with_its_times() {
    let mut t = plain();
    let gap = |from: u64, to: u64, cpu_wait_ns| Gap {
        start_ns: (100 + from) * SECOND,
        end_ns: (100 + to) * SECOND,
        cpu_wait_ns,
    };
    t.agent_gaps = vec![gap(2, 4, Some(0)), gap(10, 13, None)];
    let found = stalled(&t);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Caveat), "{found:?}");
    let text = &found[0].text;
    assert!(
        text.contains(
            "2 times between 2.0 s and 13.0 s of the measured time, for 5.0 s in all, the agent process"
        ),
        "{text}"
    );
}

#[test]
fn a_busy_machine_a_moment_and_what_is_outside_of_the_measured_time_are_no_stall() {
    let mut t = plain();
    let gap = |start_ns, end_ns, cpu_wait_ns| Gap { start_ns, end_ns, cpu_wait_ns };
    let ms = SECOND / 1000;
    t.agent_gaps = vec![
        // it waited for a CPU all the time but 200 ms
        gap(102 * SECOND, 107 * SECOND, Some(4800 * ms)),
        gap(110 * SECOND, 110 * SECOND + 600 * ms, Some(0)),
        gap(90 * SECOND, 99 * SECOND, Some(0)),
        gap(121 * SECOND, 140 * SECOND, None),
    ];
    t.each = |sample, done| sample.stopped = if (0.5..0.52).contains(&done) { vec![12] } else { vec![] };
    assert!(stalled(&t).is_empty(), "{:?}", stalled(&t));
}

/// The completed share of the load at this share of the measured time, if nothing completes from 40 % to 60 % of it.
fn done_with_outage(done: f64) -> f64 {
    (done.min(0.4) + (done - 0.6).max(0.0)) / 0.8
}

fn is_outage(done: f64) -> bool {
    (0.4..0.6).contains(&done)
}

/// Makes the devices' counters constant from 8 s to 12 s of the 20 s.
fn still(sample: &mut Sample, done: f64) {
    for block in sample.block.values_mut() {
        block.reads = crate::testing::whole(20_000.0 * done_with_outage(done));
    }
}

/// 1250 I/Os per second by the engine's own time series, except from 8 s to 12 s of the 20 s.
fn with_outage(each: fn(&mut Sample, f64)) -> Truth {
    let mut t = plain();
    let list: Vec<u64> = (0..200).map(|step| if (80..120).contains(&step) { 0 } else { 125 }).collect();
    course(&mut t, list);
    t.each = each;
    t
}

fn course(t: &mut Truth, list: Vec<u64>) {
    let all: u64 = list.iter().sum();
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
}

/// A function that sets a sample at a share of the measured time.
type Each = fn(&mut Sample, f64);

/// Adds I/Os that took 4 s.
fn held(t: &mut Truth, ios: u64) {
    let read = t.trial.engine.as_mut().unwrap().read.as_mut().unwrap();
    read.latency.bins_ns.insert(4 * SECOND, ios);
}

fn in_flight(sample: &mut Sample, done: f64) {
    still(sample, done);
    for block in sample.block.values_mut() {
        block.in_flight = if is_outage(done) { 16 } else { 3 };
    }
}

#[test]
fn a_device_that_holds_its_ios_is_named_with_the_time_and_their_number() {
    let t = with_outage(in_flight);
    let found = stalled(&t);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Caveat), "{found:?}");
    let text = &found[0].text;
    assert!(
        text.starts_with(
            "From 8.0 s to 12.0 s of the measured time, no I/O completed: loop0 had 16 I/Os in flight and completed none."
        ),
        "{text}"
    );
    assert!(
        text.contains("The mean of 1,000 IOPS includes the outage; without it, the rate is 1,250 IOPS."),
        "{text}"
    );
    assert!(!text.contains("says nothing about the storage"), "{text}");
    assert_eq!(found[0].evidence["stalled_device_in_flight_ios"], 16.0);
}

#[test]
fn the_devices_own_counters_tell_it_where_the_engine_has_no_course() {
    let mut t = with_outage(in_flight);
    t.trial.engine.as_mut().unwrap().series = None;
    let found = stalled(&t);
    assert!(found.len() == 1 && found[0].text.contains("From 8.0 s to 12.0 s"), "{found:?}");
}

#[test]
fn an_outage_makes_no_device_the_limit() {
    let mut t = with_outage(in_flight);
    t.device_queue = 60.0;
    let limit = super::limit::limit_of(&t);
    assert_eq!((limit.by, limit.shown), (LimitKind::Unknown, false), "{limit:?}");
    assert!(limit.text.contains("20 % of the measured time no I/O completed"), "{limit:?}");
    let mut steady = plain();
    steady.device_queue = 60.0;
    assert_eq!(super::limit::limit_of(&steady).by, LimitKind::Device);
}

#[test]
fn a_changed_limit_and_what_lies_between_are_no_device() {
    let mut t = with_outage(|sample, done| {
        still(sample, done);
        let limits = Limits { read_iops: Some(if is_outage(done) { 1 } else { 500 }), ..Limits::default() };
        sample.throttles = Some(BTreeMap::from([("7:0".to_owned(), limits)]));
    });
    assert!(stalled(&t)[0].text.contains("a throttle and not the device held the I/Os"), "{:?}", stalled(&t));
    t.each = still;
    assert!(stalled(&t).is_empty(), "nothing shows that there was an I/O to hold: {:?}", stalled(&t));
    held(&mut t, 64);
    assert!(stalled(&t)[0].text.contains("64 I/Os of the engine took as long"), "{:?}", stalled(&t));
}

#[test]
fn an_engine_that_did_not_run_says_nothing_about_the_storage() {
    let cases: [(&str, Each); 3] = [
        ("1 of the engine's processes was frozen", |sample, done| {
            still(sample, done);
            sample.frozen = if is_outage(done) { vec![12] } else { vec![] };
        }),
        ("the CPU quota of a cgroup held the engine back", |sample, done| {
            still(sample, done);
            let idle = (done.clamp(0.4, 0.6) - 0.4) * 20.0;
            let periods = crate::testing::whole(idle * 10.0);
            let throttled_ns = crate::testing::whole(idle * 9e8);
            sample.cpu_quota =
                Some(CpuQuota { cpus: 0.1, periods, throttled_periods: periods, throttled_ns });
        }),
        ("the hypervisor gave the CPU to others", |sample, done| {
            still(sample, done);
            let cpu = sample.cpu.as_mut().unwrap();
            // all of two cores for the 4 s
            let taken = crate::testing::whole((done.clamp(0.4, 0.6) - 0.4) * 20.0 * 200.0);
            cpu.steal = Some(taken);
            (cpu.user, cpu.idle) = (crate::testing::whole(done_with_outage(done) * 800.0), 0);
        }),
    ];
    for (what, each) in cases {
        let mut t = with_outage(each);
        held(&mut t, 64);
        let found = stalled(&t);
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        let text = &found[0].text;
        assert!(text.contains(what) && text.contains("says nothing about the storage"), "{text}");
        assert!(text.contains("From 8.0 s to 12.0 s") || text.contains("From 8.0 s to 12.1 s"), "{text}");
    }
}

#[test]
fn a_machine_that_slept_is_named_though_its_clock_stood_still() {
    let mut t = plain();
    t.each = |sample, done| sample.suspended_ns = Some(if done < 0.5 { 7 } else { 3 * SECOND });
    let found = stalled(&t);
    assert!(found.len() == 1 && found[0].text.contains("was suspended for 3.0 s"), "{found:?}");
}

#[test]
fn what_only_looks_like_an_outage_is_none() {
    // a token bucket that is filled once a second: I/Os wait for it again and again
    let mut bucket = with_outage(|_, _| {});
    course(&mut bucket, (0..200).map(|step| if step % 10 == 0 { 1000 } else { 0 }).collect());
    held(&mut bucket, 1000);
    // the engine waits while the device works, e.g. for write-back of the page cache
    let mut working = with_outage(|sample, done| {
        sample.block.values_mut().for_each(|b| b.reads = crate::testing::whole(20_000.0 * done));
    });
    held(&mut working, 64);
    // an engine that pauses by its options
    let mut thinking = with_outage(still);
    thinking.options().thinktime_us = 4_000_000;
    held(&mut thinking, 64);
    // too few I/Os for a conclusion
    let mut slow = with_outage(still);
    course(&mut slow, (0..200).map(|step| u64::from(step % 20 == 0)).collect());
    held(&mut slow, 5);
    // only a moment
    let mut moment = with_outage(still);
    course(&mut moment, (0..200).map(|step| if (80..88).contains(&step) { 0 } else { 125 }).collect());
    held(&mut moment, 5);
    for (name, t) in
        [("bucket", bucket), ("working", working), ("thinking", thinking), ("slow", slow), ("moment", moment)]
    {
        assert!(stalled(&t).is_empty(), "{name}: {:?}", stalled(&t));
    }
}
