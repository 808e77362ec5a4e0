//! bcache, in a kernel that has it: built, loaded, taken down; at every moment a step fails or the process is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use device::{Candidate, ClaimBook, Place, Word};
use diskproof_stack::{Built, Journal, NoHooks, Volumes, build, undo_run};
use record::stack::{Bcache, BcacheMode, FsKind, Layer, Rebuild, Stack};
use record::volume::{Limits, Volume, VolumeKind};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{
    Bench, Fault, Hook, KEPT, Matrix, asked_for_all, bcache, bcache_dir, cached_by_bcache, chain, emulated,
    is_cached_as_asked, limits, of_today, rate, simple, stands_and_falls,
};
use testkit::{exclusive, is_root};

const MIB: usize = 1 << 20;

/// The first alone performs both acts, and with `DISKPROOF_TEST_FAULTS=all` all are tried: a guest is slow.
const BCACHE: Matrix = Matrix {
    scenarios: |_| {
        let all = cached_by_bcache();
        let tried = if asked_for_all() { all.len() } else { 1 };
        all.into_iter().take(tried).collect()
    },
    child: "lab_bcache_child_that_dies",
    acts: &["format_bcache", "start_bcache"],
    is_slow: true,
};
/// What the matrix of one must at least hold.
const FEWEST_FAULTS: usize = 10;

#[test]
fn lab_bcache_any_step_may_fail() {
    BCACHE.run(Fault::Fail, FEWEST_FAULTS);
}

#[test]
fn lab_bcache_any_moment_may_be_the_last() {
    BCACHE.run(Fault::Kill, FEWEST_FAULTS);
}

/// Also while make-bcache runs, which then outlives us for a moment, and while the kernel stops its devices.
#[test]
fn lab_bcache_any_instant_may_be_the_last() {
    BCACHE.kill_at_instants(&["bcache-ext4"], 4);
}

/// Not a test by itself: the process that is killed. Does nothing when run with the others.
#[test]
fn lab_bcache_child_that_dies() {
    BCACHE.die_if_told();
}

/// Each of today once, without faults.
#[test]
fn lab_bcache_every_stack_stands_and_falls() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    stands_and_falls(|_| of_today(cached_by_bcache()), is_cached_as_asked);
}

fn stack(volumes: Vec<Volume>, beside: Vec<Volume>, layers: Vec<Layer>) -> Stack {
    Stack { name: "bcache".to_owned(), volumes, beside, layers, rebuild: Rebuild::Trial }
}

fn on_files(limits: Limits, mode: BcacheMode) -> Stack {
    let mut beside = emulated(1, 64, Limits::default());
    beside[0].name = "ssd".to_owned();
    // with its usual thresholds, bcache bypasses the cache where a guest is slow
    let layer = Bcache {
        congested_read_threshold_us: Some(0),
        congested_write_threshold_us: Some(0),
        ..bcache(mode)
    };
    stack(emulated(1, 48, limits), beside, vec![Layer::Bcache(layer)])
}

/// Builds a stack, and passes it to a test.
fn with_built<T>(
    bench: &Bench,
    stack: &Stack,
    test: impl FnOnce(&diskproof_stack::Machine<'_>, Journal, Volumes, Built) -> T,
) -> T {
    let (state_dir, hook) = (bench.state_dir(), Hook::count());
    let machine = bench.machine(&state_dir, &hook);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let never = AtomicBool::new(false);
    let all: Vec<Volume> = stack.all_volumes().cloned().collect();
    let volumes = Volumes::provide(&machine, &mut journal, &all, &mut |_, _| {}, &never)
        .unwrap_or_else(|error| panic!("{}", chain(&error)));
    let built = build(&machine, &mut journal, &volumes, stack).unwrap_or_else(|e| panic!("{}", chain(&e)));
    test(&machine, journal, volumes, built)
}

fn node(built: &Built) -> PathBuf {
    let Place::Block(node) = built.ground.place().clone() else { panic!("a block device") };
    node
}

/// The node of a device below, by its name in sysfs.
fn below() -> Vec<PathBuf> {
    let slaves = std::fs::read_dir(bcache_dir().parent().unwrap().join("slaves")).unwrap().flatten();
    let mut all: Vec<PathBuf> = slaves.map(|entry| Path::new("/dev").join(entry.file_name())).collect();
    all.sort();
    all
}

/// What only the cache had lies on the backing device after the undo.
#[test]
fn lab_bcache_the_undo_writes_dirty_data_back() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("bcache-dirty");
    let before = bench.state();
    let stack = on_files(Limits::default(), BcacheMode::Writeback);
    with_built(&bench, &stack, |machine, mut journal, volumes, built| {
        let noise: Vec<u8> = (0..8 * MIB).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect();
        let mut device = File::options().write(true).open(node(&built)).unwrap();
        device.write_all(&noise).unwrap();
        device.sync_all().unwrap();
        drop(device);
        let dirty = std::fs::read_to_string(bcache_dir().join("dirty_data")).unwrap();
        eprintln!("dirty before the undo: {}", dirty.trim());
        assert_ne!(dirty.trim(), "0.0k", "nothing to write back");
        let devices = below();
        built.undo(machine, &mut journal).unwrap_or_else(|error| panic!("{}", chain(&error)));
        // bcache wrote below the device's own page cache, which may have older pages
        std::fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
        let lies = devices.iter().any(|path| {
            let mut device = File::open(path).unwrap();
            let mut found = vec![0; noise.len()];
            device.seek(SeekFrom::Start(Bcache::DATA_OFFSET)).unwrap();
            device.read_exact(&mut found).unwrap();
            found == noise
        });
        assert!(lies, "none of {devices:?} has the data");
        drop(volumes);
        journal.undo_all(machine).unwrap();
    });
    assert_eq!(before.diff(&bench.state()), "");
}

/// A device that somebody uses stays, in the journal too, and goes when it is free.
#[test]
fn lab_bcache_a_device_in_use_is_busy_and_then_goes() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("bcache-busy");
    let before = bench.state();
    let stack = on_files(Limits::default(), BcacheMode::Writethrough);
    with_built(&bench, &stack, |machine, mut journal, volumes, built| {
        let node = node(&built);
        let user = File::open(&node).unwrap();
        let error = built.undo(machine, &mut journal).unwrap_err();
        assert!(chain(&error).contains("busy") && chain(&error).contains("held by"), "{}", chain(&error));
        assert!(node.exists());
        drop((user, volumes, journal));
    });
    for _ in 0..2 {
        undo_run(&bench.machine(&bench.state_dir(), &NoHooks), &bench.run).unwrap();
        assert_eq!(before.diff(&bench.state()), "");
    }
}

/// The devices below are registered again as soon as they are gone, as by a udev that is late: that is too short to be seen.
#[test]
fn lab_bcache_what_is_registered_again_goes_again() {
    const TIMES: usize = 3;
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("bcache-again");
    let before = bench.state();
    let stack = on_files(Limits::default(), BcacheMode::Writeback);
    with_built(&bench, &stack, |machine, mut journal, volumes, built| {
        let cache = std::fs::canonicalize(bcache_dir().join("cache/cache0")).unwrap();
        let disk = cache.parent().unwrap().to_path_buf();
        let node = Path::new("/dev").join(disk.file_name().unwrap());
        let done = AtomicBool::new(false);
        let again = std::thread::scope(|scope| {
            let udev = scope.spawn(|| {
                let mut again = 0;
                while again < TIMES && !done.load(Ordering::Relaxed) {
                    if !cache.exists() {
                        let register =
                            std::fs::write("/sys/fs/bcache/register_quiet", node.to_str().unwrap());
                        again += usize::from(register.is_ok() && cache.exists());
                    }
                    std::hint::spin_loop();
                }
                again
            });
            let undone = built.undo(machine, &mut journal);
            done.store(true, Ordering::Relaxed);
            undone.unwrap_or_else(|error| panic!("{}", chain(&error)));
            udev.join().unwrap()
        });
        eprintln!("registered again {again} times");
        assert!(again > 0, "nobody was faster than we");
        drop(volumes);
        journal.undo_all(machine).unwrap();
    });
    assert_eq!(before.diff(&bench.state()), "");
}

/// What a load reads past a cache that has nothing of it, and writes through it, is charged to who asked.
#[test]
fn lab_bcache_the_limits_of_a_volume_hold_for_what_the_load_asks() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("bcache-limits");
    let before = bench.state();
    for mode in [BcacheMode::None, BcacheMode::Writethrough, BcacheMode::Writearound] {
        let stack = on_files(limits(), mode);
        with_built(&bench, &stack, |machine, mut journal, volumes, built| {
            let procs = volumes.throttle().unwrap().cgroup_procs;
            for rw in ["randread", "randwrite"] {
                let rate = rate(&procs, &node(&built), rw, "32m");
                eprintln!("{}, {rw}: {rate} a second", mode.name());
                // a read may hit what was read or written before
                let is_served = rw == "randread" && mode != BcacheMode::None && rate > *KEPT.end();
                assert!(KEPT.contains(&rate) || is_served, "{rw}: {rate} a second, expected {KEPT:?}");
            }
            built.undo(machine, &mut journal).unwrap();
            drop(volumes);
            journal.undo_all(machine).unwrap();
        });
    }
    assert_eq!(before.diff(&bench.state()), "");
}

/// Disks keep what was written on them, so superblocks of ours must go from there by what they say of themselves.
#[test]
fn lab_bcache_claimed_disks_are_blank_again() {
    const IDS: [&str; 2] = ["virtio-killed1", "virtio-killed2"];
    if !is_root() || IDS.iter().any(|id| !Path::new("/dev/disk/by-id").join(id).exists()) {
        eprintln!("skipped: needs root and the guest's disks");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("bcache-claimed");
    bench.state();
    let mut book = ClaimBook::open(&bench.state_dir()).unwrap();
    for id in IDS {
        let word = Word { overwrite_data: true, unseen_processes: true, ..Word::default() };
        book.claim(&Candidate::by_id(&bench.roots, id).unwrap(), word).unwrap();
    }
    drop(book);
    let disk =
        |name: &str, id: &str| Volume { name: name.to_owned(), kind: VolumeKind::Disk { id: id.to_owned() } };
    let layers = vec![Layer::Bcache(bcache(BcacheMode::Writeback)), simple(FsKind::Ext4)];
    let stack = stack(vec![disk("hdd", IDS[0])], vec![disk("ssd", IDS[1])], layers);
    // the second time the guard must find nothing of the first
    for round in 0..2 {
        with_built(&bench, &stack, |_, journal, volumes, built| {
            let Place::Directory(dir) = built.ground.place().clone() else { panic!("a directory") };
            std::fs::write(dir.join("file"), vec![7; MIB]).unwrap();
            drop((journal, volumes));
        });
        for _ in 0..2 {
            undo_run(&bench.machine(&bench.state_dir(), &NoHooks), &bench.run)
                .unwrap_or_else(|error| panic!("{round}: {}", chain(&error)));
        }
        for id in IDS {
            let path = Path::new("/dev/disk/by-id").join(id);
            let probe = Command::new("blkid").arg("--probe").arg(&path).output().unwrap();
            assert_eq!(probe.status.code(), Some(2), "{id}: {}", String::from_utf8_lossy(&probe.stdout));
        }
    }
}
