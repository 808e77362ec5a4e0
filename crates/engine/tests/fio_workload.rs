//! The real fio in a scratch directory: block sizes, places, rates and times as requested. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use diskproof_engine::{Engine, EngineError, fio::FioEngine};
use record::trial::EngineOutput;
use record::workload::{Layout, Options, RateProcess, Rw, SizeRange, SizeShare, SyncMode};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use support::accesses::accesses;
use support::{Bench, asked, options};

/// Lays out and runs; returns the files and the output.
fn perform(bench: &Bench, options: Options, seconds: f64) -> (Vec<PathBuf>, EngineOutput) {
    let w = asked(options);
    let job = bench.job(&w, 7, seconds);
    let files = FioEngine.prepare(&job).unwrap();
    (files, FioEngine.run(&job).unwrap())
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|f| f.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// Whether a share of `n` is within five standard deviations.
fn near(share: f64, wanted: f64, n: usize) -> bool {
    (share - wanted).abs() <= 5.0 * (wanted * (1.0 - wanted) / n as f64).sqrt()
}

fn share(bs_bytes: u64, percent: u8) -> SizeShare {
    SizeShare { bs_bytes, percent }
}

/// Whether a message explains the bytes: an estimate is named as such, and on a machine too busy for two rows of fio's log, the
/// whole run counts, which is named too.
fn says_where_bytes_come_from(said: &str) -> bool {
    said.contains("bytes are the counted I/Os times") || said.contains("counted over the whole run")
}

#[test]
fn sizes_have_the_shares_asked_for_also_at_random_places() {
    let bench = Bench::lent();
    let o = Options { bssplit: vec![share(4096, 25), share(16384, 75)], ..options(Rw::Randread) };
    let (_, out) = perform(&bench, o, 0.3);
    let all = accesses(&out.input, &bench.scratch, false);
    let large = all.iter().filter(|a| a.bytes == 16384).count();
    assert!(near(large as f64 / all.len() as f64, 0.75, all.len()), "{large} of {}", all.len());
    assert!(all.iter().all(|a| a.offset % 4096 == 0 && a.offset + a.bytes <= 8 << 20));
    let said = out.messages.join("\n");
    assert!(said.contains("norandommap=1") && says_where_bytes_come_from(&said), "{said}");
    let read = out.read.unwrap();
    let mean = read.bytes as f64 / read.ios as f64;
    // 4096 + 12288 times the share of large blocks.
    assert!(near((mean - 4096.0) / 12288.0, 0.75, usize::try_from(read.ios).unwrap()), "{mean}");
}

#[test]
fn a_range_of_sizes_is_drawn_evenly_in_multiples_of_its_low_end() {
    let bench = Bench::lent();
    let range = Some(SizeRange { low_bytes: 4096, high_bytes: 16384 });
    let (_, out) = perform(&bench, Options { bsrange: range, ..options(Rw::Read) }, 0.3);
    let all = accesses(&out.input, &bench.scratch, false);
    for blocks in 1..=4 {
        let found = all.iter().filter(|a| a.bytes == blocks * 4096).count();
        assert!(near(found as f64 / all.len() as f64, 0.25, all.len()), "{found} of {}", all.len());
    }
    let said = out.messages.join("\n");
    assert!(
        !said.contains("norandommap") && said.contains("bytes are"),
        "only random places need it: {said}"
    );
}

/// The blocks of 4 KiB that differ.
fn changed(before: &[u8], after: &[u8]) -> Vec<usize> {
    let pairs = before.chunks(4096).zip(after.chunks(4096)).enumerate();
    pairs.filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect()
}

#[test]
fn one_pass_touches_every_block_behind_the_offset_once() {
    let bench = Bench::lent();
    let (offset_bytes, size_bytes) = (1 << 20, 2 << 20);
    let w = asked(Options { offset_bytes, size_bytes, time_based: false, ..options(Rw::Randwrite) });
    let job = bench.job(&w, 7, 30.0);
    let file = FioEngine.prepare(&job).unwrap().remove(0);
    let before = fs::read(&file).unwrap();
    assert_eq!(before.len(), 3 << 20);
    assert!(before.chunks(4096).all(|b| b.iter().any(|x| *x != 0)), "all is laid out, the skipped part too");
    let out = FioEngine.run(&job).unwrap();
    assert_eq!(changed(&before, &fs::read(&file).unwrap()), (256..768).collect::<Vec<_>>());
    let write = out.write.unwrap();
    assert_eq!((write.ios, write.bytes, write.latency.count()), (512, 2 << 20, 512), "all of it is counted");
    assert!(out.messages.is_empty() && write.seconds < 30.0, "{:?}", out.messages);
    assert!((write.iops * write.seconds - 512.0).abs() < 0.001);
}

#[test]
fn a_job_takes_its_files_in_turn() {
    let bench = Bench::lent();
    let o = Options {
        nrfiles: 3,
        numjobs: 2,
        size_bytes: 1 << 20,
        offset_bytes: 8192,
        time_based: false,
        ..options(Rw::Randwrite)
    };
    let w = asked(o);
    let job = bench.job(&w, 7, 30.0);
    let files = FioEngine.prepare(&job).unwrap();
    let expected = ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"].map(|n| format!("diskproof-data.{n}"));
    assert_eq!(names(&files), expected);
    let read = || files.iter().map(|f| fs::read(f).unwrap()).collect::<Vec<_>>();
    let before = read();
    let out = FioEngine.run(&job).unwrap();
    // A third of 1 MiB is 85 whole blocks; two blocks lie before them.
    for (before, after) in before.iter().zip(read()) {
        assert_eq!(before.len(), 87 * 4096);
        assert_eq!(changed(before, &after), (2..87).collect::<Vec<_>>());
    }
    assert_eq!(out.write.unwrap().ios, 6 * 85);
    let offsets: Vec<_> = {
        let sequential = out.input.replace("rw=randwrite", "rw=write");
        accesses(&sequential, &bench.scratch, true).iter().map(|a| a.offset).collect()
    };
    assert_eq!(offsets[..7], [8192, 8192, 8192, 12288, 12288, 12288, 16384], "one block of each in turn");
}

#[test]
fn a_named_file_is_shared_by_all_jobs() {
    let bench = Bench::lent();
    let o = Options { filename: Some("table".into()), numjobs: 2, ..options(Rw::Randread) };
    let (files, out) = perform(&bench, o, 0.2);
    assert_eq!(names(&files), ["diskproof-data.table"]);
    assert!(out.shared_files);
    let (_, out) = perform(&bench, Options { numjobs: 1, ..options(Rw::Randread) }, 0.2);
    assert!(!out.shared_files);
    let w = asked(Options { filename: Some("../x".into()), ..options(Rw::Read) });
    assert!(matches!(FioEngine.prepare(&bench.job(&w, 7, 0.2)), Err(EngineError::Refused { .. })));
}

#[test]
fn sync_is_what_the_file_is_opened_with() {
    const O_DSYNC: u32 = 0o10_000;
    const O_SYNC: u32 = 0o4_010_000;
    for (sync, wanted) in [(SyncMode::None, 0), (SyncMode::Dsync, O_DSYNC), (SyncMode::Sync, O_SYNC)] {
        let bench = Bench::lent();
        let w = asked(Options { sync, size_bytes: 1 << 20, ..options(Rw::Write) });
        let mut job = bench.job(&w, 7, 0.4);
        let file = FioEngine.prepare(&job).unwrap().remove(0);
        let (fio, over) = (AtomicU32::new(0), AtomicBool::new(false));
        let note = |pid| fio.store(pid, Ordering::SeqCst);
        job.started = &note;
        let seen = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    if let Some(flags) = flags_of(fio.load(Ordering::SeqCst), &file) {
                        return Some(flags);
                    }
                }
                None
            });
            FioEngine.run(&job).unwrap();
            over.store(true, Ordering::SeqCst);
            watcher.join().unwrap()
        });
        assert_eq!(seen.map(|flags| flags & O_SYNC), Some(wanted), "{sync:?}");
    }
}

/// The flags with which a child of fio opened a file.
fn flags_of(fio: u32, file: &Path) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{fio}/task/{fio}/children")).ok()?;
    let proc = |pid: &str| PathBuf::from(format!("/proc/{pid}"));
    children.split_whitespace().map(proc).find_map(|proc| {
        let entries = fs::read_dir(proc.join("fd")).ok()?.filter_map(Result::ok);
        let ours = entries.filter(|e| fs::read_link(e.path()).is_ok_and(|target| target == file));
        let info = |e: fs::DirEntry| fs::read_to_string(proc.join("fdinfo").join(e.file_name())).ok();
        ours.filter_map(info).find_map(|text| {
            let field = text.lines().find_map(|l| l.strip_prefix("flags:"))?.trim().to_owned();
            u32::from_str_radix(&field, 8).ok()
        })
    })
}

#[test]
fn pauses_and_rates_are_never_outrun() {
    let bench = Bench::lent();
    let pause = Options { thinktime_us: 20_000, thinktime_blocks: 2, ..options(Rw::Randread) };
    let (_, out) = perform(&bench, pause, 0.4);
    // Two I/Os per 20 ms, and at most three more that were in flight at the first pause.
    let ios = out.read.unwrap().ios;
    assert!((1..=2 * 20 + 5).contains(&ios), "{ios} I/Os");
    let rate = Options { rate_bytes_per_second: Some(1 << 20), ..options(Rw::Randread) };
    let (_, out) = perform(&bench, rate, 0.4);
    let bytes = out.read.unwrap().bytes;
    // The bytes that are due by the end of the time, plus a full queue.
    assert!((1..=(1 << 20) * 2 / 5 + 4 * 4096).contains(&bytes), "{bytes} bytes");
    let poisson = Options {
        rate_iops: Some(200),
        rate_process: RateProcess::Poisson,
        iodepth: 1,
        ..options(Rw::Randread)
    };
    let (_, out) = perform(&bench, poisson, 0.4);
    assert!(out.input.contains("rate_process=poisson"), "{}", out.input);
    // 80 are due; five standard deviations above.
    let ios = out.read.unwrap().ios;
    assert!((1..=125).contains(&ios), "{ios} I/Os");
}

#[test]
fn a_workloads_own_times_go_before_the_experiments() {
    let bench = Bench::lent();
    let o = Options { runtime_ms: Some(300), ramp_time_ms: Some(100), ..options(Rw::Randread) };
    let w = asked(o);
    let mut job = bench.job(&w, 7, 60.0);
    job.ramp_seconds = 60.0;
    FioEngine.prepare(&job).unwrap();
    let out = FioEngine.run(&job).unwrap();
    assert!(out.input.contains("runtime=400ms"), "{}", out.input);
    assert!(out.window.seconds() < 60.0, "{:?}", out.window);
}

#[test]
fn what_fio_cannot_do_as_meant_is_refused_before_anything_is_laid_out() {
    let bench = Bench::lent();
    let mixed = vec![share(4096, 50), share(8192, 50)];
    for (name, o) in [
        ("rw: trim on files", options(Rw::Trim)),
        ("rate_iops", Options { rate_iops: Some(100), bssplit: mixed, ..options(Rw::Randread) }),
        ("verify: sha512", Options { verify: Some("sha512".into()), ..options(Rw::Randread) }),
    ] {
        let mut w = asked(o);
        w.layout = Layout::Written;
        let job = bench.job(&w, 7, 0.2);
        let error = FioEngine.prepare(&job).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("use engine: native"), "{error}");
        assert!(matches!(FioEngine.run(&job), Err(EngineError::Refused { .. })));
        let left = fs::read_dir(bench.dir.path()).unwrap().filter_map(Result::ok);
        let left: Vec<_> = left.filter(|e| e.file_name().to_string_lossy().contains("data")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
