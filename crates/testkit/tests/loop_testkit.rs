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

/// A loop device is removed between another program's look-up of its node and that program's open: the kernel makes the device anew, without
/// a file. Its counters show that it isn't the device that was used.
#[test]
fn loop_late_look_makes_an_empty_device() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let dev = Path::new("/dev");
    let number = (1900..).find(|n| device::loop_control::add(dev, *n).is_ok()).unwrap();
    let (node, dir) = (dev.join(format!("loop{number}")), format!("/sys/block/loop{number}"));
    let is_unused = || {
        let counters = std::fs::read_to_string(format!("{dir}/stat")).unwrap();
        counters.split_whitespace().all(|counter| counter == "0")
    };
    let mode = rustix::fs::Mode::empty();
    let looked_up = rustix::fs::open(&node, rustix::fs::OFlags::PATH, mode).unwrap();
    let file = std::env::temp_dir().join("diskproof-test-late-look");
    std::fs::write(&file, vec![0; 1 << 20]).unwrap();
    let losetup = |words: &[&std::ffi::OsStr]| {
        assert!(std::process::Command::new("losetup").args(words).status().unwrap().success());
    };
    losetup(&[node.as_os_str(), file.as_os_str()]);
    std::fs::write(&node, vec![1; 1 << 20]).unwrap();
    losetup(&["-d".as_ref(), node.as_os_str()]);
    std::fs::remove_file(&file).unwrap();
    assert!(!is_unused(), "a device that was used shows it after its file is gone");
    // Another program may have it open for a moment.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while let Err(error) = device::loop_control::remove(dev, number) {
        assert!(std::time::Instant::now() < until, "{error}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!Path::new(&dir).exists());

    let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&looked_up));
    if std::fs::File::open(again).is_err() {
        eprintln!("skipped: this kernel makes no device by an open (CONFIG_BLOCK_LEGACY_AUTOLOAD)");
        return;
    }
    let is_new =
        Path::new(&dir).exists() && is_unused() && !Path::new(&dir).join("loop/backing_file").exists();
    let removed = device::loop_control::remove(dev, number);
    assert!(is_new, "the device is there again, empty and never used");
    removed.unwrap();
}
