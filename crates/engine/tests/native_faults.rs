//! Errors are counted one by one, by kind and job, and a dead agent process takes its worker along. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/faults.rs"]
mod faults;
mod support;

use device::Place;
use diskproof_engine::native::NativeEngine;
use diskproof_engine::{Engine, EngineError};
use faults::{assert_gone, count, engine, going_on, measured, native, offsets, wait_until};
use record::trial::EngineOutput;
use record::workload::{Options, Rw, Workload};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Bench, asked};

const MIB: u64 = 1 << 20;

fn data(bench: &Bench, job: u32) -> PathBuf {
    match bench.ground.place() {
        Place::Directory(directory) => directory.join(format!("diskproof-data.{job}")),
        Place::Block(device) => device.clone(),
    }
}

/// Runs a workload; the worker's command truncates the files of these jobs, after the engine has looked at them.
fn run_cut(
    bench: &Bench,
    workload: &Workload,
    jobs: &[u32],
    length: u64,
) -> Result<EngineOutput, EngineError> {
    let files: String =
        jobs.iter().map(|job| format!(" '{}'", data(bench, *job).to_string_lossy())).collect();
    let script = format!("truncate -s {length}{files} && exec \"$0\" \"$@\"");
    let worker = ["/bin/sh", "-c", &script, env!("CARGO_BIN_EXE_diskproof-native-worker")];
    let job = bench.job(workload, 3, 60.0);
    engine().prepare(&job).unwrap();
    NativeEngine::with_worker(worker.map(Into::into).to_vec()).run(&job)
}

/// One pass over 8 MiB in blocks of 4 KiB.
fn one_pass(rw: Rw, ioengine: &str) -> Options {
    let load = Options { ioengine: ioengine.into(), time_based: false, ..native(rw) };
    going_on(load, true)
}

#[test]
fn good_and_failed_ios_add_up_to_what_was_asked() {
    for (ioengine, direct) in [("io_uring", true), ("io_uring", false), ("psync", true)] {
        let bench = Bench::lent();
        let workload = asked(Options { direct, ..one_pass(Rw::Randread, ioengine) });
        let out = measured(run_cut(&bench, &workload, &[0], 5 * MIB), true);
        let (read, [error]) = (out.read.unwrap(), out.errors.as_slice()) else { panic!("{:?}", out.errors) };
        assert_eq!(error.errno, "short read");
        assert!(offsets(error).iter().all(|o| (5 * MIB..8 * MIB).contains(o) && o % 4096 == 0), "{error:?}");
        assert!(error.count <= 3 * MIB / 4096);
        assert_eq!(read.ios + error.count, 8 * MIB / 4096, "{ioengine}, direct {direct}");
        assert_eq!(read.latency.count(), read.ios);
    }
}

#[test]
fn a_part_of_a_block_is_a_short_read_and_no_read() {
    let bench = Bench::lent();
    let workload = asked(Options { direct: false, iodepth: 1, ..one_pass(Rw::Read, "io_uring") });
    let out = measured(run_cut(&bench, &workload, &[0], 8 * MIB - 1), true);
    let [error] = out.errors.as_slice() else { panic!("{:?}", out.errors) };
    assert_eq!((error.errno.as_str(), error.count, offsets(error)), ("short read", 1, vec![8 * MIB - 4096]));
    let read = out.read.unwrap();
    assert_eq!((read.ios, read.bytes), (2047, 2047 * 4096));
}

#[test]
fn jobs_count_their_own_errors() {
    let bench = Bench::lent();
    let workload = asked(Options { numjobs: 3, ..one_pass(Rw::Read, "io_uring") });
    let out = measured(run_cut(&bench, &workload, &[0, 2], 7 * MIB), true);
    let jobs: Vec<_> = out.errors.iter().map(|e| &e.place.as_ref().unwrap()[..4]).collect();
    assert_eq!(jobs, ["job0", "job2"], "{:?}", out.errors);
    assert_eq!(out.read.unwrap().ios + count(&out.errors, "short read"), 3 * 2048);
}

#[test]
fn errors_are_told_also_when_nothing_went_well() {
    let bench = Bench::lent();
    let out = run_cut(&bench, &asked(one_pass(Rw::Read, "io_uring")), &[0], 0);
    let out = measured(out, false);
    assert_eq!(count(&out.errors, "short read"), 2048, "{:?}", out.errors);
    assert_eq!(out.read.unwrap().ios, 0);
}

#[test]
fn the_first_error_ends_a_load_that_does_not_go_on() {
    let bench = Bench::lent();
    let load = Options { iodepth: 4, ..going_on(native(Rw::Read), false) };
    let out = measured(run_cut(&bench, &asked(load), &[0], 4 * MIB), false);
    let [error] = out.errors.as_slice() else { panic!("{:?}", out.errors) };
    assert!((1..=4).contains(&error.count), "what was in flight, no more: {error:?}");
    assert!(offsets(error).iter().all(|o| (4 * MIB..4 * MIB + 4 * 4096).contains(o)), "{error:?}");
}

#[test]
fn a_load_goes_on_after_the_kinds_of_errors_that_it_was_told() {
    let bench = Bench::lent();
    for (tolerated, go_on) in [("none", false), ("write", false), ("read", true), ("all", true)] {
        let mut load = one_pass(Rw::Randread, "io_uring");
        load.other.insert("continue_on_error".into(), tolerated.into());
        let out = measured(run_cut(&bench, &asked(load), &[0], 4 * MIB), go_on);
        let [error] = out.errors.as_slice() else { panic!("{:?}", out.errors) };
        assert_eq!(error.errno, "short read");
        let done = out.read.unwrap().ios + error.count;
        // A load that ends has four I/Os in flight.
        assert!(if go_on { done == 2048 } else { error.count <= 4 && done < 2048 }, "{done}: {error:?}");
        assert!(error.place.as_ref().unwrap().starts_with("job0: read at offset "), "{error:?}");
    }
}

/// Makes [`node`] act as the agent process; its value is the directory for the output.
const NODE: &str = "DISKPROOF_TEST_NODE";

/// The agent process of the test below, in a separate process; alone it does nothing.
#[test]
fn node() {
    let Some(dir) = std::env::var_os(NODE) else { return };
    let bench = Bench::lent();
    let workload = asked(native(Rw::Randrw));
    let mut job = bench.job(&workload, 3, 600.0);
    let told = Path::new(&dir).join("told");
    let started = |pid: u32| {
        fs::write(&told, format!("{pid} {}", bench.dir.path().to_string_lossy())).unwrap();
        fs::rename(&told, told.with_file_name("worker")).unwrap();
    };
    job.started = &started;
    engine().prepare(&job).unwrap();
    panic!("the load ended: {:?}", engine().run(&job).err());
}

#[test]
fn a_killed_node_takes_its_worker_along() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "node", "--nocapture"])
        .env(NODE, dir.path())
        .spawn()
        .unwrap();
    let told = dir.path().join("worker");
    wait_until("the node has started its worker", || told.exists() || node.try_wait().unwrap().is_some());
    node.kill().unwrap();
    node.wait().unwrap();
    let text = fs::read_to_string(told).unwrap();
    let (pid, ground) = text.split_once(' ').unwrap();
    assert_gone(pid.parse().unwrap());
    fs::remove_dir_all(ground).unwrap();
}
