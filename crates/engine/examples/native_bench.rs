//! One load of the native engine in an existing directory, for bench/native: prints the result as one line of JSON.
//!
//! `native_bench --worker PROGRAM [--prefix WORD]... [--seconds S] [--ramp S] [--layout hole|written] DIRECTORY [OPTION=VALUE]...`
//! OPTIONs: rw, bs, size, iodepth, numjobs, ioengine. Direct I/O. The prefix's words go before the worker's: `taskset`,
//! `valgrind`...
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench may")]

use diskproof_engine::native::NativeEngine;
use diskproof_engine::{Engine, Job};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

struct Asked {
    worker: Vec<OsString>,
    directory: String,
    seconds: f64,
    ramp_seconds: f64,
    layout: Layout,
    options: Options,
}

fn main() {
    let asked = parse(std::env::args().skip(1));
    let scratch = tempfile::tempdir().unwrap();
    let lent = device::lend(asked.directory.as_ref(), 0, "diskproof-bench").unwrap();
    let ground = device::Ground::lent(&lent);
    let workload = Workload {
        name: "bench".into(),
        engine: EngineKind::Native,
        ask: Ask::Options(asked.options),
        layout: asked.layout,
        cache: CacheStart::Warm,
        on: Vec::new(),
    };
    let job = Job {
        ground: &ground,
        workload: &workload,
        seed: 1,
        trial_seconds: asked.seconds,
        ramp_seconds: asked.ramp_seconds,
        cgroup_procs: None,
        cancel: &AtomicBool::new(false),
        started: &|_| {},
        progress: &|_| {},
        running: &|_| {},
        begins_at_ns: None,
        follows: false,
        scratch: scratch.path(),
    };
    let engine = NativeEngine::with_worker(asked.worker);
    engine.prepare(&job).unwrap();
    let output = engine.run(&job);
    device::take_back_lent(lent.path(), lent.ids(), false, &device::Roots::default()).unwrap();
    let output = output.unwrap();
    assert!(output.errors.is_empty(), "{:?}", output.errors);
    println!("{}", output.raw);
}

fn parse(mut words: impl Iterator<Item = String>) -> Asked {
    let mut options = Options::new(Rw::Randread, 4096, 1 << 30);
    (options.direct, options.iodepth) = (true, 128);
    let mut asked = Asked {
        worker: Vec::new(),
        directory: String::new(),
        seconds: 3.0,
        ramp_seconds: 0.0,
        layout: Layout::Hole,
        options,
    };
    let mut prefix: Vec<OsString> = Vec::new();
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_else(|| panic!("{word} needs a value"));
        match word.as_str() {
            "--worker" => asked.worker.push(next().into()),
            "--prefix" => prefix.push(next().into()),
            "--seconds" => asked.seconds = next().parse().unwrap(),
            "--ramp" => asked.ramp_seconds = next().parse().unwrap(),
            "--layout" if next() == "written" => asked.layout = Layout::Written,
            "--layout" => asked.layout = Layout::Hole,
            _ => match word.split_once('=') {
                Some((name, value)) => set(&mut asked.options, name, value),
                None => asked.directory = word,
            },
        }
    }
    asked.worker.splice(0..0, prefix);
    asked
}

fn set(options: &mut Options, name: &str, value: &str) {
    match name {
        "rw" => options.rw = serde_json::from_value(value.into()).unwrap(),
        "bs" => options.bs_bytes = value.parse().unwrap(),
        "size" => options.size_bytes = value.parse().unwrap(),
        "iodepth" => options.iodepth = value.parse().unwrap(),
        "numjobs" => options.numjobs = value.parse().unwrap(),
        "ioengine" => options.ioengine = value.into(),
        _ => panic!("unknown option {name}"),
    }
}
