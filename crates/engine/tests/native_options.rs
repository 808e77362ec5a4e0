//! The native engine's options with its real worker: files, sizes, trims, pauses, rates, different jobs. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::Place;
use diskproof_engine::native::NativeEngine;
use diskproof_engine::{Engine, EngineError};
use record::trial::EngineOutput;
use record::workload::{Ask, Layout, NamedJob, Options, Rw, SizeRange, SizeShare, SyncMode, Workload};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use support::{Bench, asked, options, workload};

/// Long enough for all workloads that end by themselves.
const LONG: f64 = 60.0;

fn engine() -> NativeEngine {
    NativeEngine::with_worker(vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into()])
}

fn native(rw: Rw) -> Options {
    Options { ioengine: "io_uring".into(), size_bytes: 2 << 20, ..options(rw) }
}

/// Makes one pass over its data.
fn once(rw: Rw) -> Options {
    Options { time_based: false, ..native(rw) }
}

fn run(bench: &Bench, workload: &Workload, seconds: f64) -> Result<EngineOutput, EngineError> {
    let job = bench.job(workload, 3, seconds);
    engine().prepare(&job)?;
    engine().run(&job)
}

/// Uses sparse files: everything that isn't zero was written by the trial.
fn on_a_hole(options: Options) -> Workload {
    Workload { layout: Layout::Hole, ..asked(options) }
}

fn file(bench: &Bench, name: &str) -> PathBuf {
    match bench.ground.place() {
        Place::Directory(directory) => directory.join(format!("diskproof-data.{name}")),
        Place::Block(device) => device.clone(),
    }
}

/// Which blocks of 4 KiB aren't all zeros.
fn written(path: &PathBuf) -> Vec<bool> {
    fs::read(path).unwrap().chunks(4096).map(|block| block.iter().any(|b| *b != 0)).collect()
}

#[test]
fn each_file_is_gone_over_once_behind_its_offset() {
    let bench = Bench::lent();
    for ioengine in ["io_uring", "psync"] {
        for rw in [Rw::Write, Rw::Randwrite] {
            let o = Options {
                nrfiles: 4,
                numjobs: 2,
                offset_bytes: 64 << 10,
                ioengine: ioengine.into(),
                ..once(rw)
            };
            let out = run(&bench, &on_a_hole(o), LONG).unwrap();
            let write = out.write.unwrap();
            assert_eq!((write.ios, write.bytes), (1024, 4 << 20), "{rw:?} by {ioengine}");
            assert!(out.window.seconds() < LONG && !out.shared_files);
            for name in ["0.0", "0.1", "0.2", "0.3", "1.0", "1.1", "1.2", "1.3"] {
                let blocks = written(&file(&bench, name));
                assert_eq!(blocks.len(), 16 + 128);
                assert!(blocks[..16].iter().all(|b| !b), "what the offset leaves out was written");
                assert!(blocks[16..].iter().all(|b| *b), "{rw:?}: a block of {name} was left out");
            }
        }
    }
}

#[test]
fn jobs_can_share_a_file() {
    let bench = Bench::lent();
    let o = Options { filename: Some("both".into()), numjobs: 2, ..once(Rw::Randwrite) };
    let out = run(&bench, &on_a_hole(o), LONG).unwrap();
    assert!(out.shared_files);
    assert_eq!(out.write.unwrap().ios, 1024, "each job goes over all of it");
    assert!(written(&file(&bench, "both")).iter().all(|b| *b));
}

#[test]
fn mixed_sizes_are_counted_exactly() {
    let bench = Bench::lent();
    let bsrange = Some(SizeRange { low_bytes: 4096, high_bytes: 65536 });
    let out = run(&bench, &on_a_hole(Options { bsrange, ..once(Rw::Write) }), LONG).unwrap();
    let write = out.write.unwrap();
    assert_eq!(write.bytes, 2 << 20, "a sequence leaves nothing out");
    assert!(write.ios > 32 && write.ios < 512);
    assert!(written(&file(&bench, "0")).iter().all(|b| *b));
    let bssplit =
        [(4096, 75), (65536, 25)].map(|(bs_bytes, percent)| SizeShare { bs_bytes, percent }).to_vec();
    let out = run(&bench, &asked(Options { bssplit, ..once(Rw::Randread) }), LONG).unwrap();
    let read = out.read.unwrap();
    // k of n I/Os are large: n and the bytes give k.
    let large = (read.bytes - read.ios * 4096) / (65536 - 4096);
    assert_eq!(large * (65536 - 4096) + read.ios * 4096, read.bytes);
    assert!(large > 0 && large < read.ios);
    assert!(read.bytes >= 2 << 20 && read.bytes < (2 << 20) + 65536);
    assert!(out.messages.iter().any(|m| m.contains("norandommap")), "{:?}", out.messages);
}

#[test]
fn trims_punch_holes() {
    let bench = Bench::lent();
    for ioengine in ["io_uring", "psync"] {
        let trims = |rw| asked(Options { ioengine: ioengine.into(), bs_bytes: 65536, ..once(rw) });
        let out = run(&bench, &trims(Rw::Randtrim), LONG).unwrap();
        let trim = out.trim.as_ref().unwrap();
        assert_eq!((trim.ios, trim.bytes, trim.latency.count()), (32, 2 << 20, 32));
        assert!(out.read.is_none() && out.write.is_none());
        let raw: Value = serde_json::from_str(&out.raw).unwrap();
        let series = raw["trim_series"].as_array().unwrap();
        assert_eq!(series.iter().map(|p| p["ios"].as_u64().unwrap()).sum::<u64>(), 32);
        let path = file(&bench, "0");
        assert!(written(&path).iter().all(|b| !b), "{ioengine}");
        assert!(fs::metadata(&path).unwrap().blocks() < 64, "space was given back");
        for rw in [Rw::Trimwrite, Rw::Randtrimwrite] {
            let out = run(&bench, &trims(rw), LONG).unwrap();
            assert_eq!((out.trim.unwrap().ios, out.write.unwrap().ios), (32, 32), "{rw:?} by {ioengine}");
            assert!(written(&path).iter().all(|b| *b), "what was trimmed was written again");
        }
    }
}

#[test]
fn pauses_are_kept() {
    let bench = Bench::lent();
    for ioengine in ["io_uring", "psync"] {
        let o = Options {
            ioengine: ioengine.into(),
            thinktime_us: 50_000,
            thinktime_blocks: 8,
            ..native(Rw::Randread)
        };
        let ios = run(&bench, &asked(o), 1.0).unwrap().read.unwrap().ios;
        // Eight and those in flight with them, then a pause of 50 ms.
        assert!((8..=21 * (8 + 3)).contains(&ios), "{ios} by {ioengine}");
    }
}

/// Whether the sum up to each point is at most what was due by then.
fn never_ahead(series: &Value, field: &str, per_second: f64, slack: f64) {
    let mut sum = 0.0;
    for point in series.as_array().unwrap() {
        sum += point[field].as_f64().unwrap();
        let until = (point["start_ms"].as_f64().unwrap() + 100.0) / 1000.0;
        assert!(sum <= per_second * until + slack, "{sum} {field} within {until} s");
    }
}

#[test]
fn a_rate_is_held_without_bursts() {
    let bench = Bench::lent();
    let held = |out: &EngineOutput| {
        let raw: Value = serde_json::from_str(&out.raw).unwrap();
        never_ahead(&raw["read_series"], "ios", 2000.0, 1.0);
        out.read.as_ref().unwrap().ios
    };
    let w =
        Workload { layout: Layout::Hole, ..asked(Options { rate_iops: Some(2000), ..native(Rw::Randread) }) };
    // I/Os that become due while the machine is busy are made up for, unless it is busy just at the end.
    let best = (0..5).map(|_| held(&run(&bench, &w, 1.5).unwrap())).find(|ios| *ios >= 2985);
    assert!(best.is_some(), "99.5 % of 3000 in none of five runs");
}

#[test]
fn a_rate_in_bytes_follows_the_sizes() {
    let bench = Bench::lent();
    let o = Options {
        bsrange: Some(SizeRange { low_bytes: 4096, high_bytes: 65536 }),
        rate_bytes_per_second: Some(16 << 20),
        ..native(Rw::Randread)
    };
    let w = Workload { layout: Layout::Hole, ..asked(o) };
    let rate = f64::from(16 << 20);
    let held = |out: &EngineOutput| {
        let raw: Value = serde_json::from_str(&out.raw).unwrap();
        never_ahead(&raw["read_series"], "bytes", rate, 65536.0);
        out.read.as_ref().unwrap().bytes as f64
    };
    let best = (0..5).map(|_| held(&run(&bench, &w, 1.5).unwrap())).find(|bytes| *bytes >= 0.99 * 1.5 * rate);
    assert!(best.is_some(), "99 % of the bytes in none of five runs");
}

#[test]
fn the_workloads_own_times_come_first() {
    let bench = Bench::lent();
    let o = Options { runtime_ms: Some(300), ramp_time_ms: Some(100), ..native(Rw::Randread) };
    let out = run(&bench, &asked(o), LONG).unwrap();
    assert_eq!(out.window.end_ns - out.window.start_ns, 300_000_000);
    let raw: Value = serde_json::from_str(&out.raw).unwrap();
    assert_eq!(raw["start_ns"].as_u64().unwrap() - raw["begin_ns"].as_u64().unwrap(), 100_000_000);
}

#[test]
fn synchronous_writes_are_taken() {
    let bench = Bench::lent();
    for sync in [SyncMode::Dsync, SyncMode::Sync] {
        let o = Options { sync, size_bytes: 256 << 10, ..once(Rw::Write) };
        assert_eq!(run(&bench, &asked(o), LONG).unwrap().write.unwrap().ios, 64);
    }
}

#[test]
fn sections_of_a_job_file_run_beside_each_other() {
    let bench = Bench::lent();
    let named = |name: &str, options| NamedJob { name: name.into(), options };
    let shared = Options { filename: Some("log".into()), size_bytes: 1 << 20, ..once(Rw::Write) };
    let jobs = vec![
        named("reader of all", Options { numjobs: 2, ..once(Rw::Randread) }),
        named("writer", Options { bs_bytes: 65536, ioengine: "psync".into(), ..shared.clone() }),
        named("tail", Options { rw: Rw::Read, iodepth: 1, ..shared }),
    ];
    let ask = Ask::JobFile { path: "jobs/mine.fio".into(), text: String::new(), size_bytes: 5 << 20, jobs };
    let out = run(&bench, &workload(ask), LONG).unwrap();
    let (read, write) = (out.read.unwrap(), out.write.unwrap());
    assert_eq!((read.ios, read.bytes), (2 * 512 + 256, 5 << 20));
    assert_eq!((write.ios, write.bytes), (16, 1 << 20));
    assert!(out.shared_files);
    for name in ["0.reader_of_all", "1.reader_of_all", "log"] {
        assert!(file(&bench, name).exists(), "{name}");
    }
}

#[test]
fn a_job_file_that_native_does_not_know_is_refused() {
    let bench = Bench::lent();
    let w = support::job_file("[a]\nrw=read\nsize=1m\n", 1 << 20);
    let error = engine().prepare(&bench.job(&w, 3, 0.2)).unwrap_err().to_string();
    assert!(error.contains("jobs/mine.fio") && error.contains("engine: fio"), "{error}");
}

/// Each direction at the rate would make 160 I/Os.
#[test]
fn one_rate_of_both_directions_of_a_mix_is_never_outrun() {
    let bench = Bench::lent();
    for ioengine in ["io_uring", "psync"] {
        let o = Options {
            rate_iops: Some(200),
            rate_of_all: true,
            rwmixread: 70,
            ioengine: ioengine.into(),
            ..native(Rw::Randrw)
        };
        let out = run(&bench, &asked(o), 0.4).unwrap();
        let (read, write) = (out.read.unwrap().ios, out.write.unwrap().ios);
        assert!((2..=81).contains(&(read + write)), "{read} reads and {write} writes by {ioengine}");
        assert!(read > write, "{read} reads and {write} writes by {ioengine}");
    }
}
