//! The native engine's record when the storage breaks under a running load: full, shrunk, shut down, read-only, detached. Needs
//! root.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/faults.rs"]
mod faults;
mod support;

use device::Ground;
use diskproof_engine::{Engine, EngineError};
use faults::{
    Machine, Mounted, claimed, completed, count, engine, going_on, measured, native, offsets, run_while,
    scratch, tool, wait_until, written_loop,
};
use record::workload::{Layout, Options, Rw};
use std::fs::{self, File};
use support::{Bench, asked};
use testkit::LoopDevice;

const MIB: u64 = 1 << 20;

/// Fills a file system of `size` bytes by writing into a larger hole.
fn fill(kind: &str, size: u64, direct: bool, go_on: bool) {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(size, "faults-full"), kind);
    let bench = ground.bench();
    let blocks = size / MIB + 64;
    let load =
        Options { size_bytes: blocks * MIB, bs_bytes: MIB, direct, time_based: false, ..native(Rw::Write) };
    let mut workload = asked(going_on(load, go_on));
    workload.layout = Layout::Hole;
    let job = bench.job(&workload, 5, 60.0);
    engine().prepare(&job).unwrap();
    let out = measured(engine().run(&job), go_on);
    assert!(
        out.errors.iter().all(|e| ["ENOSPC", "short write"].contains(&e.errno.as_str())),
        "{:?}",
        out.errors
    );
    let full = out.errors.iter().find(|e| e.errno == "ENOSPC").unwrap();
    let first = offsets(full);
    assert!(first.iter().all(|o| o % MIB == 0 && *o < size + 64 * MIB), "{first:?}");
    let written = out.write.unwrap();
    assert!(written.ios > 0 && written.bytes == written.ios * MIB, "{written:?}");
    if go_on {
        let failed: u64 = out.errors.iter().map(|error| error.count).sum();
        assert_eq!(written.ios + failed, blocks, "one pass: {:?}", out.errors);
    } else {
        assert!(written.bytes < size, "{} bytes on a file system of {size}", written.bytes);
        assert!(full.count <= 4, "what was in flight, no more: {full:?}");
    }
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

#[test]
fn loop_a_full_ext4_ends_a_buffered_load() {
    fill("ext4", 48 * MIB, false, false);
}

#[test]
fn loop_a_full_ext4_is_counted_by_a_load_that_goes_on() {
    fill("ext4", 48 * MIB, true, true);
}

#[test]
fn loop_a_full_xfs_ends_a_direct_load() {
    fill("xfs", 320 * MIB, true, false);
}

#[test]
fn loop_a_full_xfs_ends_a_buffered_load() {
    fill("xfs", 320 * MIB, false, false);
}

/// The loop driver returns EIO for reads beyond the end of its file. (Writes extend the file again: no error.)
#[test]
fn loop_a_truncated_backing_file_is_eio_with_offsets() {
    let Some(machine) = Machine::take() else { return };
    for go_on in [false, true] {
        let device = written_loop(32 * MIB, "faults-cut");
        let claim = claimed(&device);
        let bench = Bench::on(scratch(), Ground::block(&claim));
        let mut load = Options { iodepth: 8, size_bytes: 32 * MIB, ..native(Rw::Randread) };
        // One pass, which takes at least two seconds.
        (load.rate_iops, load.time_based) = (Some(4000), false);
        let backing = File::options().write(true).open(device.backing()).unwrap();
        let ended = run_while(&bench, &device, &asked(going_on(load, go_on)), 60.0, |_| {
            backing.set_len(16 * MIB).unwrap();
        });
        let out = measured(ended, go_on);
        let [error] = out.errors.as_slice() else { panic!("{:?}", out.errors) };
        assert_eq!(error.errno, "EIO");
        assert!(offsets(error).iter().all(|o| *o >= 16 * MIB && *o < 32 * MIB), "{error:?}");
        assert!(go_on || error.count <= 8, "what was in flight, no more: {error:?}");
        let read = out.read.unwrap();
        assert_eq!((read.latency.count(), read.bytes), (read.ios, read.ios * 4096), "errors are no reads");
        assert!(!go_on || read.ios + error.count == 32 * MIB / 4096, "one pass: {error:?}");
    }
    machine.assert_as_before();
}

/// The closest to an unplugged device that this kernel allows (without SCSI, NBD or device mapper): it shrinks to nothing.
#[test]
fn loop_a_device_that_is_gone_counts_reads_and_writes_apart() {
    let Some(machine) = Machine::take() else { return };
    let device = written_loop(16 * MIB, "faults-gone");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let load = going_on(Options { size_bytes: 16 * MIB, ..native(Rw::Randrw) }, true);
    let backing = File::options().write(true).open(device.backing()).unwrap();
    let ended = run_while(&bench, &device, &asked(load), 8.0, |_| {
        // Writes in flight extend the file again, until the device gets its new size.
        wait_until("the device has shrunk to nothing", || {
            backing.set_len(0).unwrap();
            tool(&["losetup", "--set-capacity", device.path().to_str().unwrap()]).unwrap();
            fs::read_to_string(format!("/sys/block/{}/size", device.name())).unwrap().trim() == "0"
        });
    });
    let out = measured(ended, true);
    let (short, full) = (count(&out.errors, "short read"), count(&out.errors, "ENOSPC"));
    assert!(short > 16 && full > 16, "reads find an end, writes no space: {:?}", out.errors);
    // Reads may meet the truncated file before the device gets its new size.
    assert_eq!(short + full + count(&out.errors, "EIO"), out.errors.iter().map(|e| e.count).sum::<u64>());
    out.errors.iter().for_each(|error| assert!(offsets(error).iter().all(|o| *o < 16 * MIB)));
    let again = engine().run(&bench.job(&asked(native(Rw::Randread)), 5, 1.0)).unwrap_err();
    assert!(matches!(again, EngineError::TooSmall { found_bytes: 0, .. }), "{again}");
    drop((bench, claim, device));
    machine.assert_as_before();
}

/// The kernel only notes a detach of a loop device in use: the load goes on, and the device goes with its last user.
#[test]
fn loop_a_detached_device_serves_until_it_is_let_go() {
    let Some(machine) = Machine::take() else { return };
    let device = written_loop(16 * MIB, "faults-lazy");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let load = Options { size_bytes: 16 * MIB, ..native(Rw::Randrw) };
    let ended = run_while(&bench, &device, &asked(load), 1.0, |_| {
        tool(&["losetup", "--detach", device.path().to_str().unwrap()]).unwrap();
    });
    assert!(measured(ended, true).errors.is_empty());
    drop((bench, claim));
    let backing = format!("/sys/block/{}/loop/backing_file", device.name());
    wait_until("the device is let go", || !fs::exists(&backing).unwrap());
    drop(device);
    machine.assert_as_before();
}

/// What a file system does when it loses its device: it shuts down (XFS_IOC_GOINGDOWN, EXT4_IOC_SHUTDOWN).
#[test]
fn loop_a_file_system_shut_down_is_eio_and_nothing_is_opened_again() {
    let Some(machine) = Machine::take() else { return };
    for (kind, go_on) in [("ext4", false), ("xfs", true)] {
        let ground = Mounted::new(LoopDevice::new(320 * MIB, "faults-down"), kind);
        let bench = ground.bench();
        let workload = asked(going_on(native(Rw::Randrw), go_on));
        let seconds = if go_on { 8.0 } else { 60.0 };
        let ended = run_while(&bench, &ground.device, &workload, seconds, |_| {
            tool(&["xfs_io", "-x", "-c", "shutdown", ground.point.to_str().unwrap()]).unwrap();
        });
        let out = measured(ended, go_on);
        assert!(count(&out.errors, "EIO") > 0, "{kind}: {:?}", out.errors);
        assert!(out.errors.iter().all(|error| error.errno == "EIO"), "{kind}: {:?}", out.errors);
        out.errors.iter().for_each(|error| assert!(offsets(error).iter().all(|o| *o < 8 * MIB)));
        let again = chain(&engine().run(&bench.job(&workload, 5, 1.0)).unwrap_err());
        assert!(
            again.contains("diskproof-data.0") && again.contains("Input/output error"),
            "{kind}: {again}"
        );
        drop(bench);
        ground.unmount();
    }
    machine.assert_as_before();
}

/// With `errors=remount-ro`, an error inside ext4 stops all writes, even to open files; reads go on.
#[test]
fn loop_a_file_system_made_read_only_by_an_error_refuses_writes_and_serves_reads() {
    let Some(machine) = Machine::take() else { return };
    for go_on in [true, false] {
        let ground = Mounted::new(LoopDevice::new(64 * MIB, "faults-ro"), "ext4");
        let bench = ground.bench();
        let workload = asked(going_on(native(Rw::Randrw), go_on));
        let seconds = if go_on { 8.0 } else { 60.0 };
        let ended = run_while(&bench, &ground.device, &workload, seconds, |_| {
            fs::write(ground.ext4("trigger_fs_error"), "1").unwrap();
            let before = completed(&ground.device);
            if go_on {
                wait_until("reads go on", || completed(&ground.device) > before + 500);
            }
        });
        let out = measured(ended, go_on);
        assert!(count(&out.errors, "EROFS") > 0, "{:?}", out.errors);
        assert!(out.errors.iter().all(|error| error.errno == "EROFS"), "{:?}", out.errors);
        out.errors.iter().for_each(|error| assert!(offsets(error).iter().all(|o| *o < 8 * MIB)));
        let again = chain(&engine().run(&bench.job(&workload, 5, 1.0)).unwrap_err());
        assert!(again.contains("diskproof-data.0") && again.contains("Read-only file system"), "{again}");
        drop(bench);
        ground.unmount();
    }
    machine.assert_as_before();
}

/// The kernel refuses the remount during a load that writes; afterwards only a load that reads can begin.
#[test]
fn loop_a_read_only_remount_waits_for_the_load() {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(64 * MIB, "faults-remount"), "ext4");
    let bench = ground.bench();
    let writes = asked(native(Rw::Randwrite));
    let remount = || tool(&["mount", "-o", "remount,ro", ground.point.to_str().unwrap()]);
    let ended = run_while(&bench, &ground.device, &writes, 1.0, |_| {
        assert!(remount().unwrap_err().contains("busy"));
    });
    assert!(measured(ended, true).errors.is_empty());
    wait_until("nobody writes any more", || remount().is_ok());
    let refused = chain(&engine().run(&bench.job(&writes, 5, 1.0)).unwrap_err());
    assert!(refused.contains("diskproof-data.0") && refused.contains("Read-only file system"), "{refused}");
    let reads = engine().run(&bench.job(&asked(native(Rw::Randread)), 5, 0.3)).unwrap();
    assert!(reads.read.unwrap().ios > 0 && reads.errors.is_empty());
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

/// An error with all its causes, as it is printed.
fn chain(error: &EngineError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text += &format!(": {source}");
        cause = source.source();
    }
    text
}
