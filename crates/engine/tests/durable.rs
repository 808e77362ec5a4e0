//! Syncs and durable writes, by native's real worker and by fio. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use diskproof_engine::Engine;
use diskproof_engine::fio::FioEngine;
use record::latency::Latencies;
use record::trial::EngineOutput;
use record::workload::{Options, Rw, SyncMode};
use serde_json::Value;
use support::{Bench, asked, native, native_engine};

fn run(engine: &dyn Engine, options: Options) -> EngineOutput {
    let bench = Bench::lent();
    let seconds = if options.time_based { 0.5 } else { 60.0 };
    let workload = asked(options);
    let job = bench.job(&workload, 11, seconds);
    engine.prepare(&job).unwrap();
    engine.run(&job).unwrap()
}

/// Buffered writes, one at a time, with an fdatasync after each.
fn committed() -> Options {
    Options { iodepth: 1, direct: false, fdatasync: 1, size_bytes: 1 << 20, ..native(Rw::Write) }
}

/// All 256 of them, however long the disk takes.
fn all_committed() -> Options {
    Options { time_based: false, ..committed() }
}

fn sum_us(latencies: &Latencies) -> f64 {
    latencies.mean_ns.unwrap() * latencies.count as f64 / 1e3
}

#[test]
fn a_durable_write_takes_its_write_and_its_sync() {
    for ioengine in ["io_uring", "psync"] {
        let out = run(&native_engine(), Options { ioengine: ioengine.into(), ..all_committed() });
        let (write, sync, durable) =
            (out.write.clone().unwrap(), out.sync.clone().unwrap(), out.durable.clone().unwrap());
        assert!(
            write.ios > 0 && write.ios.abs_diff(sync.count) <= 1,
            "{ioengine}: {} {}",
            write.ios,
            sync.count
        );
        assert_eq!(durable.count, sync.count, "each sync covers one write: {ioengine}");
        assert_eq!(durable.histogram.count(), durable.count);
        // The first write of the measured time may have begun before it, and the last may not be synced in it.
        let longest = durable.max_ns.unwrap() as f64 / 1e3;
        let parts = sum_us(&sync) + write.latency_mean_ns.unwrap() * write.ios as f64 / 1e3;
        assert!(sum_us(&durable) >= parts - longest, "{ioengine}: {} of {parts}", sum_us(&durable));
        assert!(durable.max_ns >= sync.max_ns);
        // One write after another: they can't take longer than the trial, but for one that began before it.
        assert!(sum_us(&durable) <= out.window.seconds() * 1e6 + longest, "{ioengine}");
        let metrics = out.metrics();
        assert!(metrics["durable_lat_mean"] > metrics["sync_lat_mean"]);
        assert!(metrics["durable_lat_p50"] >= metrics["sync_lat_p50"] * 0.98);
    }
}

#[test]
fn a_sync_covers_all_writes_since_the_last() {
    for (ioengine, iodepth) in [("io_uring", 1), ("psync", 1), ("io_uring", 8)] {
        let out = run(
            &native_engine(),
            Options { ioengine: ioengine.into(), iodepth, fdatasync: 0, fsync: 8, ..all_committed() },
        );
        let (write, sync, durable) =
            (out.write.unwrap().ios, out.sync.unwrap().count, out.durable.unwrap().count);
        // The window begins and ends with as many syncs in flight as the depth allows, each of eight writes, and within a group of eight.
        let open = 8 * (u64::from(iodepth) + 3);
        assert!(sync > 0 && (sync * 8).abs_diff(write) <= open, "{ioengine}: {write} writes, {sync} syncs");
        assert!(
            durable.abs_diff(write) <= open,
            "{ioengine} at depth {iodepth}: {durable} of {write} writes"
        );
    }
}

#[test]
fn with_o_dsync_a_write_is_durable_when_it_completes() {
    for ioengine in ["io_uring", "psync"] {
        let out = run(
            &native_engine(),
            Options { ioengine: ioengine.into(), fdatasync: 0, sync: SyncMode::Dsync, ..all_committed() },
        );
        let (write, durable) = (out.write.unwrap(), out.durable.unwrap());
        assert_eq!((durable.count, durable.histogram), (write.ios, write.latency), "{ioengine}");
        assert_eq!(out.sync, None, "there was no sync of its own");
    }
}

#[test]
fn without_syncs_there_are_no_times_of_syncs() {
    let plain = Options { fdatasync: 0, end_fsync: true, ..committed() };
    let reads = Options { rw: Rw::Read, ..committed() };
    for options in [plain, reads] {
        for engine in [&native_engine() as &dyn Engine, &FioEngine] {
            let out = run(engine, options.clone());
            assert_eq!((&out.sync, &out.durable), (&None, &None), "{}", out.engine);
            assert!(!out.metrics().keys().any(|name| name.contains("sync_lat") || name.contains("durable")));
        }
    }
}

#[test]
fn fio_tells_the_mean_only() {
    let out = run(&FioEngine, committed());
    let raw: Value = serde_json::from_str(&out.raw).unwrap();
    let job = &raw["jobs"][0];
    let metrics = out.metrics();
    let told = (job["write"]["lat_ns"]["mean"].as_f64().unwrap()
        + job["sync"]["lat_ns"]["mean"].as_f64().unwrap())
        / 1e3;
    assert!((metrics["durable_lat_mean"] / told - 1.0).abs() < 1e-9, "{told}");
    assert!(metrics.contains_key("sync_lat_p50") && metrics.contains_key("sync_lat_max"));
    assert!(!metrics.contains_key("durable_lat_p50") && !metrics.contains_key("durable_lat_max"));
}
