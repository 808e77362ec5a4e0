//! The native engine on loop devices: throttled volumes, spans of block devices, full file systems, killed workers. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::{Ground, Roots};
use diskproof_engine::{Engine, EngineError};
use record::workload::{Options, Rw};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use support::loops::{
    Throttle, claimed, discard_switch, discarding_loop, machine, renew, scratch, written_loop,
};
use support::{Bench, asked, native, native_engine};
use testkit::LoopDevice;

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
    assert_eq!(native_engine().prepare(&job).unwrap(), [device.path()]);
    assert!(throttle.empty(), "the layout is not throttled");
    let out = native_engine().run(&job).unwrap();
    let read = out.read.unwrap();
    // The throttle lets I/Os through in slices of a tenth of a second.
    assert!((read.iops / 80.0 - 1.0).abs() <= 0.03, "{} IOPS", read.iops);
    assert!(!throttle.empty());
    // 32 in flight at 80 per second take 0.4 s each.
    let p50 = read.latency.percentile_ns(0.5).unwrap();
    assert!((350_000_000..450_000_000).contains(&p50), "p50 {p50} ns");
    // This test doesn't check whether the CPU counts instructions.
    let said: Vec<_> = out.messages.iter().filter(|m| !m.contains("instructions")).collect();
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn loop_jobs_keep_to_their_own_spans() {
    let Some(_alone) = machine() else { return };
    let device = written_loop(16 << 20, "native-spans");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let w = asked(Options { numjobs: 3, size_bytes: 4 << 20, ..native(Rw::Randwrite) });
    let job = bench.job(&w, 5, 0.5);
    native_engine().prepare(&job).unwrap();
    let read = |from: usize, length: usize| {
        let mut bytes = vec![0; length];
        File::open(device.path()).unwrap().read_exact_at(&mut bytes, from as u64).unwrap();
        bytes
    };
    let (laid_out, beyond) = (read(0, 12 << 20), read(12 << 20, 4 << 20));
    native_engine().run(&job).unwrap();
    assert_eq!(read(12 << 20, 4 << 20), beyond, "something was written beyond the jobs' spans");
    let now = read(0, 12 << 20);
    for span in 0..3 {
        let range = (span << 22)..((span + 1) << 22);
        assert_ne!(now[range.clone()], laid_out[range], "job {span} wrote nothing");
    }
    let w = asked(Options { numjobs: 3, size_bytes: 8 << 20, ..native(Rw::Randwrite) });
    let small = native_engine().prepare(&bench.job(&w, 5, 0.5));
    assert!(matches!(small, Err(EngineError::TooSmall { .. })), "{small:?}");
}

/// A volume on a full file system: the loop device returns EIO or ENOSPC.
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
        native_engine().prepare(&job).unwrap();
        native_engine().run(&job)
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
    let device = discarding_loop(16 << 20, "native-discard");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    let o = Options { size_bytes: 8 << 20, bs_bytes: 65536, time_based: false, ..native(Rw::Randtrim) };
    let w = asked(o.clone());
    let job = bench.job(&w, 5, 60.0);
    native_engine().prepare(&job).unwrap();
    let out = native_engine().run(&job).unwrap();
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
    native_engine().prepare(&job).unwrap();
    let out = native_engine().run(&job).unwrap();
    assert_eq!((out.trim.unwrap().ios, out.write.unwrap().ios), (128, 128));
    File::open(device.path()).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes[..8 << 20].chunks(4096).all(|b| b.iter().any(|b| *b != 0)));
    // A device without trims gives an error that names it.
    fs::write(discard_switch(&device), "0").unwrap();
    let w = asked(o);
    let ended = native_engine().run(&bench.job(&w, 7, 60.0));
    let name = device.name();
    drop((bench, claim));
    renew(device);
    match ended {
        Err(EngineError::Failed { messages, .. }) => {
            let said = messages.join(" ");
            assert!(said.contains(&name) && said.contains("can't discard"), "{said}");
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
    native_engine().prepare(&job).unwrap();
    match native_engine().run(&job) {
        Err(EngineError::Failed { ended, output: None, .. }) => {
            assert!(ended.contains("signal 9"), "{ended}")
        }
        other => panic!("{other:?}"),
    }
}
