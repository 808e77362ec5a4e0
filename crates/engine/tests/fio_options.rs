//! The real fio in a scratch directory: workloads given as options. No root needed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests may")]

mod support;

use device::extents;
use diskproof_engine::{Engine, EngineError, fio::FioEngine};
use record::trial::EngineOutput;
use record::workload::{Layout, Options, Rw};
use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::accesses::accesses;
use support::{Bench, asked, gzip_share, options};

#[test]
fn fio_reads_what_was_laid_out() {
    let bench = Bench::lent();
    let mut o = options(Rw::Randrw);
    o.numjobs = 2;
    let w = asked(o);
    let mut job = bench.job(&w, 7, 0.5);
    job.ramp_seconds = 0.3;
    let pid = Cell::new(0);
    let note = |p| pid.set(p);
    job.started = &note;
    let shares = RefCell::new(Vec::new());
    let progress = |share| shares.borrow_mut().push(share);
    job.progress = &progress;
    let files = FioEngine.prepare(&job).unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(pid.get(), 0, "prepare announces no process to be sampled");
    assert_eq!(shares.borrow().last(), Some(&1.0));
    // On a busy machine the first or last row of fio's log is late, or there are too few.
    let in_time = |out: &EngineOutput| out.messages.is_empty() && (out.window.seconds() - 0.5).abs() < 0.1;
    let out = (0..5).map(|_| FioEngine.run(&job).unwrap()).find(in_time);
    let out = out.expect("in none of five runs");
    assert!(pid.get() > 1);
    assert_eq!(out.engine, FioEngine.probe().unwrap());
    let (r, w) = (out.read.unwrap(), out.write.unwrap());
    for t in [&r, &w] {
        assert!(t.ios > 0 && t.iops > 0.0);
        assert!(t.latency.percentile_ns(0.5) > Some(0) && t.latency_mean_ns > Some(0.0));
        // fio ends the ramp between two completions of a batch, so counts and bytes may differ by the I/Os in flight.
        assert!(t.bytes.abs_diff(t.ios * 4096) <= 2 * 4 * 4096, "{} bytes, {} I/Os", t.bytes, t.ios);
        assert!(t.latency.count().abs_diff(t.ios) <= 2 * 4);
        // Each job has its own time; `seconds` is the longest.
        assert!((t.iops - t.ios as f64 / t.seconds).abs() / t.iops < 0.2, "{t:?}");
        assert!(t.seconds <= 0.5 && t.seconds > 0.3, "{}", t.seconds);
    }
    assert!(out.errors.is_empty() && !out.shared_files);
    assert!(out.cpu_user_share.is_some() && out.cpu_system_share.is_some());
    for part in [
        "refill_buffers=1",
        "randrepeat=0",
        "allow_file_create=0",
        "fallocate=none",
        "runtime=800ms",
        "log_hist_msec=10",
    ] {
        assert!(out.input.contains(part), "{part} is missing in\n{}", out.input);
    }
}

#[test]
fn fio_writes_data_as_compressible_as_declared() {
    let bench = Bench::lent();
    for (percent, low, high) in [(0, 0.98, 1.01), (50, 0.45, 0.55), (80, 0.17, 0.28)] {
        let mut o = options(Rw::Randwrite);
        o.buffer_compress_percentage = percent;
        o.direct = false;
        o.end_fsync = true;
        let w = asked(o);
        let job = bench.job(&w, 7, 0.3);
        let file = FioEngine.prepare(&job).unwrap().remove(0);
        let laid_out = gzip_share(&file);
        assert!((low..high).contains(&laid_out), "laid out at {percent} %: {laid_out}");
        let out = FioEngine.run(&job).unwrap();
        assert!(out.messages.is_empty(), "{:?}", out.messages);
        assert!(out.window.seconds() > 0.25, "the flush belongs to the time: {:?}", out.window);
        let written = gzip_share(&file);
        assert!((low..high).contains(&written), "written at {percent} %: {written}");
    }
}

#[test]
fn fio_lays_out_duplicates_as_declared() {
    let bench = Bench::lent();
    let mut o = options(Rw::Read);
    o.dedupe_percentage = 60;
    let w = asked(o);
    let file = FioEngine.prepare(&bench.job(&w, 7, 0.3)).unwrap().remove(0);
    let data = fs::read(file).unwrap();
    let blocks = data.chunks(4096).count() as f64;
    let unique = data.chunks(4096).collect::<std::collections::BTreeSet<_>>().len() as f64;
    assert!((0.3..0.5).contains(&(unique / blocks)), "{unique} of {blocks} blocks are unique");
}

#[test]
fn fio_leaves_no_holes_in_written_data() {
    let bench = Bench::lent();
    for size_bytes in [4096, 1 << 20, (3 << 20) + 8192, 5_000_000] {
        let mut o = options(Rw::Randread);
        o.size_bytes = size_bytes;
        let w = asked(o);
        let file = FioEngine.prepare(&bench.job(&w, 7, 0.2)).unwrap().remove(0);
        let found = extents::of_file(&file).unwrap();
        assert!(found.size_bytes >= size_bytes && found.size_bytes < size_bytes + 4096);
        assert_eq!((found.hole_bytes, found.unwritten_bytes), (0, 0), "{found:?}");
        assert_eq!(found.written_bytes, found.size_bytes);
    }
}

#[test]
fn fio_gets_holes_and_reservations_where_asked() {
    let bench = Bench::lent();
    let mut w = asked(options(Rw::Randread));
    for layout in [Layout::Hole, Layout::Unwritten] {
        w.layout = layout;
        let job = bench.job(&w, 7, 0.2);
        let file = FioEngine.prepare(&job).unwrap().remove(0);
        let before = extents::of_file(&file).unwrap();
        assert_eq!(before.written_bytes, 0);
        let of_its_kind = if layout == Layout::Hole { before.hole_bytes } else { before.unwritten_bytes };
        assert_eq!(of_its_kind, 8 << 20, "{layout:?}: {before:?}");
        FioEngine.run(&job).unwrap();
        let after = extents::of_file(&file).unwrap();
        assert_eq!(after, before, "{layout:?}: fio laid out by itself");
    }
}

#[test]
fn fio_refuses_to_run_on_data_that_is_missing_or_short() {
    let bench = Bench::lent();
    let w = asked(options(Rw::Randread));
    let job = bench.job(&w, 7, 0.2);
    assert!(matches!(FioEngine.run(&job), Err(EngineError::Io { .. })), "nothing laid out");
    let file = FioEngine.prepare(&job).unwrap().remove(0);
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(4096).unwrap();
    let error = FioEngine.run(&job).unwrap_err();
    assert!(matches!(error, EngineError::LaidOutShort { found_bytes: 4096, .. }), "{error}");
}

#[test]
fn fio_takes_other_offsets_in_every_trial() {
    let bench = Bench::lent();
    // One pass over 256 blocks, however long it takes.
    let w = asked(Options { time_based: false, size_bytes: 1 << 20, ..options(Rw::Randread) });
    FioEngine.prepare(&bench.job(&w, 1, 30.0)).unwrap();
    let input = |seed| FioEngine.run(&bench.job(&w, seed, 30.0)).unwrap().input;
    let first_input = input(1);
    let (first, again) = (offsets(&first_input, &bench.scratch), offsets(&first_input, &bench.scratch));
    assert_eq!(first.len(), 256);
    assert_eq!(first[..100], again[..100], "the same seed asks for the same offsets");
    // fio must accept the highest seed too.
    let other = offsets(&input(u64::MAX), &bench.scratch);
    let same = first[..100].iter().zip(&other[..100]).filter(|(a, b)| a == b).count();
    assert!(same < 10, "{same} of 100 offsets are the same with another seed");
}

/// The offsets of a job file, in order of issue.
fn offsets(input: &str, scratch: &Path) -> Vec<u64> {
    accesses(input, scratch, true).iter().map(|a| a.offset).collect()
}

#[test]
fn fio_stops_when_cancelled() {
    let bench = Bench::lent();
    let w = asked(options(Rw::Randread));
    let mut job = bench.job(&w, 7, 600.0);
    let pid = Cell::new(0);
    FioEngine.prepare(&job).unwrap();
    let begun = Instant::now();
    let note = |p| pid.set(p);
    job.started = &note;
    let cancel = &bench.cancel;
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            cancel.store(true, Ordering::SeqCst);
        });
        FioEngine.run(&job)
    });
    assert!(matches!(result, Err(EngineError::Cancelled)), "{result:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(!Path::new(&format!("/proc/{}", pid.get())).exists());
    let commands =
        fs::read_dir("/proc").unwrap().filter_map(|e| fs::read(e.ok()?.path().join("cmdline")).ok());
    let ours = bench.scratch.to_string_lossy().into_owned();
    assert_eq!(commands.filter(|c| String::from_utf8_lossy(c).contains(&ours)).count(), 0, "no job is left");
    // It was cancelled before: nothing is laid out in full either.
    assert!(matches!(FioEngine.prepare(&bench.job(&w, 7, 1.0)), Err(EngineError::Cancelled)));
}

#[test]
fn fio_says_what_it_did_not_understand() {
    let bench = Bench::lent();
    let mut o = options(Rw::Randread);
    o.other.insert("rw_sequencer".into(), "nonsense".into());
    let w = asked(o);
    let job = bench.job(&w, 7, 0.2);
    FioEngine.prepare(&job).unwrap();
    let text = FioEngine.run(&job).unwrap_err().to_string();
    assert!(text.contains("failed parsing rw_sequencer=nonsense"), "{text}");
}

#[test]
fn fio_is_not_led_elsewhere() {
    let bench = Bench::lent();
    let victim = bench.dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let name = victim.to_string_lossy().into_owned();
    for (option, value) in [
        ("filename", name.as_str()),
        ("exec_prerun", "touch victim"),
        ("thinktime", "1\nfilename=victim"),
        ("bs", "1k"),
    ] {
        let mut o = options(Rw::Write);
        o.other.insert(option.into(), value.into());
        let w = asked(o);
        let job = bench.job(&w, 7, 0.2);
        FioEngine.prepare(&job).unwrap();
        assert!(matches!(FioEngine.run(&job), Err(EngineError::Refused { .. })), "{option}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}
