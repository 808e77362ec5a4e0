//! Syncs that take a known time, by both engines: a limit on the device lets two I/Os through every 0.1 s. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::Ground;
use diskproof_engine::Engine;
use diskproof_engine::fio::FioEngine;
use record::workload::{Options, Rw};
use support::loops::{Throttle, claimed, machine, scratch, written_loop};
use support::{asked, native, native_engine};

const MIB: u64 = 1 << 20;

/// A write goes into the page cache at once. Its sync is two I/Os of the kernel, the block and the flush, so one sync ends every 0.1 s.
#[test]
fn loop_a_sync_takes_as_long_as_the_device_lets_it() {
    let Some(_machine) = machine() else { return };
    let device = written_loop(16 * MIB, "engine-durable");
    let claim = claimed(&device);
    let Some(throttle) = Throttle::new(&device, 20) else { return };
    let options = Options {
        iodepth: 1,
        direct: false,
        fdatasync: 1,
        size_bytes: 4 * MIB,
        end_fsync: false,
        ..native(Rw::Write)
    };
    for (ioengine, by_fio) in [("io_uring", false), ("psync", false), ("psync", true)] {
        let bench = support::Bench::on(scratch(), Ground::block(&claim));
        let workload = asked(Options { ioengine: ioengine.into(), ..options.clone() });
        let mut job = bench.job(&workload, 5, 4.0);
        let procs = throttle.procs();
        let engine: &dyn Engine = if by_fio { &FioEngine } else { &native_engine() };
        engine.prepare(&job).unwrap();
        job.cgroup_procs = Some(&procs);
        let metrics = engine.run(&job).unwrap().metrics();
        let near = |name: &str| {
            let us = metrics[name];
            assert!((90_000.0..110_000.0).contains(&us), "{name} by {ioengine}: {metrics:?}");
        };
        near("sync_lat_mean");
        near("durable_lat_mean");
        // One write after another: whatever the kernel did, each took the time until the next began.
        let each = metrics["durable_lat_mean"] * metrics["write_iops"] / 1e6;
        assert!((0.9..1.1).contains(&each), "by {ioengine}: {metrics:?}");
        assert!(metrics["write_lat_p50"] < 4_000.0, "a write alone says nothing: {metrics:?}");
        assert_eq!(metrics.contains_key("durable_lat_p50"), !by_fio);
    }
}
