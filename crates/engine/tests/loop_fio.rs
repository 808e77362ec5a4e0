//! The real fio on loop devices: throttled volumes, spans of block devices, full and broken file systems. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::{Claimed, Ground, Roots};
use diskproof_engine::{Engine, EngineError, fio::FioEngine};
use record::trial::{Totals, Window};
use record::workload::{Options, Rw};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::loops::{Throttle, claimed, discarding_loop, machine, scratch, written_loop};
use support::{Bench, asked, job_file, native_engine, options};
use testkit::LoopDevice;

/// CLOCK_MONOTONIC, and the bytes read and written so far.
type Seen = (u64, [u64; 2]);

/// Reads a device's counters many times a second, until told to stop.
fn watch(name: &str, stop: &AtomicBool) -> Vec<Seen> {
    let mut seen = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let fields: Vec<u64> = text.split_whitespace().map(|f| f.parse().unwrap()).collect();
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let ns = u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap();
        seen.push((ns, [fields[2] * 512, fields[6] * 512]));
        std::thread::sleep(Duration::from_millis(4));
    }
    seen
}

/// The bytes that the device moved inside a window.
fn inside(seen: &[Seen], window: Window) -> [u64; 2] {
    let at = |ns: u64| seen.iter().rev().find(|s| s.0 <= ns).unwrap().1;
    let (from, to) = (at(window.start_ns), at(window.end_ns));
    [to[0] - from[0], to[1] - from[1]]
}

#[test]
fn loop_a_throttled_mix_is_counted_exactly() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(64 << 20, "engine-throttle");
    let Some(throttle) = Throttle::new(&device, 80) else { return };
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let mut o = options(Rw::Randrw);
    (o.bs_bytes, o.iodepth, o.size_bytes) = (16384, 64, 64 << 20);
    let w = asked(o);
    let mut job = bench.job(&w, 11, 4.0);
    job.ramp_seconds = 1.0;
    let procs = throttle.procs();
    job.cgroup_procs = Some(&procs);
    assert_eq!(FioEngine.prepare(&job).unwrap(), [device.path()]);
    assert!(throttle.empty(), "the layout is not throttled");
    let stop = AtomicBool::new(false);
    let (result, seen) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&device.name(), &stop));
        let result = FioEngine.run(&job);
        stop.store(true, Ordering::SeqCst);
        (result, watcher.join().unwrap())
    });
    let out = result.unwrap();
    assert!(out.messages.is_empty(), "{:?}", out.messages);
    let [read, write] = [out.read, out.write].map(Option::unwrap);
    let bytes = inside(&seen, out.window);
    for (name, totals, device_bytes) in [("read", &read, bytes[0]), ("write", &write, bytes[1])] {
        let Totals { iops, bytes, ios, seconds, .. } = totals;
        let facts =
            format!("{name}: {iops} IOPS, {ios} I/Os in {seconds} s, {bytes} bytes, device {device_bytes}");
        println!("{facts}");
        assert!((iops / 80.0 - 1.0).abs() <= 0.03, "{facts}");
        // The kernel lets 8 I/Os through every 100 ms; the window's ends may fall on either side of such a burst.
        let burst = 8 * 16384;
        assert!(device_bytes.abs_diff(*bytes) <= burst + bytes / 100, "{facts}");
        // A burst at either end, and a machine that is late.
        assert!(*seconds > 3.5 && *seconds <= 4.0, "{facts}");
    }
}

#[test]
fn loop_jobs_have_their_own_spans_of_a_block_device() {
    let Some(_alone) = machine() else { return };
    let device = LoopDevice::new(32 << 20, "engine-spans");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let mut o = options(Rw::Randrw);
    (o.numjobs, o.size_bytes) = (3, (4 << 20) + 4096);
    let w = asked(o);
    let job = bench.job(&w, 11, 0.3);
    FioEngine.prepare(&job).unwrap();
    let data = fs::read(device.backing()).unwrap();
    let zero =
        |from: usize, to: usize| data[from..to].chunks(4096).filter(|b| b.iter().all(|x| *x == 0)).count();
    let (span, size) = (5 << 20, (4 << 20) + 4096);
    for job in 0..3 {
        assert_eq!(zero(job * span, job * span + size), 0, "job {job}'s span is written in full");
    }
    assert_eq!(zero(2 * span + size, 32 << 20), ((32 << 20) - 2 * span - size) / 4096, "nothing beyond");
    let out = FioEngine.run(&job).unwrap();
    for offset in [0, 5 << 20, 10 << 20] {
        assert!(out.input.contains(&format!("offset={offset}\nsize={size}\n")), "{}", out.input);
    }
    assert!(!out.shared_files && out.read.unwrap().ios > 0);
    let mut o = options(Rw::Read);
    (o.numjobs, o.size_bytes) = (3, 16 << 20);
    let w = asked(o);
    let error = FioEngine.prepare(&bench.job(&w, 11, 0.3)).unwrap_err();
    assert!(matches!(error, EngineError::TooSmall { .. }), "{error}");
}

#[test]
fn loop_a_users_job_file_runs_on_a_block_device() {
    let Some(_alone) = machine() else { return };
    let device = LoopDevice::new(32 << 20, "engine-user-block");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let text = "[global]\nioengine=libaio\ndirect=1\nbs=4k\nsize=4m\n[a]\nrw=randread\nnumjobs=2\n\
        [b]\nrw=randwrite\nfilename=/dev/nvme0n1\n";
    let w = job_file(text, 12 << 20);
    let job = bench.job(&w, 5, 0.3);
    assert_eq!(FioEngine.prepare(&job).unwrap(), [device.path()]);
    let data = fs::read(device.backing()).unwrap();
    let empty = data[..12 << 20].chunks(4096).filter(|b| b.iter().all(|x| *x == 0)).count();
    assert_eq!(empty, 0, "all three spans are written");
    let out = FioEngine.run(&job).unwrap();
    assert!(!out.input.contains("nvme"));
    assert!(out.read.unwrap().ios > 0 && out.write.unwrap().ios > 0 && !out.shared_files);
    let w = job_file("[a]\nsize=64m\n", 64 << 20);
    assert!(matches!(FioEngine.prepare(&bench.job(&w, 5, 0.3)), Err(EngineError::TooSmall { .. })));
    // Without a size a device is used as a whole, however much room the experiment gives.
    let text = "[global]\nrw=randread\nfilename=/dev/sda\n[a]\n[b]\noffset=50%\n";
    let w = job_file(text, 1 << 40);
    let job = bench.job(&w, 5, 0.3);
    assert_eq!(FioEngine.prepare(&job).unwrap(), [device.path()]);
    let empty =
        fs::read(device.backing()).unwrap().chunks(4096).filter(|b| b.iter().all(|x| *x == 0)).count();
    assert_eq!(empty, 0, "the whole device is written");
    let input = FioEngine.run(&job).unwrap().input;
    assert!(input.contains("size=33554432") && input.contains("size=16777216"), "{input}");
}

/// A small file system.
struct Mounted {
    dir: PathBuf,
    claim: Claimed,
    _device: LoopDevice,
}

impl Mounted {
    fn new(bytes: u64, name: &str) -> Self {
        let device = LoopDevice::new(bytes, name);
        let claim = claimed(&device);
        claim.hand_over();
        let dir = testkit::fresh_dir(&format!("{name}-mnt"));
        run("mkfs.ext4", &["-q".as_ref(), "-m0".as_ref(), device.path().as_os_str()]);
        run("mount", &[device.path().as_os_str(), dir.as_os_str()]);
        Self { dir, claim, _device: device }
    }

    fn ground(&self) -> Ground {
        Ground::directory_on(&[&self.claim], &self.dir, &Roots::default()).unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.dir.as_os_str()]);
        let _ = fs::remove_dir(&self.dir);
    }
}

fn run(program: &str, args: &[&std::ffi::OsStr]) {
    let out = Command::new(program).args(args).output().unwrap();
    assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn loop_a_full_ground_is_named() {
    let Some(_alone) = machine() else { return };
    let fs = Mounted::new(16 << 20, "engine-full");
    let bench = Bench::on(scratch(), fs.ground());
    let mut o = options(Rw::Randread);
    o.size_bytes = 32 << 20;
    let w = asked(o);
    let error = FioEngine.prepare(&bench.job(&w, 5, 0.3)).unwrap_err();
    let EngineError::Failed { errors, output, .. } = &error else { panic!("{error}") };
    assert!(errors.iter().any(|e| e.errno == "ENOSPC"), "{error}");
    assert!(output.is_none());
    assert!(error.to_string().contains("No space left on device"), "{error}");
    // A user's job file is refused before anything is written.
    let w = job_file("[a]\nrw=randread\nsize=32m\n", 32 << 20);
    let error = FioEngine.prepare(&bench.job(&w, 5, 0.3)).unwrap_err().to_string();
    assert!(
        error.contains("take 32 MiB") && error.contains("are free in the file system under test"),
        "{error}"
    );
}

#[test]
fn loop_io_errors_are_named_and_never_a_measurement() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(16 << 20, "engine-eio");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let mut o = options(Rw::Randread);
    o.size_bytes = 16 << 20;
    let w = asked(o);
    let job = bench.job(&w, 5, 2.0);
    FioEngine.prepare(&job).unwrap();
    // Data beyond the backing file's end can't be read any more.
    File::options().write(true).open(device.backing()).unwrap().set_len(8 << 20).unwrap();
    let mut error = FioEngine.run(&job).unwrap_err();
    let text = error.to_string();
    let EngineError::Failed { errors, .. } = &error else { panic!("{text}") };
    assert_eq!((errors[0].errno.as_str(), errors[0].place.as_deref()), ("EIO", Some("job0")), "{text}");
    assert!(text.contains("Input/output error"), "{text}");
    let kept = error.take_output().unwrap();
    assert_eq!(kept.errors.len(), 1);
}

/// The blocks of 64 KiB that are all zeros. Read through the device: the page cache of its backing file may be outdated.
fn zeroed(device: &LoopDevice) -> Vec<usize> {
    let data = fs::read(device.path()).unwrap();
    let blocks = data.chunks(64 << 10).enumerate();
    blocks.filter(|(_, block)| block.iter().all(|b| *b == 0)).map(|(i, _)| i).collect()
}

#[test]
fn loop_both_engines_trim_the_same_and_count_it() {
    let Some(_alone) = machine() else { return };
    let native = native_engine();
    let engines: [&dyn Engine; 2] = [&FioEngine, &native];
    for engine in engines {
        let device = discarding_loop(8 << 20, "engine-trim");
        let claim = claimed(&device);
        let bench = Bench::on(scratch(), Ground::block(&claim));
        let once = |rw| Options {
            bs_bytes: 64 << 10,
            offset_bytes: 1 << 20,
            size_bytes: 2 << 20,
            time_based: false,
            ioengine: "io_uring".into(),
            ..options(rw)
        };
        for (rw, zeros) in [(Rw::Randtrim, (16..48).collect()), (Rw::Trimwrite, vec![])] {
            let w = asked(once(rw));
            let job = bench.job(&w, 5, 20.0);
            engine.prepare(&job).unwrap();
            assert!(zeroed(&device).is_empty(), "all is laid out");
            let out = engine.run(&job).unwrap();
            assert_eq!(zeroed(&device), zeros, "{}: {rw:?}", out.engine);
            let trim = out.trim.unwrap();
            assert_eq!((trim.ios, trim.bytes, trim.latency.count()), (32, 2 << 20, 32), "{}", out.engine);
            assert_eq!(out.write.map(|write| write.ios), rw.writes().then_some(32));
            assert!(out.read.is_none());
        }
    }
}

#[test]
fn loop_trims_are_counted_between_two_instants() {
    let Some(_alone) = machine() else { return };
    let device = discarding_loop(8 << 20, "engine-trim-time");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let w = asked(Options { bs_bytes: 64 << 10, ..options(Rw::Trim) });
    let mut job = bench.job(&w, 5, 0.6);
    job.ramp_seconds = 0.2;
    FioEngine.prepare(&job).unwrap();
    let out = FioEngine.run(&job).unwrap();
    assert!(out.messages.is_empty(), "{:?}", out.messages);
    let trim = out.trim.unwrap();
    assert!(trim.ios > 0 && trim.latency.count() == trim.ios, "{trim:?}");
    assert_eq!(trim.bytes, trim.ios * (64 << 10));
    assert!(trim.seconds <= 0.6, "{}", trim.seconds);
    assert!(out.read.is_none() && out.write.is_none());
}

#[test]
fn loop_a_changed_byte_under_a_device_is_found_at_its_offset() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(16 << 20, "engine-verify");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let o =
        Options { verify: Some("crc32c".into()), numjobs: 2, offset_bytes: 1 << 20, ..options(Rw::Write) };
    // In order and slowly: the ends of the spans are not reached.
    let w = asked(Options { size_bytes: 2 << 20, rate_iops: Some(20), iodepth: 1, ..o });
    let job = bench.job(&w, 5, 0.3);
    FioEngine.prepare(&job).unwrap();
    let out = FioEngine.run(&job).unwrap();
    assert_eq!(out.verified.map(|v| (v.bytes, v.faults.len())), Some((4 << 20, 0)));
    // The second job's span begins at 3 MiB, its data at 4 MiB.
    let spoilt = (6 << 20) - 100;
    File::options().write(true).open(device.backing()).unwrap().write_all_at(b"?", spoilt).unwrap();
    let output = FioEngine.run(&job).unwrap_err().take_output().unwrap();
    let faults = output.verified.unwrap().faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].path, device.path().to_string_lossy());
    assert_eq!(faults[0].offsets_bytes, [spoilt / 4096 * 4096]);
}

#[test]
fn loop_a_named_region_is_shared_by_all_jobs() {
    let Some(_alone) = machine() else { return };
    let device = LoopDevice::new(8 << 20, "engine-shared");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let o =
        Options { filename: Some("table".into()), numjobs: 2, size_bytes: 2 << 20, ..options(Rw::Randread) };
    let w = asked(o);
    let job = bench.job(&w, 5, 0.2);
    FioEngine.prepare(&job).unwrap();
    assert_eq!(zeroed(&device), (32..128).collect::<Vec<_>>(), "one region is laid out");
    assert!(FioEngine.run(&job).unwrap().shared_files);
    let w = asked(Options { nrfiles: 2, ..options(Rw::Randread) });
    let error = FioEngine.prepare(&bench.job(&w, 5, 0.2)).unwrap_err().to_string();
    assert!(error.contains("nrfiles: 2 needs a directory"), "{error}");
}
