//! The native engine on loop devices: throttled volumes, spans of block devices, full grounds, killed workers. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::{Claimed, Ground, Roots};
use diskproof_engine::native::NativeEngine;
use diskproof_engine::{Engine, EngineError};
use host::LocalRunner;
use record::workload::{Options, Rw};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use support::{Bench, asked, options};
use testkit::{Exclusive, LoopDevice};

fn engine() -> NativeEngine {
    NativeEngine::with_worker(vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into()])
}

fn native(rw: Rw) -> Options {
    Options { ioengine: "io_uring".into(), ..options(rw) }
}

/// Exclusive use of the machine, or `None` without root.
fn machine() -> Option<Exclusive> {
    if !testkit::is_root() {
        println!("skipped: needs root");
        return None;
    }
    Some(testkit::exclusive())
}

fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("diskproof-native-test-").tempdir().unwrap()
}

/// A loop device over a file that is written in full.
fn written_loop(bytes: u64, name: &str) -> LoopDevice {
    let device = LoopDevice::new(bytes, name);
    let file = File::options().write(true).open(device.backing()).unwrap();
    let block: Vec<u8> = (0..1_u32 << 20).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    (0..bytes >> 20).for_each(|i| file.write_all_at(&block, i << 20).unwrap());
    file.sync_all().unwrap();
    device
}

fn claimed(device: &LoopDevice) -> Claimed {
    device::emulated(&Roots::default(), &LocalRunner, device.path(), device.backing()).unwrap()
}

/// A cgroup that limits one device; removed when dropped.
struct Throttle(PathBuf);

impl Throttle {
    /// `None` where there is no cgroup v1 blkio controller.
    fn new(device: &LoopDevice, iops: u32) -> Option<Self> {
        let dir = Path::new("/sys/fs/cgroup/blkio/diskproof-test-native").to_path_buf();
        if !Path::new("/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device").exists() {
            println!("skipped: no cgroup v1 blkio controller");
            return None;
        }
        fs::create_dir_all(&dir).unwrap();
        let devno = fs::read_to_string(format!("/sys/block/{}/dev", device.name())).unwrap();
        for direction in ["read", "write"] {
            let file = dir.join(format!("blkio.throttle.{direction}_iops_device"));
            fs::write(file, format!("{} {iops}", devno.trim())).unwrap();
        }
        Some(Self(dir))
    }

    /// Whether it ever did any I/O.
    fn empty(&self) -> bool {
        let served = fs::read_to_string(self.0.join("blkio.throttle.io_serviced")).unwrap();
        served.trim().lines().last() == Some("Total 0")
    }

    fn procs(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn loop_a_throttled_volume_gives_its_iops() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(64 << 20, "native-throttle");
    let Some(throttle) = Throttle::new(&device, 80) else { return };
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let w = asked(Options { iodepth: 32, size_bytes: 64 << 20, ..native(Rw::Randread) });
    let mut job = bench.job(&w, 11, 6.0);
    job.ramp_seconds = 1.0;
    let procs = throttle.procs();
    job.cgroup_procs = Some(&procs);
    assert_eq!(engine().prepare(&job).unwrap(), [device.path()]);
    assert!(throttle.empty(), "the layout is not throttled");
    let out = engine().run(&job).unwrap();
    let read = out.read.unwrap();
    // The throttle lets I/Os through in slices of a tenth of a second.
    assert!((read.iops / 80.0 - 1.0).abs() <= 0.03, "{} IOPS", read.iops);
    assert!(!throttle.empty());
    // 32 in flight at 80 per second take 0.4 s each.
    let p50 = read.latency.percentile_ns(0.5).unwrap();
    assert!((350_000_000..450_000_000).contains(&p50), "p50 {p50} ns");
    assert!(out.messages.is_empty(), "{:?}", out.messages);
}

#[test]
fn loop_jobs_keep_to_their_own_spans() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(16 << 20, "native-spans");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let w = asked(Options { numjobs: 3, size_bytes: 4 << 20, ..native(Rw::Randwrite) });
    let job = bench.job(&w, 5, 0.5);
    engine().prepare(&job).unwrap();
    let read = |from: usize, length: usize| {
        let mut bytes = vec![0; length];
        File::open(device.path()).unwrap().read_exact_at(&mut bytes, from as u64).unwrap();
        bytes
    };
    let (laid_out, beyond) = (read(0, 12 << 20), read(12 << 20, 4 << 20));
    engine().run(&job).unwrap();
    assert_eq!(read(12 << 20, 4 << 20), beyond, "something was written beyond the jobs' spans");
    let now = read(0, 12 << 20);
    for span in 0..3 {
        let range = (span << 22)..((span + 1) << 22);
        assert_ne!(now[range.clone()], laid_out[range], "job {span} wrote nothing");
    }
    let w = asked(Options { numjobs: 3, size_bytes: 8 << 20, ..native(Rw::Randwrite) });
    let small = engine().prepare(&bench.job(&w, 5, 0.5));
    assert!(matches!(small, Err(EngineError::TooSmall { .. })), "{small:?}");
}

/// A volume whose backing file system is full: the loop device answers EIO or ENOSPC.
#[test]
fn loop_a_full_ground_is_an_error_with_its_offsets() {
    let Some(_alone) = machine() else { return };
    let device = LoopDevice::new(64 << 20, "native-full");
    let claim = claimed(&device);
    let mount = scratch();
    let run = |argv: &[&str]| {
        let out = std::process::Command::new(argv[0]).args(&argv[1..]).output().unwrap();
        assert!(out.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&out.stderr));
    };
    claim.hand_over();
    let path = device.path().to_str().unwrap().to_owned();
    run(&["mkfs.ext4", "-q", "-F", &path]);
    run(&["mount", &path, mount.path().to_str().unwrap()]);
    let result = std::panic::catch_unwind(|| {
        let ground = Ground::directory_on(&[&claim], mount.path(), &Roots::default()).unwrap();
        let bench = Bench::on(scratch(), ground);
        let mut w = asked(Options { size_bytes: 256 << 20, bs_bytes: 1 << 20, ..native(Rw::Write) });
        w.layout = record::workload::Layout::Hole;
        let job = bench.job(&w, 5, 5.0);
        engine().prepare(&job).unwrap();
        engine().run(&job)
    });
    run(&["umount", mount.path().to_str().unwrap()]);
    match result.unwrap() {
        Err(EngineError::Failed { errors, output: Some(_), .. }) => {
            let enospc = errors.iter().find(|e| e.errno == "ENOSPC" || e.errno == "short write");
            assert!(
                enospc.unwrap().place.as_ref().unwrap().starts_with("job0: write at offset "),
                "{errors:?}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn loop_trims_of_a_device_are_discards() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(16 << 20, "native-discard");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let o = Options { size_bytes: 8 << 20, bs_bytes: 65536, time_based: false, ..native(Rw::Randtrim) };
    let w = asked(o.clone());
    let job = bench.job(&w, 5, 60.0);
    engine().prepare(&job).unwrap();
    let out = engine().run(&job).unwrap();
    let trim = out.trim.unwrap();
    assert_eq!((trim.ios, trim.bytes, trim.latency.count()), (128, 8 << 20, 128));
    assert!(out.read.is_none() && out.write.is_none());
    assert!(out.messages.iter().any(|m| m.contains("BLKDISCARD")), "{:?}", out.messages);
    let mut bytes = vec![0; 16 << 20];
    File::open(device.path()).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes[..8 << 20].iter().all(|b| *b == 0), "what was trimmed is gone");
    assert!(bytes[8 << 20..].chunks(4096).all(|b| b.iter().any(|b| *b != 0)), "and nothing else");
    // Every block is trimmed, then written.
    let w = asked(Options { rw: Rw::Trimwrite, ..o.clone() });
    let job = bench.job(&w, 6, 60.0);
    engine().prepare(&job).unwrap();
    let out = engine().run(&job).unwrap();
    assert_eq!((out.trim.unwrap().ios, out.write.unwrap().ios), (128, 128));
    File::open(device.path()).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes[..8 << 20].chunks(4096).all(|b| b.iter().any(|b| *b != 0)));
    // A device that can't says so, by name.
    let switch = format!("/sys/block/{}/queue/discard_max_bytes", device.name());
    fs::write(switch, "0").unwrap();
    let w = asked(o);
    match engine().run(&bench.job(&w, 7, 60.0)) {
        Err(EngineError::Failed { messages, .. }) => {
            let said = messages.join(" ");
            assert!(said.contains(&device.name()) && said.contains("can't discard"), "{said}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn loop_a_killed_worker_is_a_failed_trial() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(16 << 20, "native-killed");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let w = asked(Options { size_bytes: 16 << 20, ..native(Rw::Randrw) });
    let mut job = bench.job(&w, 5, 30.0);
    let kill = |pid: u32| {
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        });
    };
    job.started = &kill;
    engine().prepare(&job).unwrap();
    match engine().run(&job) {
        Err(EngineError::Failed { ended, output: None, .. }) => {
            assert!(ended.contains("signal 9"), "{ended}")
        }
        other => panic!("{other:?}"),
    }
}
