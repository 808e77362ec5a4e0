//! A lab guest as a target: brought up for the run, with disks of its own, and gone afterwards. Needs root, QEMU and the image.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Two file systems in turn on the same disks: what one leaves, the guard would find before the other.
const GUEST: &str = "
experiment: guest
targets: { lab: { guest: diskproof-test-target, disks: { d1: { size: 160m, total_iops: 30 }, d2: { size: 160m, total_iops: 30 } } } }
volumes: { vol: { disks: [d1, d2] } }
stacks:
  raw: { on: \"vol[0]\" }
  raid0: { layers: [ { btrfs: { data: raid0, metadata: single, on: vol } } ] }
  ext4: { layers: [ { ext4: { on: \"vol[1]\" } } ] }
workloads: { randread: { rw: randread, bs: 4k, iodepth: 16, direct: 1, size: 32m } }
measure: { trial: 3s, ramp: 1s, rounds: 2 }
";

fn command(dir: &Path, args: &[&str]) -> Output {
    let state = std::env::var_os("DISKPROOF_STATE")
        .map_or_else(|| PathBuf::from("/var/lib/diskproof"), PathBuf::from);
    Command::new(dir.join("diskproof"))
        .args(args)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", dir)
        .env("DISKPROOF_STATE", state)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn boots_for_a_run_that_has_the_guest_as_its_target() {
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("guest-target");
    // What is copied into the guest is large enough without its debug information.
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(dir.join("diskproof"))
        .arg(assert_cmd::cargo::cargo_bin("diskproof"))
        .status()
        .expect("strip");
    assert!(stripped.success());
    command(&dir, &["lab", "down", "--name", "diskproof-test-target"]);
    std::fs::write(dir.join("e.yaml"), GUEST).unwrap();
    let ran = command(&dir, &["run", "e.yaml", "--progress", "lines"]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let export = command(&dir, &["export", "latest", "--json"]);
    let export: Value = serde_json::from_slice(&export.stdout).unwrap();
    for cell in export["cells"].as_array().unwrap() {
        assert_eq!((&cell["target"], &cell["trials"]["done"]), (&"lab".into(), &2.into()), "{cell}");
        let iops = cell["metrics"]["iops"]["estimate"].as_f64().unwrap();
        let disks = if cell["stack"] == "raid0" { 2.0 } else { 1.0 };
        // QEMU keeps its limits exactly; a busy host can only make it less.
        assert!((8.0 * disks..=33.0 * disks).contains(&iops), "{iops} of {disks} disks");
    }
    let verified = &export["volumes"][0]["verified"][0];
    assert_eq!((&verified["limit"], &verified["asked"]), (&"total_iops".into(), &30.0.into()));
    assert!(export["environment"]["kernel"].as_str().unwrap().contains("cloud"), "the guest's own kernel");
    let status = command(&dir, &["lab", "status", "--json"]);
    let left = String::from_utf8_lossy(&status.stdout).contains("diskproof-test-target");
    assert!(!left, "it was not up before, so it isn't up now");
    if !testkit::keep_wreck() {
        std::fs::remove_dir_all(dir).unwrap();
    }
}
