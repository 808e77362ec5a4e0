//! The limit of synthetic trials with a known one.

use super::claims;
use crate::attribute::attribute;
use crate::facts::Facts;
use crate::limit;
use crate::testing::{GIB, MIB, Truth, filesystem, whole};
use record::counter::{CgroupIo, CpuQuota, HostChange, NetCounters, OtherProcess, Sample};
use record::finding::{Claim, Severity};
use record::judged::{Limit, LimitKind};
use record::stack::FsKind;
use record::volume::{LimitChange, LimitName, Limits, VerifiedLimit, VolumeFacts, VolumeKind};
use record::workload::{EngineKind, RateProcess, Rw};
use std::collections::BTreeMap;

/// 200 I/Os of 4 KiB per second at this depth, all in flight all the time, none of them on a device.
pub(super) fn load(rw: Rw, depth: u32) -> Truth {
    let mut t = Truth::new(rw, 4096, true, filesystem(FsKind::Ext4), 1);
    t.cell.workload.engine = EngineKind::Native;
    (t.options().iodepth, t.options().ioengine) = (depth, "io_uring".to_owned());
    let bytes = 4000 * 4096;
    if rw.reads() {
        t.asked(bytes, 0);
        t.device_read = bytes;
    } else {
        t.asked(0, bytes);
        t.device_write = bytes;
    }
    in_flight(&mut t, f64::from(depth));
    t
}

/// Sets the engine's mean number of I/Os in flight.
fn in_flight(t: &mut Truth, ios: f64) {
    let engine = t.trial.engine.as_mut().unwrap();
    for side in [engine.read.as_mut(), engine.write.as_mut()].into_iter().flatten() {
        side.latency_mean_ns = Some(ios / side.iops * 1e9);
    }
}

/// Gives the volume a limit of reads and of writes per second.
fn limited(t: &mut Truth, iops: f64) {
    t.emulated(1);
    let verified = [LimitName::ReadIops, LimitName::WriteIops].map(|limit| VerifiedLimit {
        limit,
        asked: iops,
        measured: iops,
        seconds: 3.0,
    });
    t.volumes = vec![VolumeFacts {
        burst: None,
        name: "vol[0]".to_owned(),
        target: "local".to_owned(),
        device: Some("/dev/loop0".into()),
        size_bytes: GIB,
        identity: None,
        verified: verified.to_vec(),
        backing_fs: Some("ext4".to_owned()),
        loop_direct_io: Some(true),
        host_limits: None,
    }];
}

pub(super) fn limit_of(t: &Truth) -> Limit {
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    let shares = attribute(&facts);
    let volumes: Vec<&VolumeFacts> = t.volumes.iter().collect();
    let limit = limit::of_trial(&t.scene(&facts, &shares, &volumes));
    assert!(limit.evidence.values().chain(limit.against.values()).all(|v| v.is_finite()), "{limit:?}");
    assert!(limit.text.ends_with('.'), "{}", limit.text);
    limit
}

/// The limit, and whether it is shown rather than likely.
fn by(t: &Truth) -> (LimitKind, bool) {
    let limit = limit_of(t);
    (limit.by, limit.shown)
}

fn block(sample: &mut Sample, change: impl Fn(&mut record::counter::BlockCounters)) {
    sample.block.values_mut().for_each(change);
}

#[test]
fn a_volume_at_its_limit() {
    let mut t = load(Rw::Randread, 64);
    limited(&mut t, 200.0);
    t.device_iops = 199.0;
    assert_eq!(by(&t), (LimitKind::Throttle, true));
    assert!(claims(&t).is_empty(), "the experiment sets it");
    // Nine tenths of the limit: the I/Os wait somewhere, and nothing else explains where.
    t.device_iops = 180.0;
    assert_eq!(by(&t), (LimitKind::Throttle, false));
    in_flight(&mut t, 20.0);
    assert_eq!(by(&t), (LimitKind::Unknown, false), "the load hadn't its I/Os in flight");
}

#[test]
fn what_is_charged_counts_not_what_was_merged() {
    let mut t = load(Rw::Read, 64);
    limited(&mut t, 200.0);
    t.device_iops = 50.0;
    t.each = |sample, done| {
        let io = CgroupIo { reads: Some(whole(4000.0 * done)), ..CgroupIo::default() };
        sample.cgroup_io = BTreeMap::from([("7:0".to_owned(), io)]);
    };
    assert_eq!(
        by(&t),
        (LimitKind::Throttle, true),
        "four neighbours are one I/O on the device, but are charged as four"
    );
    t.each = |_, _| {};
    assert_ne!(by(&t).0, LimitKind::Throttle);
}

#[test]
fn a_limit_that_nobody_declared() {
    let mut t = load(Rw::Randread, 64);
    t.device_iops = 200.0;
    t.each = |sample, _| {
        let limits = Limits { read_iops: Some(200), ..Limits::default() };
        sample.throttles = Some(BTreeMap::from([("7:0".to_owned(), limits)]));
    };
    assert_eq!(by(&t), (LimitKind::Throttle, true));
    assert_eq!(claims(&t), [Claim::UndeclaredLimit]);
    assert!(limit_of(&t).text.contains("which the experiment doesn't set"));
    // A volume's own limit, lowered by another process.
    limited(&mut t, 400.0);
    assert_eq!(claims(&t), [Claim::UndeclaredLimit]);
    limited(&mut t, 200.0);
    assert!(claims(&t).is_empty());
    // On a device that others use too, their I/Os don't count.
    t.volumes.clear();
    t.cell.stack.volumes.clear();
    t.device_iops = 5000.0;
    assert_eq!(claims(&t), [Claim::UndeclaredLimit]);
    assert!(limit_of(&t).text.contains("reached 100 %"), "{}", limit_of(&t).text);
    // There is a limit, but it isn't met.
    t.emulated(1);
    t.device_iops = 90.0;
    assert!(claims(&t).is_empty());
}

#[test]
fn a_limit_that_changes_in_between() {
    let mut t = load(Rw::Randread, 64);
    limited(&mut t, 200.0);
    t.device_iops = 150.0;
    t.each = |sample, done| {
        let limits = Limits { read_iops: Some(if done < 0.5 { 200 } else { 100 }), ..Limits::default() };
        sample.throttles = Some(BTreeMap::from([("7:0".to_owned(), limits)]));
    };
    assert_eq!(by(&t), (LimitKind::Throttle, true), "the mean of both was met");
    assert_eq!(claims(&t), [Claim::ThrottleChanged]);
    let (_, all) = super::judged(&t);
    let changed = all.iter().find(|d| d.claim == Claim::ThrottleChanged).unwrap();
    assert!(changed.text.contains("read_iops from 200 to 100"), "{}", changed.text);
    assert!((changed.evidence["changed_after_seconds"] - 10.0).abs() < 0.2, "{:?}", changed.evidence);
}

/// Only the host knows the limits of a guest's disk.
#[test]
fn limits_that_the_host_changed() {
    let mut t = load(Rw::Randread, 64);
    limited(&mut t, 200.0);
    t.device_iops = 150.0;
    let total = |iops| Limits { total_iops: Some(iops), ..Limits::default() };
    let (id, limits) = ("d1".to_owned(), total(200));
    t.cell.stack.volumes[0].kind =
        VolumeKind::Guest { id, size_bytes: 1 << 30, limits, burst: None, changes: Vec::new() };
    let look = |iops: Option<u64>| Sample {
        throttles: iops.map(|iops| BTreeMap::from([("loop0".to_owned(), total(iops))])),
        ..Sample::default()
    };
    for (begin, end, says) in [
        (Some(200), Some(200), None),
        (
            Some(200),
            Some(100),
            Some("while it was measured: total_iops from 200 to 100. The figure is a mean over both."),
        ),
        (
            Some(100),
            Some(100),
            Some("before it was measured: total_iops from 200 to 100. The figure holds for these limits,"),
        ),
        (None, Some(100), None),
    ] {
        t.trial.evidence.host = vec![look(begin), look(end)];
        let (_, all) = super::judged(&t);
        let found = all.iter().find(|d| d.claim == Claim::ThrottleChanged);
        assert_eq!(found.is_some(), says.is_some(), "{begin:?} {end:?}: {all:?}");
        assert!(found.is_none_or(|d| d.text.contains(says.unwrap())), "{found:?}");
    }
    // As the experiment defines, and nothing else is wrong.
    let change = |after_ms, iops| LimitChange { after_ms, limits: total(iops) };
    let made = |after_ms, iops| HostChange { device: "loop0".to_owned(), after_ms, limits: total(iops) };
    let asked = vec![change(5000, 100), change(8000, 200)];
    let (id, limits) = ("d1".to_owned(), total(200));
    t.cell.stack.volumes[0].kind =
        VolumeKind::Guest { id, size_bytes: 1 << 30, limits, burst: None, changes: asked };
    for (made, end, severity, says) in [
        (
            vec![made(5003, 100), made(8001, 200)],
            200,
            Severity::Note,
            "as the experiment asks: 5.00 s after the load began total_iops from 200 to 100; 8.00 s after the load began total_iops from 100 to 200.",
        ),
        (vec![made(5003, 100)], 100, Severity::Caveat, "The load ended before 1 of 2 changes."),
        (
            vec![],
            200,
            Severity::Caveat,
            "were to change as the experiment asks. The load ended before 2 of 2 changes.",
        ),
        (vec![made(5003, 100)], 50, Severity::Caveat, "while it was measured: total_iops from 100 to 50."),
        // by another process, back to the first value
        (vec![made(5003, 100)], 200, Severity::Caveat, "while it was measured: total_iops from 100 to 200."),
    ] {
        t.trial.evidence.host = vec![look(Some(200)), look(Some(end))];
        t.trial.evidence.host_changes = made;
        let (_, all) = super::judged(&t);
        let found = all.iter().find(|d| d.claim == Claim::ThrottleChanged).unwrap();
        assert_eq!(found.severity, severity, "{found:?}");
        assert!(found.text.contains(says), "{}", found.text);
    }
    // Also reported if the host could not be examined.
    t.trial.evidence.host = Vec::new();
    t.trial.evidence.host_changes = vec![made(5003, 100), made(8001, 200)];
    let (_, all) = super::judged(&t);
    let found = all.iter().find(|d| d.claim == Claim::ThrottleChanged).unwrap();
    assert_eq!(found.severity, Severity::Note, "{found:?}");
    // The record of a client guest names the server's devices with the server's name.
    t.trial.evidence.host_changes.iter_mut().for_each(|change| change.device = "server:loop0".to_owned());
    let (_, all) = super::judged(&t);
    let found = all.iter().find(|d| d.claim == Claim::ThrottleChanged).unwrap();
    assert_eq!(found.severity, Severity::Note, "{found:?}");
    // With two disks, the text has both and the worse one decides.
    let (mut volume, mut facts) = (t.cell.stack.volumes[0].clone(), t.volumes[0].clone());
    (volume.name, facts.name, facts.device) =
        ("vol[1]".to_owned(), "vol[1]".to_owned(), Some("/dev/loop1".into()));
    t.cell.stack.volumes.push(volume);
    t.volumes.push(facts);
    let (_, all) = super::judged(&t);
    let found = all.iter().find(|d| d.claim == Claim::ThrottleChanged).unwrap();
    assert_eq!(found.severity, Severity::Caveat, "{found:?}");
    assert!(found.text.contains("of loop0 changed") && found.text.contains("of loop1 were to"), "{found:?}");
}

#[test]
fn a_rate_that_was_asked_for_comes_before_all_else() {
    let mut t = load(Rw::Randread, 64);
    limited(&mut t, 200.0);
    t.device_iops = 200.0;
    t.options().rate_iops = Some(200);
    assert_eq!(by(&t), (LimitKind::AskedRate, true));
    t.options().rate_iops = Some(250);
    assert_eq!(by(&t), (LimitKind::Throttle, true));
    t.options().rate_iops = Some(205);
    assert_eq!(by(&t).0, LimitKind::Throttle, "2.4 % are missing");
    t.options().rate_process = RateProcess::Poisson;
    assert_eq!(by(&t).0, LimitKind::AskedRate, "of 4,000 random arrivals, 100 fewer are chance");
}

#[test]
fn pauses_that_were_asked_for() {
    let mut t = load(Rw::Randread, 1);
    // 200 I/Os with 4 ms after each: four fifths of the time.
    t.options().thinktime_us = 4000;
    in_flight(&mut t, 0.2);
    assert_eq!(by(&t), (LimitKind::AskedRate, true));
    assert!(limit_of(&t).text.contains("paused 80 %"), "{}", limit_of(&t).text);
    t.options().thinktime_blocks = 4;
    assert_ne!(by(&t).0, LimitKind::AskedRate, "a fifth of the time is not most of it");
}

#[test]
fn a_quota() {
    let mut t = load(Rw::Randread, 16);
    t.each = |sample, done| {
        let quota = CpuQuota {
            cpus: 0.2,
            throttled_periods: whole(190.0 * done),
            periods: whole(200.0 * done),
            throttled_ns: whole(16e9 * done),
        };
        sample.cpu_quota = Some(quota);
    };
    assert_eq!(by(&t), (LimitKind::CpuQuota, true));
    assert_eq!(claims(&t), [Claim::CpuQuota]);
    assert!(limit_of(&t).text.contains("0.20 CPUs and held it back for 0.80 s in"), "{}", limit_of(&t).text);
    t.device_queue = 15.0;
    assert!(claims(&t).is_empty(), "the devices had all they could take");
    t.device_queue = 0.1;
    limited(&mut t, 200.0);
    t.device_iops = 200.0;
    assert!(claims(&t).is_empty(), "the volume gives no more");
}

#[test]
fn one_io_at_a_time_is_the_depth() {
    let mut t = load(Rw::Randread, 1);
    t.device_queue = 0.95;
    let limit = limit_of(&t);
    assert_eq!((limit.by, limit.shown), (LimitKind::QueueDepth, true));
    assert!(
        limit.text.contains("With 1 I/O in flight and 5 ms for each, 200 IOPS is the maximum"),
        "{}",
        limit.text
    );
    assert!(limit.text.contains("raise iodepth (1 now)"), "{}", limit.text);
    assert!(claims(&t).is_empty());
    // fio's synchronous engines have one I/O in flight, whatever the depth.
    t.cell.workload.engine = EngineKind::Fio;
    (t.options().iodepth, t.options().ioengine) = (32, "psync".to_owned());
    let limit = limit_of(&t);
    assert_eq!((limit.by, limit.shown), (LimitKind::QueueDepth, true));
    assert!(limit.text.contains("psync does one I/O at a time"), "{}", limit.text);
}

#[test]
fn a_full_queue_alone_shows_neither_depth_nor_device() {
    for (depth, kind) in [(4, LimitKind::QueueDepth), (64, LimitKind::Device)] {
        let mut t = load(Rw::Randread, depth);
        t.device_queue = f64::from(depth);
        assert_eq!(by(&t), (kind, false));
    }
    let mut disk = load(Rw::Randread, 4);
    disk.device_queue = 4.0;
    disk.trial.topology.nodes[0].rotational = Some(true);
    assert_eq!(by(&disk), (LimitKind::Device, false));
}

#[test]
fn the_device_is_the_limit_only_where_it_held_the_depth() {
    let with = |engine: f64, device: f64, edit: &dyn Fn(&mut Truth)| {
        let mut t = load(Rw::Randread, 32);
        in_flight(&mut t, engine);
        (t.device_queue, t.device_iops) = (device, 200.0);
        edit(&mut t);
        limit_of(&t)
    };
    let plain = |_: &mut Truth| {};
    let limit = with(18.0, 18.0, &plain);
    assert_eq!((limit.by, limit.shown), (LimitKind::Generator, false));
    assert!(limit.text.starts_with("18 of 32 I/Os were in flight at the devices"), "{}", limit.text);
    assert!(limit.text.contains("it had not issued the others"), "{}", limit.text);
    // I/Os that the engine has issued and no device holds wait in the kernel.
    assert_eq!(with(32.0, 18.0, &plain).by, LimitKind::Device);
    assert_eq!(with(30.0, 30.0, &plain).by, LimitKind::Device);
    // An engine that reaps in batches counts I/Os as in flight that completed long ago.
    let batches = |t: &mut Truth| {
        t.options().other.insert("iodepth_batch_complete_min".to_owned(), "32".to_owned());
    };
    let limit = with(32.0, 17.0, &batches);
    assert_eq!((limit.by, limit.shown), (LimitKind::Generator, true));
    assert!(limit.text.contains("in batches (iodepth_batch_complete_min=32)"), "{}", limit.text);
    assert_eq!(with(32.0, 4.0, &batches).by, LimitKind::Generator);
    assert_eq!(with(32.0, 30.0, &batches).by, LimitKind::Device, "the device held them all the same");
    // Requested pauses and flushes aren't the generator's fault, and neither is merging in the kernel.
    assert_eq!(with(18.0, 18.0, &|t| t.options().thinktime_us = 1).by, LimitKind::Device);
    assert_eq!(with(18.0, 18.0, &|t| t.options().fsync = 1).by, LimitKind::Device);
    assert_eq!(with(18.0, 18.0, &|t| t.device_iops = 100.0).by, LimitKind::Device);
}

#[test]
fn a_lock_above_the_device() {
    let mut t = load(Rw::Randwrite, 16);
    t.device_queue = 0.9;
    t.each = |sample, _| {
        sample.throttles = Some(BTreeMap::new());
        block(sample, |b| b.in_flight = 1);
    };
    assert_eq!(by(&t), (LimitKind::Lock, true));
    assert_eq!(claims(&t), [Claim::Serialized]);
    // An unknown limit would make I/Os wait above the device as well.
    let mut unseen = t.clone();
    unseen.each = |sample, _| block(sample, |b| b.in_flight = 1);
    assert_eq!(by(&unseen), (LimitKind::Lock, false));
    assert!(claims(&unseen).is_empty());
    // So does a limit that is nearly met: 200 a second of 280.
    unseen.each = |sample, done| block(sample, |b| (b.in_flight, b.writes) = (1, whole(4000.0 * done)));
    limited(&mut unseen, 280.0);
    assert_ne!(by(&unseen).0, LimitKind::Lock, "{:?}", limit_of(&unseen));
    // With one of two devices at a time, each reaches only 1/3 of its limit.
    limited(&mut unseen, 600.0);
    assert_eq!(by(&unseen).0, LimitKind::Lock);
    let mut second = unseen.trial.topology.nodes[0].clone();
    (second.name, second.devno) = ("loop1".to_owned(), (7, 1));
    unseen.trial.topology.nodes.push(second);
    assert_ne!(by(&unseen).0, LimitKind::Lock);
    // A device that takes them eight at a time, now and then.
    let mut bursts = t.clone();
    // Eleven of 201 samples are a twentieth, rounded up; twelve are more.
    bursts.each = |sample, done| {
        sample.throttles = Some(BTreeMap::new());
        block(sample, |b| b.in_flight = if done < 0.0525 { 8 } else { 1 });
    };
    assert_eq!(by(&bursts), (LimitKind::Lock, true));
    bursts.each = |sample, done| {
        sample.throttles = Some(BTreeMap::new());
        block(sample, |b| b.in_flight = if done < 0.0575 { 8 } else { 1 });
    };
    assert_ne!(by(&bursts).0, LimitKind::Lock);
    bursts.each = |sample, done| {
        sample.throttles = Some(BTreeMap::new());
        block(sample, |b| b.in_flight = if whole(done * 200.0).is_multiple_of(8) { 8 } else { 0 });
    };
    assert_ne!(by(&bursts).0, LimitKind::Lock);
    // A generator that uses the CPU in between.
    t.thread_cores = 0.7;
    assert_eq!(by(&t), (LimitKind::Generator, false));
}

#[test]
fn the_journal_or_flushes() {
    let mut t = load(Rw::Randwrite, 1);
    t.options().fsync = 1;
    in_flight(&mut t, 0.3);
    t.each = |sample, done| {
        block(sample, |b| {
            b.writes = whole(12_000.0 * done);
            (b.flushes, b.discards) = (Some(whole(4000.0 * done)), Some(0));
            (b.weighted_ms, b.write_wait_ms) = (whole(18_000.0 * done), whole(6000.0 * done));
        });
        sample.journal_commits = BTreeMap::from([("loop0".to_owned(), whole(4000.0 * done))]);
    };
    let limit = limit_of(&t);
    assert_eq!((limit.by, limit.shown), (LimitKind::Journal, true));
    let close = |name: &str, value: f64| (limit.evidence[name] - value).abs() < 0.02 * value;
    assert!(close("device_writes_per_write", 3.0) && close("flushes_per_write", 1.0), "{limit:?}");
    assert!(close("flushes_in_flight_ios", 0.6) && close("in_fsync_share", 0.7), "{limit:?}");
    assert!(close("journal_commits_per_write", 1.0), "{limit:?}");
    assert_eq!(claims(&t), [Claim::JournalBound]);
    // Without fsync, the same counters are the file system's own writes.
    t.options().fsync = 0;
    assert_ne!(by(&t).0, LimitKind::Journal);
}

#[test]
fn a_sync_that_costs_little_is_no_limit() {
    let mut t = load(Rw::Randwrite, 1);
    t.options().fdatasync = 32;
    in_flight(&mut t, 0.95);
    t.device_queue = 0.95;
    t.each = |sample, done| block(sample, |b| b.writes = whole(4100.0 * done));
    assert_eq!(by(&t).0, LimitKind::QueueDepth);
    assert!(claims(&t).is_empty());
}

#[test]
fn a_limit_that_is_met_by_the_journals_writes() {
    let mut t = load(Rw::Randwrite, 16);
    t.options().fsync = 1;
    limited(&mut t, 600.0);
    t.each = |sample, done| block(sample, |b| b.writes = whole(12_000.0 * done));
    let limit = limit_of(&t);
    assert_eq!(limit.by, LimitKind::Journal);
    assert!(limit.text.contains("3 writes for each write of the workload"), "{}", limit.text);
    // The kernel charges the engine only for its own writes; then these are at the limit.
    limited(&mut t, 200.0);
    t.each = |sample, done| {
        block(sample, |b| b.writes = whole(12_000.0 * done));
        let io = CgroupIo { writes: Some(whole(4000.0 * done)), ..CgroupIo::default() };
        sample.cgroup_io = BTreeMap::from([("7:0".to_owned(), io)]);
    };
    assert_eq!(by(&t), (LimitKind::Throttle, true));
}

#[test]
fn the_network() {
    let mut t = load(Rw::Read, 16);
    t.asked(2400 * MIB, 0);
    t.device_read = 2400 * MIB;
    t.each = |sample, done| {
        let eth = NetCounters {
            received_bytes: whole(20.0 * 118e6 * done),
            sent_bytes: whole(20.0 * 1e6 * done),
            speed_mbps: Some(1000),
        };
        sample.network = BTreeMap::from([("eth0".to_owned(), eth)]);
    };
    assert_eq!(by(&t), (LimitKind::Network, true));
    assert_eq!(claims(&t), [Claim::NetworkBound]);
    t.asked(200 * MIB, 0);
    assert_ne!(by(&t).0, LimitKind::Network, "the link was full of something else");
}

#[test]
fn holes_and_cached_files_are_memory() {
    let mut t = load(Rw::Randread, 16);
    t.file(256 * MIB, |f| (f.written_bytes, f.hole_bytes) = (0, 256 * MIB));
    t.device_read = 0;
    assert_eq!(by(&t), (LimitKind::Memory, true));
    // Half of it is read from a device that is busy with it, which takes the time.
    let mut half = load(Rw::Randread, 1);
    half.file(256 * MIB, |f| (f.written_bytes, f.hole_bytes) = (128 * MIB, 128 * MIB));
    half.device_read /= 2;
    half.device_queue = 0.95;
    half.each = |sample, done| block(sample, |b| b.busy_ms = whole(19_000.0 * done));
    assert_eq!(by(&half).0, LimitKind::QueueDepth);
}

#[test]
fn kernel_threads_that_take_turns_are_named_where_nothing_else_is_used_up() {
    let mut t = Truth::new(Rw::Write, 1 << 20, false, filesystem(FsKind::Ext4), 1);
    t.asked(0, 2 * GIB);
    t.device_write = 2 * GIB;
    (t.thread_cores, t.machine_busy, t.kernel_cpu, t.others_cpu) = (0.1, 0.62, Some(0.56), Some(0.01));
    for (name, ticks) in [("kworker/u8:10-btrfs-delalloc", 500), ("kworker/u8:11-btrfs-delalloc", 420)] {
        let thread = t.other(name, 0, 0);
        (thread.kernel, thread.cpu_ticks) = (Some(true), Some(ticks));
    }
    let limit = limit_of(&t);
    assert_eq!((limit.by, limit.shown), (LimitKind::Cpu, false), "{limit:?}");
    assert!(
        limit
            .text
            .contains("Kernel threads ran 93 % of a core's time (of a core: kworker/u8:10-btrfs-delalloc"),
        "{}",
        limit.text
    );
    t.kernel_cpu = Some(0.4);
    assert_eq!(limit_of(&t).by, LimitKind::Unknown, "a fifth of the time none of them ran");
}

#[test]
fn a_kernel_thread_that_never_rests() {
    let mut t = load(Rw::Randwrite, 64);
    t.device_queue = 60.0;
    t.trial.evidence.others.push(OtherProcess {
        pid: 99,
        comm: "md0_raid5".to_owned(),
        cpu_ticks: Some(2300),
        kernel: Some(true),
        ..OtherProcess::default()
    });
    let limit = limit_of(&t);
    assert_eq!(limit.by, LimitKind::Cpu);
    assert!(
        limit.text.contains("md0_raid5 ran 95.8 %") || limit.text.contains("md0_raid5 ran 96 %"),
        "{}",
        limit.text
    );
}

#[test]
fn what_is_unknown_is_unknown() {
    let mut t = load(Rw::Randread, 16);
    t.each = |sample, _| sample.block.clear();
    let limit = limit_of(&t);
    assert_eq!((limit.by, limit.shown), (LimitKind::Unknown, false));
    assert!(!limit.against.is_empty(), "what was looked at");
    // If others use all the CPU, I/Os wait for it.
    let mut crowded = load(Rw::Randread, 16);
    (crowded.machine_busy, crowded.others_cpu) = (0.99, Some(0.9));
    assert_eq!(by(&crowded), (LimitKind::Cpu, false));
    // An older record, without these counters.
    t.each = |sample, _| *sample = Sample { monotonic_ns: sample.monotonic_ns, ..Sample::default() };
    t.trial.engine.as_mut().unwrap().read.as_mut().unwrap().latency_mean_ns = None;
    assert_eq!(by(&t), (LimitKind::Unknown, false));
}

#[test]
fn a_shuffled_volumes_own_limit_is_declared() {
    let mut t = load(Rw::Randread, 64);
    limited(&mut t, 200.0);
    let mut record = t.record();
    record.drawn = vec!["vol[7]".to_owned()];
    let performed = crate::cell::performed(&t.cell, &record);
    assert_eq!(performed.stack.volumes[0].name, "vol[7]");
    let mut volumes = t.volumes.clone();
    for name in ["vol[7]", "vol[0]"] {
        volumes[0].name = name.to_owned();
        let own: Vec<_> =
            volumes.iter().filter(|v| performed.stack.all_volumes().any(|s| s.name == v.name)).collect();
        assert_eq!(own.len(), usize::from(name == "vol[7]"), "only what stood under the stack is its own");
    }
}
