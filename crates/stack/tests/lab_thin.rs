//! Thin pools, in a kernel that has dm-thin: built, loaded, taken down; at every moment a step fails or the process is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use device::Place;
use diskproof_stack::{Journal, NoHooks, Volumes, build, undo_run};
use record::lvm::{Lvm, LvmLayout, Thin};
use record::stack::{Layer, Rebuild, Stack};
use record::volume::Limits;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::AtomicBool;
use support::{
    Bench, Fault, Hook, KEPT, Matrix, Scenario, asked_for_all, chain, emulated, in_pool, is_thin_as_asked,
    limits, of_today, rate, stands_and_falls, thin, thin_pools,
};
use testkit::{exclusive, is_root};

const MIB: u64 = 1 << 20;

/// The first alone performs every act, and with `DISKPROOF_TEST_FAULTS=all` all are tried: a guest is slow.
const THIN: Matrix = Matrix {
    scenarios: |_| {
        let all = thin_pools();
        let tried = if asked_for_all() { all.len() } else { 1 };
        all.into_iter().take(tried).collect()
    },
    child: "lab_thin_child_that_dies",
    acts: &["make_group", "change_group"],
    is_slow: true,
};
/// What the matrix of one must at least hold.
const FEWEST_FAULTS: usize = 10;

#[test]
fn lab_thin_any_step_may_fail() {
    THIN.run(Fault::Fail, FEWEST_FAULTS);
}

#[test]
fn lab_thin_any_moment_may_be_the_last() {
    THIN.run(Fault::Kill, FEWEST_FAULTS);
}

/// Also while lvcreate runs, which then outlives us for a moment.
#[test]
fn lab_thin_any_instant_may_be_the_last() {
    THIN.kill_at_instants(&["thin-ext4"], 4);
}

/// Not a test by itself: the process that is killed. Does nothing when run with the others.
#[test]
fn lab_thin_child_that_dies() {
    THIN.die_if_told();
}

/// Each of today once, without faults.
#[test]
fn lab_thin_every_stack_stands_and_falls() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    stands_and_falls(|_| of_today(thin_pools()), is_thin_as_asked);
}

fn scenario(layer: Lvm) -> Scenario {
    Scenario {
        name: "thin",
        volumes: emulated(1, 48, Limits::default()),
        beside: Vec::new(),
        layers: vec![Layer::Lvm(layer)],
    }
}

/// A pool that could get full is refused when its size is known, and nothing stays.
#[test]
fn lab_thin_a_pool_that_could_get_full_is_refused() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("thin-full");
    let before = bench.state();
    let over = Thin { virtual_bytes: Some(64 * MIB), ..thin(None, true) };
    let error = scenario(in_pool(LvmLayout::Linear, over)).whole(&bench, &Hook::count()).unwrap_err();
    let said = chain(&*error);
    assert!(said.contains("a thin volume of 64 MiB could fill its pool of 36 MiB"), "{said}");
    undo_run(&bench.machine(&bench.state_dir(), &NoHooks), &bench.run).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

/// What the pool does for a new chunk escapes the limits: the load makes as many writes as the limit allows, though each of its first
/// writes fills 64 KiB with zeros. Later ones hold to the limits as well.
#[test]
fn lab_thin_the_limits_of_a_volume_hold_for_what_the_load_asks() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("thin-limits");
    let (before, state_dir) = (bench.state(), bench.state_dir());
    let hook = Hook::count();
    let machine = bench.machine(&state_dir, &hook);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let layers = vec![Layer::Lvm(in_pool(LvmLayout::Linear, thin(Some(64 << 10), true)))];
    let volumes = emulated(1, 48, limits());
    let stack =
        Stack { name: "thin".to_owned(), volumes, beside: Vec::new(), layers, rebuild: Rebuild::Trial };
    let never = AtomicBool::new(false);
    let volumes = Volumes::provide(&machine, &mut journal, &stack.volumes, &mut |_, _| {}, &never).unwrap();
    let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
    let Place::Block(node) = built.ground.place().clone() else { panic!("a block device") };
    let procs = volumes.throttle().unwrap().cgroup_procs;
    for (pass, rw) in [("first", "randwrite"), ("second", "randwrite"), ("second", "randread")] {
        let rate = rate(&procs, &node, rw, "16m");
        eprintln!("{pass} {rw}: {rate} a second");
        assert!(KEPT.contains(&rate), "{pass} {rw}: {rate} a second, expected {KEPT:?}");
    }
    built.undo(&machine, &mut journal).unwrap();
    drop(volumes);
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

/// Every block of a thin volume as large as its pool has room, in small pieces at places all over it.
#[test]
fn lab_thin_a_volume_that_is_written_in_full_does_not_fill_its_pool() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("thin-whole");
    let (before, state_dir) = (bench.state(), bench.state_dir());
    let hook = Hook::count();
    let machine = bench.machine(&state_dir, &hook);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let scenario = scenario(in_pool(LvmLayout::Linear, thin(Some(64 << 10), true)));
    let (volumes, layers) = (scenario.volumes, scenario.layers);
    let stack =
        Stack { name: "thin".to_owned(), volumes, beside: Vec::new(), layers, rebuild: Rebuild::Trial };
    let never = AtomicBool::new(false);
    let volumes = Volumes::provide(&machine, &mut journal, &stack.volumes, &mut |_, _| {}, &never).unwrap();
    let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
    let Place::Block(node) = built.ground.place().clone() else { panic!("a block device") };
    let file = std::fs::File::options().read(true).write(true).open(&node).unwrap();
    let (chunk, count) = (64_u64 << 10, 36 * MIB / (64 << 10));
    let page = [0xA5_u8; 4096];
    // 7 and the count have no common factor
    for at in (0..count).map(|n| n * 7 % count * chunk + 8192) {
        file.write_all_at(&page, at).unwrap();
    }
    file.sync_all().unwrap();
    let mut first = [1_u8; 4096];
    file.read_exact_at(&mut first, 0).unwrap();
    assert_eq!(first, [0; 4096], "the rest of a chunk is zeros");
    drop(file);
    built.undo(&machine, &mut journal).unwrap();
    drop(volumes);
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}
