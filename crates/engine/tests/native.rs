//! The native engine with its real worker in a scratch directory. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::Place;
use diskproof_engine::native::NativeEngine;
use diskproof_engine::{Engine, EngineError, Job, Progress};
use record::trial::EngineOutput;
use record::workload::{Layout, Options, RateProcess, Rw, Workload};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{Bench, asked, gzip_share, job_file, options};

fn engine() -> NativeEngine {
    NativeEngine::with_worker(vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into()])
}

fn native(rw: Rw) -> Options {
    Options { ioengine: "io_uring".into(), ..options(rw) }
}

fn run(bench: &Bench, workload: &Workload, seed: u64, seconds: f64) -> Result<EngineOutput, EngineError> {
    let job = bench.job(workload, seed, seconds);
    engine().prepare(&job)?;
    engine().run(&job)
}

/// The file of a job.
fn data(bench: &Bench, job: u32) -> PathBuf {
    match bench.ground.place() {
        Place::Directory(directory) => directory.join(format!("diskproof-data.{job}")),
        Place::Block(device) => device.clone(),
    }
}

fn raw(output: &EngineOutput) -> Value {
    serde_json::from_str(&output.raw).unwrap()
}

#[test]
fn the_load_begins_at_the_agreed_moment_and_not_before() {
    let bench = Bench::lent();
    let w = asked(Options { time_based: false, ..native(Rw::Randread) });
    let mut job = bench.job(&w, 7, 60.0);
    engine().prepare(&job).unwrap();
    assert!(engine().waits_itself(&job));
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now_ns = u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap();
    // A moment that is over is no reason to wait.
    for begins_at_ns in [now_ns + 1_000_000_000, now_ns] {
        job.begins_at_ns = Some(begins_at_ns);
        let told = raw(&engine().run(&job).unwrap());
        let begin_ns = told["begin_ns"].as_u64().unwrap();
        assert!(begin_ns >= begins_at_ns, "{begin_ns} of {begins_at_ns}");
    }
}

#[test]
fn counts_agree_with_each_other() {
    let bench = Bench::lent();
    let mut o = native(Rw::Randrw);
    o.numjobs = 3;
    o.rwmixread = 70;
    let w = asked(o);
    let mut job = bench.job(&w, 7, 0.55);
    job.ramp_seconds = 0.2;
    let pid = Cell::new(0);
    let note = |p| pid.set(p);
    job.started = &note;
    let files = engine().prepare(&job).unwrap();
    assert_eq!(files.len(), 3);
    assert_eq!(pid.get(), 0, "prepare announces no process to be sampled");
    let out = engine().run(&job).unwrap();
    assert!(pid.get() > 1);
    assert_eq!(out.window.end_ns - out.window.start_ns, 550_000_000);
    let (r, w) = (out.read.as_ref().unwrap(), out.write.as_ref().unwrap());
    for t in [r, w] {
        assert!(t.ios > 0);
        assert_eq!(t.bytes, t.ios * 4096);
        assert_eq!(t.latency.count(), t.ios);
        assert!((t.iops * t.seconds - t.ios as f64).abs() < 0.001);
        assert!(t.latency_mean_ns.unwrap() > 0.0);
    }
    // Five standard deviations of the mix; the I/Os in flight at both ends shift it a little.
    let all = (r.ios + w.ios) as f64;
    assert!((r.ios as f64 - 0.7 * all).abs() < 5.0 * (0.21 * all).sqrt() + 24.0, "{} of {all}", r.ios);
    let raw = raw(&out);
    for (series, total) in [("read_series", r), ("write_series", w)] {
        let points = raw[series].as_array().unwrap();
        let sum = |field: &str| points.iter().map(|p| p[field].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("ios"), sum("bytes")), (total.ios, total.bytes), "the series adds up to the total");
        assert!(points.iter().all(|p| p["start_ms"].as_u64().unwrap() % 100 == 0));
        assert!(points.iter().all(|p| p["p50_ns"].as_u64() <= p["max_ns"].as_u64()));
    }
    // 550 ms contain five whole steps; completions in the last half step are in none.
    let course = out.series.as_ref().unwrap();
    assert_eq!((course.start_ns, course.step_ns), (out.window.start_ns, 100_000_000));
    assert!(course.trim_ios.iter().all(|n| *n == 0) && course.read_ios.len() == 5);
    for (list, series, total) in
        [(&course.read_ios, "read_series", r), (&course.write_ios, "write_series", w)]
    {
        let points = raw[series].as_array().unwrap();
        let rest = points.iter().filter(|p| p["start_ms"] == 500).map(|p| p["ios"].as_u64().unwrap());
        assert_eq!(list.iter().sum::<u64>() + rest.sum::<u64>(), total.ios);
    }
    let unsaid = out.messages.iter().all(|m| m.contains("instructions per I/O are not counted"));
    assert!(out.errors.is_empty() && unsaid && !out.shared_files, "{:?}", out.messages);
    assert!(raw["cost"]["cpu_ns_per_io"].as_f64().unwrap() > 0.0);
    assert!(out.cpu_user_share.is_some() && out.cpu_system_share.is_some());
}

#[test]
fn latencies_over_time_are_those_of_the_raw_series() {
    let bench = Bench::lent();
    let out = run(&bench, &asked(native(Rw::Randread)), 5, 1.0).unwrap();
    let course = out.series.as_ref().unwrap();
    let latency = course.read_latency.as_ref().unwrap();
    assert!(course.write_latency.is_none(), "nothing was written");
    let together = latency.step_ns / course.step_ns;
    assert_eq!((latency.step_ns % course.step_ns, latency.max_ns.len() as u64), (0, 10 / together));
    let slowest = latency.max_ns.iter().flatten().max();
    let longest = out.read.as_ref().unwrap().latency.bins_ns.keys().next_back();
    assert!(slowest <= longest, "{slowest:?} {longest:?}");
    if together == 1 {
        assert_eq!(slowest, longest);
        let points = raw(&out)["read_series"].as_array().unwrap().clone();
        let p50 = points.iter().map(|p| p["p50_ns"].as_u64()).collect::<Vec<_>>();
        assert_eq!(latency.p50_ns.iter().copied().filter(Option::is_some).collect::<Vec<_>>(), p50);
    }
}

#[test]
fn a_caller_that_follows_learns_what_the_load_completes_and_others_do_not() {
    let bench = Bench::lent();
    let w = asked(Options { rate_iops: Some(400), iodepth: 32, ..native(Rw::Randread) });
    let told = RefCell::new(Vec::new());
    let note = |progress: Option<Progress>| told.borrow_mut().extend(progress);
    let job = Job { running: &note, ..bench.job(&w, 5, 1.5) };
    engine().prepare(&job).unwrap();
    let quiet = engine().run(&job).unwrap();
    assert!(told.borrow().is_empty() && !quiet.input.contains("live"), "nobody asked");
    let out = engine().run(&Job { follows: true, ..job }).unwrap();
    let mut told = told.into_inner();
    told.dedup();
    assert!((1..=3).contains(&told.len()), "every half second at most: {told:?}");
    let read = out.read.unwrap();
    let mut since = out.window.start_ns;
    for progress in &told {
        assert_eq!(progress.from_ns, since);
        assert!(progress.to_ns > since && (progress.to_ns - since).is_multiple_of(500_000_000));
        assert_eq!(progress.bytes, progress.ios * 4096);
        since = progress.to_ns;
    }
    let ios: u64 = told.iter().map(|progress| progress.ios).sum();
    assert!(ios > 0 && ios <= read.ios, "{ios} of {}", read.ios);
    assert!(since <= out.window.end_ns);
}

#[test]
fn a_pass_leaves_nothing_out() {
    let bench = Bench::lent();
    // The file is a hole, so everything that isn't zero was written by the trial.
    let o = Options { size_bytes: 1 << 20, time_based: false, ..native(Rw::Randwrite) };
    let w = Workload { layout: Layout::Hole, ..asked(o) };
    let out = run(&bench, &w, 3, 60.0).unwrap();
    assert_eq!(out.write.unwrap().ios, 256);
    let data = fs::read(data(&bench, 0)).unwrap();
    assert_eq!(data.len(), 1 << 20);
    assert!(data.chunks(4096).all(|block| block.iter().any(|b| *b != 0)), "a block was left out");
}

#[test]
fn a_poisson_load_has_its_rate() {
    let bench = Bench::lent();
    let rate_process = RateProcess::Poisson;
    // On a busy machine the worker runs only every few milliseconds: at this depth and rate it then has slots for all due I/Os.
    let o = Options { rate_iops: Some(500), rate_process, iodepth: 32, ..native(Rw::Randread) };
    let ios = |_| {
        let ios = run(&bench, &asked(o.clone()), 3, 1.0).unwrap().read.unwrap().ios;
        // Five standard deviations; never more, however busy the machine is.
        assert!(ios < 612, "{ios}");
        ios
    };
    // I/Os that are due near the end may be late on a busy machine.
    assert!((0..5).map(ios).any(|ios| ios > 388));
}

#[test]
fn threads_do_the_same_where_they_are_asked_for() {
    let bench = Bench::lent();
    let mut o = Options { ioengine: "psync".into(), fsync: 10, ..native(Rw::Randrw) };
    o.direct = false;
    let out = run(&bench, &asked(o), 3, 0.4).unwrap();
    let raw = raw(&out);
    assert!(raw["issued_by"].as_str().unwrap().contains("pread"), "{}", raw["issued_by"]);
    let (r, w) = (out.read.unwrap(), out.write.unwrap());
    assert!(r.ios > 0 && w.ios > 0);
    assert_eq!(r.latency.count(), r.ios);
    assert!(raw["sync"]["ios"].as_u64().unwrap().abs_diff(w.ios / 10) <= 8 + w.ios / 50);
}

#[test]
fn a_kernel_thread_submits_where_it_is_asked_to() {
    let bench = Bench::lent();
    let mut o = native(Rw::Randrw);
    o.other.insert("sqthread_poll".into(), "1".into());
    match run(&bench, &asked(o), 3, 0.4) {
        Ok(out) => {
            assert!(raw(&out)["issued_by"].as_str().unwrap().contains("kernel thread"));
            assert!(out.read.unwrap().ios > 0 && out.write.unwrap().ios > 0);
        }
        // Where it isn't allowed it is an error, and nothing replaces it.
        Err(EngineError::Failed { messages, .. }) => {
            assert!(messages[0].contains("io_uring can't be set up as asked"), "{messages:?}");
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn batches_are_given_and_taken_as_asked() {
    let bench = Bench::lent();
    for batches in [
        vec![("iodepth_batch", "1")],
        vec![("iodepth_batch_submit", "0"), ("iodepth_batch_complete_min", "99")],
        vec![("iodepth_batch_submit", "3"), ("iodepth_batch_complete_min", "2"), ("iodepth_low", "1")],
        vec![("iodepth_batch_complete_max", "2"), ("iodepth_low", "5")],
    ] {
        let mut o = Options { iodepth: 8, time_based: false, ..native(Rw::Randrw) };
        o.other.extend(batches.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let out = run(&bench, &asked(o), 3, 60.0).unwrap();
        assert!(out.errors.is_empty(), "{batches:?}: {:?}", out.errors);
        let (r, w) = (out.read.unwrap(), out.write.unwrap());
        assert!(r.ios > 100 && r.ios + w.ios == 2048, "{batches:?}: {} {}", r.ios, w.ios);
        assert_eq!(r.latency.count(), r.ios);
    }
}

#[test]
fn buffered_writes_are_flushed_inside_the_measured_time() {
    let bench = Bench::lent();
    let o = Options { direct: false, end_fsync: true, bs_bytes: 65536, ..native(Rw::Write) };
    let out = run(&bench, &asked(o), 3, 0.3).unwrap();
    let w = out.write.unwrap();
    assert!(out.window.seconds() > 0.3);
    assert!((w.seconds - out.window.seconds()).abs() < 1e-9);
    assert_eq!(w.bytes, w.ios * 65536);
}

#[test]
fn data_is_laid_out_as_declared() {
    let bench = Bench::lent();
    for (layout, compress, least, most) in
        [(Layout::Written, 0, 0.99, 1.02), (Layout::Written, 75, 0.2, 0.3), (Layout::Hole, 0, 0.0, 0.01)]
    {
        let mut w = asked(Options { buffer_compress_percentage: compress, ..native(Rw::Read) });
        w.layout = layout;
        let files = engine().prepare(&bench.job(&w, 3, 1.0)).unwrap();
        assert_eq!(fs::metadata(&files[0]).unwrap().len(), 8 << 20);
        let share = gzip_share(&files[0]);
        assert!((least..most).contains(&share), "{layout:?}, {compress} %: {share}");
    }
}

#[test]
fn what_is_missing_or_short_is_an_error_before_the_load() {
    let bench = Bench::lent();
    let w = asked(native(Rw::Randread));
    let job = bench.job(&w, 3, 0.2);
    engine().prepare(&job).unwrap();
    fs::File::options().write(true).open(data(&bench, 0)).unwrap().set_len(4096).unwrap();
    assert!(matches!(engine().run(&job), Err(EngineError::LaidOutShort { .. })));
}

#[test]
fn what_native_lacks_is_refused_before_anything_is_laid_out() {
    let bench = Bench::lent();
    let mut o = native(Rw::Randread);
    o.other.insert("zonesize".into(), "1m".into());
    let error = engine().prepare(&bench.job(&asked(o), 3, 0.2)).unwrap_err().to_string();
    assert!(error.contains("zonesize") && error.contains("engine: fio"), "{error}");
    assert!(!data(&bench, 0).exists());
    let w = job_file("[a]\nrw=read\nsize=1m\n", 1 << 20);
    let error = engine().prepare(&bench.job(&w, 3, 0.2)).unwrap_err().to_string();
    assert!(error.contains("engine: fio"), "{error}");
}

#[test]
fn a_worker_that_fails_says_why() {
    let bench = Bench::lent();
    let w = asked(native(Rw::Randread));
    let job = bench.job(&w, 3, 0.2);
    engine().prepare(&job).unwrap();
    let broken = NativeEngine::with_worker(vec!["/bin/false".into()]);
    assert!(matches!(broken.run(&job), Err(EngineError::Failed { output: None, .. })));
    // The worker accesses only our data files.
    let elsewhere = bench.dir.path().join("precious");
    fs::write(&elsewhere, vec![7; 1 << 20]).unwrap();
    engine().run(&job).unwrap();
    let path = bench.scratch.join("native.json");
    let task = fs::read_to_string(&path).unwrap();
    let pointed = task.replace(&*data(&bench, 0).to_string_lossy(), &elsewhere.to_string_lossy());
    assert_ne!(task, pointed);
    fs::write(&path, pointed.replace("randread", "randwrite")).unwrap();
    let worker = env!("CARGO_BIN_EXE_diskproof-native-worker");
    let ended = std::process::Command::new(worker).arg(&path).output().unwrap();
    assert!(!ended.status.success());
    assert!(String::from_utf8_lossy(&ended.stderr).contains("not a data file of diskproof"));
    assert!(fs::read(&elsewhere).unwrap().iter().all(|b| *b == 7));
}

#[test]
fn cancelling_ends_it_at_once() {
    let bench = Bench::lent();
    let w = asked(native(Rw::Randread));
    let job = bench.job(&w, 3, 60.0);
    engine().prepare(&job).unwrap();
    let begun = Instant::now();
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            bench.cancel.store(true, Ordering::SeqCst);
        });
        engine().run(&job)
    });
    assert!(matches!(ended, Err(EngineError::Cancelled)));
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn blocks_are_written_where_they_are_due() {
    let bench = Bench::lent();
    let mut w = asked(Options { size_bytes: 1 << 20, rate_iops: Some(100), ..native(Rw::Write) });
    w.layout = Layout::Hole;
    let ios = run(&bench, &w, 9, 0.5).unwrap().write.unwrap().ios;
    let file = fs::File::open(data(&bench, 0)).unwrap();
    let mut block = vec![0; 4096];
    for index in 0..ios {
        file.read_exact_at(&mut block, index * 4096).unwrap();
        assert!(block.iter().any(|b| *b != 0), "block {index} of {ios}");
    }
    // At most four were in flight when the time was up, and these don't count.
    file.read_exact_at(&mut block, (ios + 4) * 4096).unwrap();
    assert!(block.iter().all(|b| *b == 0), "something was written beyond block {ios}");
}

/// However busy the machine is: a thread never runs longer than the measured time, and the parts add up.
#[test]
fn the_generator_tells_what_it_cost() {
    let bench = Bench::lent();
    for (ioengine, jobs) in [("io_uring", 2), ("psync", 1)] {
        let mut o = native(Rw::Randread);
        (o.ioengine, o.numjobs) = (ioengine.into(), jobs);
        let out = run(&bench, &asked(o), 5, 0.4).unwrap();
        let cost = out.generator.unwrap();
        let (all, window) = (cost.user_seconds + cost.system_seconds, out.window.seconds());
        let busiest = cost.busiest_thread_seconds.unwrap();
        // The usage is read when completions are seen; a thread that isn't scheduled may read it late.
        assert!(busiest > 0.0 && busiest <= all + 1e-6, "{ioengine}: {cost:?}");
        assert!(all > 0.0 && window > 0.0);
        let ios = out.read.as_ref().unwrap().ios as f64;
        assert!((cost.cpu_ns_per_io.unwrap() - all * 1e9 / ios).abs() < 1.0, "{ioengine}: {cost:?}");
        assert!(cost.peak_memory_bytes.unwrap() > cost.buffer_bytes.unwrap() && cost.startup_ns.unwrap() > 0);
        let said = out.messages.iter().filter(|m| m.contains("instructions per I/O are not counted")).count();
        assert_eq!(
            said,
            usize::from(cost.user_instructions_per_io.is_none()),
            "said once: {:?}",
            out.messages
        );
        assert!(cost.user_instructions_per_io.is_none_or(|n| n > 10.0), "{cost:?}");
    }
}

#[test]
fn the_ceiling_is_measured_on_holes_and_nothing_is_left() {
    let state = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let each = Duration::from_millis(150);
    let measured = engine().measure_ceiling(state.path(), 2, each, &cancel).unwrap();
    assert_eq!((measured.repetitions.len(), measured.bs_bytes, measured.iodepth), (2, 4096, 128));
    for repetition in &measured.repetitions {
        assert!(repetition.iops > 0.0, "{measured:?}");
        assert!(repetition.busiest_thread_share.is_some_and(|s| s > 0.0 && s <= 1.0), "{measured:?}");
        assert!(repetition.cpu_ns_per_io.is_some_and(|ns| ns > 1.0), "{measured:?}");
    }
    assert!(!measured.issued_by.is_empty());
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0, "its file is gone, and its folder");
    cancel.store(true, Ordering::Relaxed);
    let error = engine().measure_ceiling(state.path(), 1, each, &cancel).unwrap_err();
    assert!(matches!(error, EngineError::Cancelled), "{error}");
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}
