//! Loads that hang and workers that are killed: reported while it lasts, over afterwards, nothing left behind. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/faults.rs"]
mod faults;
mod support;

use device::Ground;
use diskproof_engine::{Engine, EngineError};
use faults::{
    Machine, Mounted, assert_gone, claimed, engine, measured, native, run_while, said_until_now, scratch,
    tool, wait_until, written_loop,
};
use record::workload::{Options, Rw};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use support::asked;
use testkit::LoopDevice;

const MIB: u64 = 1 << 20;
const IN_FLIGHT: &str = "has been in flight for";

/// A frozen file system; thawed on drop, since otherwise nothing could be unmounted.
struct Frozen(PathBuf);

impl Frozen {
    fn new(point: &Path) -> Self {
        tool(&["fsfreeze", "--freeze", point.to_str().unwrap()]).unwrap();
        Self(point.to_owned())
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = tool(&["fsfreeze", "--unfreeze", self.0.to_str().unwrap()]);
    }
}

/// Writes to a frozen file system hang until it is thawed.
fn freeze(ioengine: &str) {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(64 * MIB, "hangs-frozen"), "ext4");
    let bench = ground.bench();
    let workload = asked(Options { ioengine: ioengine.into(), ..native(Rw::Randwrite) });
    let ended = run_while(&bench, &ground.device, &workload, 9.0, |_| {
        let frozen = Frozen::new(&ground.point);
        wait_until("the hang is told while it lasts", || said_until_now(&bench.scratch).contains(IN_FLIGHT));
        drop(frozen);
    });
    let out = measured(ended, true);
    let told = out.messages.iter().find(|message| message.contains(IN_FLIGHT)).unwrap();
    assert!(told.starts_with("job0: ") && told.contains("Write at offset "), "{told}");
    assert!(out.errors.is_empty(), "late is no error: {:?}", out.errors);
    assert!(out.write.unwrap().ios > 0);
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

#[test]
fn loop_a_frozen_file_system_is_told_while_it_hangs() {
    freeze("io_uring");
}

#[test]
fn loop_a_frozen_file_system_is_told_while_threads_hang() {
    freeze("psync");
}

/// I/Os that take too long are reported, even while others complete.
#[test]
fn loop_an_io_that_hangs_is_told_beside_others_that_complete() {
    let Some(machine) = Machine::take() else { return };
    let device = written_loop(16 * MIB, "hangs-slow");
    let claim = claimed(&device);
    let Some(throttle) = Throttle::new(&device, 2) else { return };
    let bench = support::Bench::on(scratch(), Ground::block(&claim));
    let workload = asked(Options { iodepth: 16, size_bytes: 16 * MIB, ..native(Rw::Randread) });
    let mut job = bench.job(&workload, 5, 7.0);
    let procs = throttle.0.join("cgroup.procs");
    job.cgroup_procs = Some(&procs);
    engine().prepare(&job).unwrap();
    // Two per second with sixteen in flight: each takes eight seconds, and a completion comes at least every second.
    let out = measured(engine().run(&job), true);
    let told = out.messages.iter().find(|message| message.contains(IN_FLIGHT)).unwrap();
    assert!(told.starts_with("job0: ") && told.contains("Read at offset "), "{told}");
    assert!(out.errors.is_empty(), "{:?}", out.errors);
    drop((bench, throttle, claim, device));
    machine.assert_as_before();
}

/// A cancelled run returns although its worker can't be ended; the worker ends once the storage responds.
#[test]
fn loop_a_cancelled_load_comes_back_while_its_storage_hangs() {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(64 * MIB, "hangs-cancel"), "ext4");
    let bench = ground.bench();
    let workload = asked(native(Rw::Randwrite));
    let mut job = bench.job(&workload, 5, 600.0);
    engine().prepare(&job).unwrap();
    let frozen = Frozen::new(&ground.point);
    let worker = Cell::new(0);
    let started = |pid| {
        worker.set(pid);
        bench.cancel.store(true, Ordering::SeqCst);
    };
    job.started = &started;
    let ended = engine().run(&job);
    assert!(matches!(ended, Err(EngineError::Cancelled)), "{:?}", ended.err());
    drop(frozen);
    assert_gone(worker.get());
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

#[test]
fn loop_a_killed_worker_leaves_nothing_and_its_ground_serves_again() {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(64 * MIB, "hangs-killed"), "ext4");
    let bench = ground.bench();
    let workload = asked(Options { iodepth: 32, numjobs: 2, ..native(Rw::Randrw) });
    let ended = run_while(&bench, &ground.device, &workload, 600.0, |pid| {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
    match ended {
        Err(EngineError::Failed { ended, output: None, .. }) => {
            assert!(ended.contains("was ended by signal 9"), "{ended}");
        }
        other => panic!("{:?}", other.err()),
    }
    let job = bench.job(&workload, 6, 0.3);
    engine().prepare(&job).unwrap();
    assert!(measured(engine().run(&job), true).read.unwrap().ios > 0);
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

/// A cgroup that limits one device; removed on drop.
struct Throttle(PathBuf);

impl Throttle {
    /// `None` without a cgroup v1 blkio controller.
    fn new(device: &LoopDevice, iops: u32) -> Option<Self> {
        let controller = Path::new("/sys/fs/cgroup/blkio");
        if !controller.join("blkio.throttle.read_iops_device").exists() {
            println!("skipped: no cgroup v1 blkio controller");
            return None;
        }
        let dir = controller.join("diskproof-test-hangs");
        fs::create_dir_all(&dir).unwrap();
        let number = fs::read_to_string(format!("/sys/block/{}/dev", device.name())).unwrap();
        fs::write(dir.join("blkio.throttle.read_iops_device"), format!("{} {iops}", number.trim())).unwrap();
        Some(Self(dir))
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
