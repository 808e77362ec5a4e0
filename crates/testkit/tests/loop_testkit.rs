//! Tests of the harness itself: what it creates shows in the machine's state, and disappears.

use diskproof_testkit::{LoopDevice, MachineState, Watch, cleanup, exclusive, fresh_dir, is_root};
use std::path::Path;

#[test]
fn loop_device_shows_and_goes() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let watch = Watch::default();
    let before = MachineState::capture(&watch);
    let device = LoopDevice::new(1 << 20, "shows");
    let during = MachineState::capture(&watch);
    assert!(
        before.diff(&during).contains(&format!("+ loop {}", device.path().to_string_lossy())),
        "{during:?}"
    );
    drop(device);
    assert_eq!(before.diff(&MachineState::capture(&watch)), "");
}

#[test]
fn loop_cleanup_takes_a_wreck_and_leaves_foreign_files() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let foreign = std::env::temp_dir().join("diskproof-not-a-test");
    std::fs::write(&foreign, "x").unwrap();
    let wreck = LoopDevice::new(1 << 20, "wreck");
    let path = wreck.backing().to_owned();
    let group = Path::new("/sys/fs/cgroup/blkio/diskproof-test-wreck");
    let grouped = std::fs::create_dir(group).is_ok();
    std::mem::forget(wreck);
    let forgotten = (1900..).find(|n| device::loop_control::add(Path::new("/dev"), *n).is_ok()).unwrap();
    let dir = fresh_dir("wreck-dir");
    cleanup();
    assert!(!path.exists() && !dir.exists() && foreign.exists());
    assert!(!Path::new(&format!("/sys/block/loop{forgotten}")).exists());
    assert!(!grouped || !group.exists());
    assert!(MachineState::capture(&Watch::default()).lines().is_empty());
    std::fs::remove_file(&foreign).unwrap();
}
