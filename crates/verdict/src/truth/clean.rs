//! Clean trials, without findings.

use super::{RAID0, SINGLE, judged, only};
use crate::testing::{GIB, MIB, Truth, btrfs, filesystem};
use record::stack::{BtrfsProfile, FsKind};
use record::workload::Rw;

/// Clean trials: all bytes come from the devices.
fn clean() -> Vec<(&'static str, Truth)> {
    [plain(), mirrors_and_flushes(), neighbours(), slow_and_busy()].into_iter().flatten().collect()
}

fn plain() -> Vec<(&'static str, Truth)> {
    let mut all = Vec::new();
    // 3 x 80 IOPS, 16k, throttled; 1 % of metadata on top.
    let mut t = Truth::new(Rw::Randread, 16384, true, btrfs(RAID0), 3);
    t.asked(4800 * 16384, 0);
    t.device_read = 4800 * 16384 * 101 / 100;
    all.push(("btrfs raid0 direct randread", t));
    // A mix; btrfs writes metadata for each copy-on-write, a third as much again.
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(RAID0), 3);
    t.asked(2400 * 16384, 2350 * 16384);
    (t.device_read, t.device_write) = (2400 * 16384, 2350 * 16384 * 4 / 3);
    (t.own_read, t.own_write) = (Some(2400 * 16384), Some(2350 * 16384));
    all.push(("btrfs raid0 direct randrw", t));
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(400_000 * 4096, 0);
    t.device_read = 400_000 * 4096;
    all.push(("ext4 direct randread", t));
    all
}

fn mirrors_and_flushes() -> Vec<(&'static str, Truth)> {
    let mut all = Vec::new();
    // The flush is inside the measured time.
    let mut t = Truth::new(Rw::Write, MIB, false, filesystem(FsKind::Xfs), 1);
    t.asked(0, 2 * GIB);
    t.device_write = 2 * GIB + 20 * MIB;
    all.push(("xfs buffered write with end_fsync", t));
    // Mirrors write everything twice.
    let mut t = Truth::new(Rw::Randwrite, 4096, true, btrfs(BtrfsProfile::Raid1), 2);
    t.asked(0, 100 * MIB);
    t.device_write = 230 * MIB;
    t.own_write = Some(100 * MIB);
    all.push(("btrfs raid1 direct randwrite", t));
    let mut t = Truth::new(Rw::Randread, 4096, true, btrfs(BtrfsProfile::Raid1), 2);
    t.asked(100 * MIB, 0);
    t.device_read = 100 * MIB;
    all.push(("btrfs raid1 direct randread", t));
    // Buffered, cold, one pass: everything must come from the device, with read-ahead a little more.
    let mut t = Truth::new(Rw::Read, 131_072, false, filesystem(FsKind::Ext4), 1);
    t.asked(200 * MIB, 0);
    t.device_read = 202 * MIB;
    all.push(("ext4 buffered sequential read, one pass", t));
    // The window's ends lose a little.
    let mut t = Truth::new(Rw::Read, MIB, true, filesystem(FsKind::Xfs), 1);
    t.asked(4 * GIB, 0);
    t.device_read = 4 * GIB * 98 / 100;
    all.push(("xfs direct read, 2 % missing at the ends", t));
    all
}

fn neighbours() -> Vec<(&'static str, Truth)> {
    let mut all = Vec::new();
    // Two reads and a few writes of another process, far below the threshold.
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    (t.device_read, t.device_write) = (GIB + MIB, 2 * MIB);
    t.own_read = Some(GIB);
    t.other("systemd-journal", MIB, 2 * MIB);
    all.push(("a journal daemon beside it", t));
    // A busy neighbour on another disk: its bytes aren't on ours.
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    t.other("rsync", 4 * GIB, 4 * GIB);
    all.push(("a neighbour on another disk", t));
    // Loop workers and write-back threads move bytes for others.
    let mut t = Truth::new(Rw::Randwrite, 16384, true, filesystem(FsKind::Ext3), 1);
    t.asked(0, 200 * MIB);
    t.device_write = 260 * MIB;
    t.other("kworker/u8:2", 0, 260 * MIB).kernel = Some(true);
    t.other("jbd2/loop0-8", 0, 60 * MIB).kernel = Some(true);
    all.push(("kernel threads at work", t));
    all
}

fn slow_and_busy() -> Vec<(&'static str, Truth)> {
    let mut all = Vec::new();
    // A slow volume on a busy machine: checksums are read too, kernel threads fetch and write metadata, and a compiler
    // elsewhere moves a hundred times as much.
    let mut t = Truth::new(Rw::Randread, 16384, true, btrfs(RAID0), 1);
    t.asked(420 * 16384, 0);
    (t.device_read, t.own_read) = (456 * 16384, Some(394 * 16384));
    t.other("cargo", 673 * MIB, 39 * MIB);
    all.push(("a slow volume on a busy machine, reads", t));
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(RAID0), 3);
    t.asked(700 * 16384, 740 * 16384);
    (t.device_read, t.own_read) = (702 * 16384, Some(700 * 16384));
    (t.device_write, t.own_write) = (850 * 16384, Some(740 * 16384));
    t.other("bash", 3000 * MIB, 7000 * MIB);
    all.push(("a slow volume on a busy machine, mix", t));
    // The same on exclusive volumes: btrfs wrote more than requested, and a compiler moved just as much elsewhere.
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(RAID0), 1);
    t.emulated(1);
    t.asked(700 * 16384, 740 * 16384);
    (t.device_read, t.own_read) = (900 * 16384, Some(700 * 16384));
    (t.device_write, t.own_write) = (1100 * 16384, Some(740 * 16384));
    t.other("rustc", 200 * 16384, 360 * 16384).on_ground = Some(false);
    t.other("cargo", 200 * 16384, 360 * 16384).on_ground = None;
    all.push(("an emulated volume on a busy machine, mix", t));
    // Incompressible data on a compressing file system stays as it is.
    let mut t = Truth::new(Rw::Randread, 4096, true, btrfs(SINGLE), 1);
    t.file(256 * MIB, |f| f.disk_bytes = Some(256 * MIB));
    t.asked(GIB, 0);
    t.device_read = GIB;
    all.push(("btrfs with compression, incompressible data", t));
    all
}

#[test]
fn clean_trials_raise_no_alarm() {
    for (name, truth) in clean() {
        let (shares, found) = judged(&truth);
        assert!(found.is_empty(), "{name}: {found:?}");
        assert_eq!(shares.both, only(|s| s.device = 1.0), "{name}");
    }
}

#[test]
fn clean_trials_of_two_seconds_raise_no_alarm_either() {
    for (name, mut truth) in clean() {
        // The same bytes in the last two seconds of the samples' twenty.
        let engine = truth.trial.engine.as_mut().unwrap();
        engine.window.start_ns = engine.window.end_ns - 2_000_000_000;
        for totals in [&mut engine.read, &mut engine.write].into_iter().flatten() {
            (totals.ios, totals.bytes) = (totals.ios / 10, totals.bytes / 10);
        }
        for other in &mut truth.trial.evidence.others {
            (other.read_bytes, other.write_bytes) = (other.read_bytes / 10, other.write_bytes / 10);
        }
        let found = judged(&truth).1;
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}
