//! A run on a machine that the driver `lab` creates: a guest with two disks. Needs root, QEMU and the image.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const CREATED: &str = "
experiment: created
targets: { one: { driver: lab, volumes: { gp: { size: 160m, iops: 60, count: 2 } } } }
stacks:
  raw: { on: \"gp[0]\" }
  raid0: { layers: [ { btrfs: { data: raid0, metadata: single, on: gp } } ] }
workloads: { randread: { rw: randread, bs: 4k, iodepth: 16, direct: 1, size: 8m } }
measure: { trial: 3s, ramp: 1s, rounds: 2 }
";

fn program(dir: &Path, args: &[&str]) -> Command {
    let mut program = testkit::program(dir.join("diskproof"), dir, args);
    program.env("DISKPROOF_STATE", testkit::state_dir());
    program
}

fn command(dir: &Path, args: &[&str]) -> Output {
    program(dir, args).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What the driver has of this test's claims: none before, none after.
fn leftovers(dir: &Path) -> Vec<Value> {
    let said = command(dir, &["machines", "leftovers", "--json"]);
    serde_json::from_slice::<Value>(&said.stdout).unwrap().as_array().cloned().unwrap()
}

#[test]
fn boots_a_created_guest_with_its_disks_for_a_run_and_destroys_it() {
    let _alone = testkit::exclusive_guests();
    let dir = testkit::fresh_dir("guest-created");
    testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
    std::fs::create_dir_all(dir.join(".config/diskproof")).unwrap();
    std::fs::write(dir.join(".config/diskproof/drivers.yaml"), "lab: {}\n").unwrap();
    std::fs::write(dir.join("e.yaml"), CREATED).unwrap();
    // What an earlier, broken test left.
    command(&dir, &["undo", "--all"]);
    assert_eq!(leftovers(&dir), Vec::<Value>::new());

    // Killed while the guest is made.
    let mut killed =
        program(&dir, &["run", "e.yaml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(120);
    while leftovers(&dir).is_empty() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let undone = command(&dir, &["undo"]);
    assert!(
        undone.status.success() && text(&undone).contains("driver lab destroyed one"),
        "{}",
        text(&undone)
    );
    assert_eq!(leftovers(&dir), Vec::<Value>::new());

    let ran = command(&dir, &["run", "e.yaml", "--progress", "lines"]);
    assert!(ran.status.success(), "{}", text(&ran));
    let export = command(&dir, &["export", "latest", "--json"]);
    let export: Value = serde_json::from_slice(&export.stdout).unwrap();
    let cells = export["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert_eq!((&cell["target"], &cell["trials"]["done"]), (&"one".into(), &2.into()), "{cell}");
        let iops = cell["metrics"]["iops"]["estimate"].as_f64().unwrap();
        let disks = if cell["stack"] == "raid0" { 2.0 } else { 1.0 };
        // QEMU's limits are exact; on a busy host the rate is only lower.
        assert!((16.0 * disks..=66.0 * disks).contains(&iops), "{iops} of {disks} disks");
        // The chain goes on below the created volumes: the file, and the host's devices under its file system, if it has any.
        let leaves = cell["leaves"].to_string();
        assert!(leaves.contains("disk of a guest, a file on"), "{cell}");
        let has_device =
            observe::topology(&observe::Roots::default(), &[], Some(&dir)).direct().next().is_some();
        assert!(leaves.contains("\"host:") == has_device, "{leaves}");
    }
    assert!(export["environment"]["kernel"].as_str().unwrap().contains("cloud"), "the guest's own kernel");
    assert_eq!(leftovers(&dir), Vec::<Value>::new());
    if !testkit::keep_wreck() {
        std::fs::remove_dir_all(dir).unwrap();
    }
}
