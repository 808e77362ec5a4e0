//! Encrypted devices, in a kernel that has dm-crypt: built, loaded, taken down; at every moment a step fails or the process is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{Journal, NoHooks, Volumes, build, undo_run};
use record::stack::{FsKind, Layer, Rebuild, Stack};
use record::volume::Limits;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use support::{
    Bench, Fault, Hook, KEPT, Matrix, Scenario, asked_for_all, chain, emulated, encrypted,
    is_encrypted_as_asked, limits, luks, of_today, rate, simple, stands_and_falls,
};
use testkit::{exclusive, is_root};

/// The first alone performs both acts, and with `DISKPROOF_TEST_FAULTS=all` all are tried: a guest is slow.
const LUKS: Matrix = Matrix {
    scenarios: |_| {
        let all = encrypted();
        let tried = if asked_for_all() { all.len() } else { 1 };
        all.into_iter().take(tried).collect()
    },
    child: "lab_luks_child_that_dies",
    acts: &["format_luks", "open_luks"],
    is_slow: true,
};
/// What the matrix of one must at least hold.
const FEWEST_FAULTS: usize = 10;

#[test]
fn lab_luks_any_step_may_fail() {
    LUKS.run(Fault::Fail, FEWEST_FAULTS);
}

#[test]
fn lab_luks_any_moment_may_be_the_last() {
    LUKS.run(Fault::Kill, FEWEST_FAULTS);
}

/// Also while cryptsetup runs, which then outlives us for a moment.
#[test]
fn lab_luks_any_instant_may_be_the_last() {
    LUKS.kill_at_instants(&["luks-ext4"], 4);
}

/// Not a test by itself: the process that is killed. Does nothing when run with the others.
#[test]
fn lab_luks_child_that_dies() {
    LUKS.die_if_told();
}

/// Each of today once, without faults.
#[test]
fn lab_luks_every_stack_stands_and_falls() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    stands_and_falls(|_| of_today(encrypted()), is_encrypted_as_asked);
}

fn stack(layers: Vec<Layer>) -> Stack {
    let volumes = emulated(1, 48, Limits::default());
    Stack { name: "crypt".to_owned(), volumes, beside: Vec::new(), layers, rebuild: Rebuild::Trial }
}

/// The kernel charges what dm-crypt's threads do to who asked for it.
#[test]
fn lab_luks_the_limits_of_a_volume_hold_below_it() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("luks-limits");
    let (before, state_dir) = (bench.state(), bench.state_dir());
    let hook = Hook::count();
    let machine = bench.machine(&state_dir, &hook);
    for no_workqueues in [false, true] {
        let mut journal = Journal::open(&machine, &bench.run).unwrap();
        let layer = Layer::Luks(luks(4096, no_workqueues));
        let stack = Stack { volumes: emulated(1, 48, limits()), ..stack(vec![layer]) };
        let never = AtomicBool::new(false);
        let volumes =
            Volumes::provide(&machine, &mut journal, &stack.volumes, &mut |_, _| {}, &never).unwrap();
        let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
        let device::Place::Block(node) = built.ground.place().clone() else { panic!("a block device") };
        let procs = volumes.throttle().unwrap().cgroup_procs;
        for rw in ["randread", "randwrite"] {
            let rate = rate(&procs, &node, rw, "16m");
            eprintln!("{rw}, without workqueues {no_workqueues}: {rate} a second");
            assert!(KEPT.contains(&rate), "{rw}: {rate} a second, expected {KEPT:?}");
        }
        built.undo(&machine, &mut journal).unwrap();
        drop(volumes);
        journal.undo_all(&machine).unwrap();
    }
    assert_eq!(before.diff(&bench.state()), "");
}

/// A mapping that somebody uses stays, in the journal too, and goes when it is free.
#[test]
fn lab_luks_a_mapping_in_use_is_busy_and_then_goes() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("luks-busy");
    let (before, state_dir) = (bench.state(), bench.state_dir());
    let hook = Hook::count();
    let machine = bench.machine(&state_dir, &hook);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let stack = stack(vec![Layer::Luks(luks(4096, true))]);
    let never = AtomicBool::new(false);
    let volumes = Volumes::provide(&machine, &mut journal, &stack.volumes, &mut |_, _| {}, &never).unwrap();
    let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
    let device::Place::Block(node) = built.ground.place().clone() else { panic!("a block device") };
    let user = std::fs::File::open(&node).unwrap();
    let error = built.undo(&machine, &mut journal).unwrap_err();
    assert!(chain(&error).contains("busy") && chain(&error).contains("held by"), "{}", chain(&error));
    assert!(node.exists());
    drop(user);
    drop(volumes);
    drop(journal);
    for _ in 0..2 {
        undo_run(&bench.machine(&state_dir, &NoHooks), &bench.run).unwrap();
        assert_eq!(before.diff(&bench.state()), "");
    }
}

/// What the kernel can't do is said with cryptsetup's own words, and nothing stays.
#[test]
fn lab_luks_a_cipher_that_nobody_has_is_refused() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let bench = Bench::new("luks-cipher");
    let _alone = exclusive();
    let before = bench.state();
    let mut layer = luks(512, false);
    layer.cipher = "rot13-xts-plain64".to_owned();
    let scenario = Scenario {
        name: "luks-cipher",
        volumes: emulated(1, 48, Limits::default()),
        beside: Vec::new(),
        layers: vec![Layer::Luks(layer), simple(FsKind::Ext4)],
    };
    let error = scenario.whole(&bench, &Hook::count()).unwrap_err();
    let said = chain(&*error);
    assert!(said.contains("write the LUKS2 header") && said.contains("rot13"), "{said}");
    undo_run(&bench.machine(&bench.state_dir(), &NoHooks), &bench.run).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

/// The header has two copies; the guard would refuse a disk for either.
#[test]
fn lab_luks_wipefs_takes_both_headers() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let dir = testkit::fresh_dir("luks-headers");
    let disk = dir.join("disk");
    std::fs::File::create(&disk).unwrap().set_len(48 << 20).unwrap();
    let key = dir.join("key");
    std::fs::write(&key, "nobody's").unwrap();
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).arg(&disk).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let key = key.to_str().unwrap();
    let pbkdf = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--key-file", key];
    run("cryptsetup", &[&["luksFormat", "--type", "luks2", "--batch-mode"], pbkdf.as_slice()].concat());
    let headers = || {
        let bytes = std::fs::read(&disk).unwrap();
        [(0, b"LUKS\xba\xbe"), (0x4000, b"SKUL\xba\xbe")].map(|(at, magic)| bytes[at..at + 6] == *magic)
    };
    assert_eq!(headers(), [true, true]);
    run("wipefs", &["--all"]);
    assert_eq!(headers(), [false, false]);
}
