//! A lab guest as the machine of a run: started for the run with its own disks, and removed afterwards. Needs root, QEMU and the image.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "home/guest.rs"]
mod guest;

use guest::{command, prepared, program};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Two file systems in turn on the same disks; the guard would find leftovers of the first before the second. The script tunes the guest,
/// not this machine.
const GUEST: &str = "
experiment: guest
provision: [ { shell: tune.sh, args: [tuned] } ]
targets: { lab: { guest: diskproof-test-target, disks: { d1: { size: 160m, total_iops: 60 }, d2: { size: 160m, total_iops: 60 } } } }
volumes: { vol: { disks: [d1, d2] } }
stacks:
  raw: { on: \"vol[0]\" }
  raid0: { layers: [ { btrfs: { data: raid0, metadata: single, on: vol } } ] }
  ext4: { layers: [ { ext4: { on: \"vol[1]\" } } ] }
workloads: { randread: { rw: randread, bs: 4k, iodepth: 16, direct: 1, size: 8m } }
measure: { trial: 3s, ramp: 1s, rounds: 2 }
";

/// A disk that is removed while it is in use.
const PULLED: &str = "
experiment: pulled
parameters: { trial: { default: 100s, type: duration } }
targets: { lab: { guest: diskproof-test-target, disks: { d1: { size: 64m, total_iops: 50 } } } }
volumes: { vol: { disks: [d1] } }
stacks: { ext4: { layers: [ { ext4: { on: \"vol[0]\" } } ] } }
workloads: { randread: { rw: randread, bs: 4k, iodepth: 8, direct: 1, size: 16m } }
measure: { trial: trial, ramp: 1s, rounds: 1 }
";

/// A disk that the user attached to the guest before.
const OWN: &str = "
experiment: own
targets: { lab: { guest: diskproof-test-target, disks: { own: { size: 64m, iops: 80, changes: [ { after: 1s, iops: 10 } ] } } } }
volumes: { vol: { disks: [own] } }
stacks: { raw: { on: vol } }
workloads: { randread: { rw: randread, bs: 4k, size: 16m } }
measure: { trial: 2s, rounds: 1 }
";
const LIMIT: Duration = Duration::from_secs(300);

/// A script that changes only a file system in the guest's memory.
const TUNE: &str = "#!/bin/sh
uname -r
[ -e /run/$1 ] && { echo changed=0; exit; }
touch /run/$1
echo changed=1
";

#[test]
fn boots_for_a_run_that_has_the_guest_as_its_target() {
    let _alone = testkit::exclusive_guests();
    let dir = prepared("guest-target", "diskproof-test-target");
    std::fs::write(dir.join("e.yaml"), GUEST).unwrap();
    std::fs::write(dir.join("tune.sh"), TUNE).unwrap();
    a_killed_run_takes_the_guest_along_when_it_is_undone(&dir);
    let ran = command(&dir, &["run", "e.yaml", "--progress", "lines"]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let export = command(&dir, &["export", "latest", "--json"]);
    let export: Value = serde_json::from_slice(&export.stdout).unwrap();
    for cell in export["cells"].as_array().unwrap() {
        assert_eq!((&cell["target"], &cell["trials"]["done"]), (&"lab".into(), &2.into()), "{cell}");
        let iops = cell["metrics"]["iops"]["estimate"].as_f64().unwrap();
        let disks = if cell["stack"] == "raid0" { 2.0 } else { 1.0 };
        // QEMU's limits are exact; on a busy host the rate is only lower.
        assert!((16.0 * disks..=66.0 * disks).contains(&iops), "{iops} of {disks} disks");
    }
    let verified = &export["volumes"][0]["verified"][0];
    assert_eq!((&verified["limit"], &verified["asked"]), (&"total_iops".into(), &60.0.into()));
    let environment = &export["environment"];
    let kernel = environment["kernel"].as_str().unwrap();
    assert!(kernel.contains("cloud"), "the guest's own kernel");
    let runs = environment["provision"][0]["runs"].as_array().unwrap();
    let changed: Vec<_> = runs.iter().map(|run| run["changed"].as_u64()).collect();
    assert_eq!(changed, [Some(1), Some(0)], "{runs:?}");
    assert!(runs.iter().all(|run| run["stdout"].as_str().unwrap().contains(kernel)), "{runs:?}");
    assert!(!Path::new("/run/tuned").exists());
    let status = command(&dir, &["lab", "status", "--json"]);
    let left = String::from_utf8_lossy(&status.stdout).contains("diskproof-test-target");
    assert!(!left, "it was not up before, so it isn't up now");
    if !testkit::keep_wreck() {
        std::fs::remove_dir_all(dir).unwrap();
    }
}

/// Uses the commands that users type.
fn a_disk_of_the_users_is_there_again_after_a_reset(dir: &Path) {
    let lab = |args: &[&str]| {
        let (verb, rest) = args.split_first().unwrap();
        let done = command(dir, &[&["lab", verb, "--name", "diskproof-test-target"], rest].concat());
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    assert!(lab(&["up", "--disk", "own:size=64m,iops=80,written=yes"]).contains("virtio-own"));
    std::fs::write(dir.join("own.yaml"), OWN).unwrap();
    let refused = command(dir, &["run", "own.yaml"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && said.contains("only on disks that the run attaches"),
        "{said}"
    );
    lab(&["ssh", "--", "touch", "/root/here"]);
    lab(&["reset"]);
    let seen = lab(&["ssh", "--", "sh", "-c", "ls /root; ls /dev/disk/by-id"]);
    assert!(seen.contains("virtio-own") && !seen.contains("here"), "{seen}");
}

/// The guest wasn't up before the run.
fn a_killed_run_takes_the_guest_along_when_it_is_undone(dir: &Path) {
    let lab = lab::Lab::open(&testkit::state_dir(), "diskproof-test-target").unwrap();
    let mut run = program(dir, &["run", "e.yaml", "--quiet"]).stdout(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + LIMIT;
    while lab.status().unwrap().disks.len() < 2 {
        assert!(
            Instant::now() < end && run.try_wait().unwrap().is_none(),
            "the guest does not get its disks"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(lab.status().unwrap().state, lab::State::Up, "killed is killed");
    let undone = command(dir, &["undo"]);
    let said =
        String::from_utf8_lossy(&undone.stdout).into_owned() + &String::from_utf8_lossy(&undone.stderr);
    assert!(undone.status.success() && said.contains("a killed run had started it"), "{said}");
    assert_eq!(lab.status().unwrap().state, lab::State::Down, "{said}");
    assert_eq!(command(dir, &["undo"]).stdout, b"nothing\n");
}

/// Starts a run and waits until its trial reads.
fn begun(dir: &Path, trial: &str, says: &dyn Fn(&str) -> Result<String, lab::LabError>) -> Child {
    let mut run = program(dir, &["run", "e.yaml", "--set", &format!("trial={trial}"), "--progress", "lines"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Only the trial reads, since its file was written before.
    let reads = "[ -n \"$(findmnt --noheadings --type ext4 --source /dev/disk/by-id/virtio-d1)\" ] && \
        awk '{ print $1 }' /sys/block/$(basename $(readlink -f /dev/disk/by-id/virtio-d1))/stat";
    let count = || says(reads).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let end = Instant::now() + LIMIT;
    let mut mounted = None;
    loop {
        let now = count();
        mounted = mounted.or(now);
        if now.zip(mounted).is_some_and(|(now, mounted)| now >= mounted + 100) {
            return run;
        }
        if run.try_wait().unwrap().is_some() {
            let ran = run.wait_with_output().unwrap();
            panic!(
                "it ended: {}{}",
                String::from_utf8_lossy(&ran.stdout),
                String::from_utf8_lossy(&ran.stderr)
            );
        }
        assert!(Instant::now() < end, "the trial does not begin");
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn boots_and_a_disk_is_pulled_out_while_it_is_read() {
    let _alone = testkit::exclusive_guests();
    let dir = prepared("pulled", "diskproof-test-target");
    std::fs::write(dir.join("e.yaml"), PULLED).unwrap();
    let lab = lab::Lab::open(&testkit::state_dir(), "diskproof-test-target").unwrap();
    lab.ensure_up(&lab::Shape::default(), &|_| ()).unwrap();
    let says = |script: &str| lab.run(&["sh", "-c", script], LIMIT).map(|output| output.stdout);
    let run = begun(&dir, "100s", &says);
    lab.detach("d1").unwrap();
    let ran = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    // What was written on it could not be removed, so the undo failed.
    assert_eq!(ran.status.code(), Some(4), "{said}");
    assert!(said.contains("is out of reach") && said.contains("--give-up"), "{said}");
    let id = said.split_whitespace().find_map(|word| {
        word.strip_suffix(':').filter(|word| word.len() == 20 && word.starts_with("20")).map(str::to_owned)
    });
    let given_up = command(&dir, &["undo", &id.unwrap(), "--give-up", "d1"]);
    let said = String::from_utf8_lossy(&given_up.stdout).into_owned()
        + &String::from_utf8_lossy(&given_up.stderr)
        + &said;
    assert!(given_up.status.success(), "{said}");
    let left = "findmnt --noheadings --list | grep diskproof; cat /var/lib/diskproof/journal/* 2>/dev/null; udevadm settle; \
        ls /dev/disk/by-id | grep d1; true";
    assert_eq!(says(left).unwrap(), "", "{said}");
    // The guest is the user's and stays; only the killed run's disks are removed.
    let mut run = begun(&dir, "100s", &says);
    run.kill().unwrap();
    run.wait().unwrap();
    let undone = command(&dir, &["undo"]);
    let said =
        String::from_utf8_lossy(&undone.stdout).into_owned() + &String::from_utf8_lossy(&undone.stderr);
    assert!(undone.status.success() && said.contains("d1 detached again"), "{said}");
    assert_eq!(says(left).unwrap(), "", "{said}");
    let status = lab.status().unwrap();
    assert_eq!((status.state, status.disks.len()), (lab::State::Up, 0), "{said}");
    let run = begun(&dir, "12s", &says);
    let limited = command(&dir, &["lab", "limit", "d1", "total_iops=20", "--name", "diskproof-test-target"]);
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stderr));
    let ran = run.wait_with_output().unwrap();
    // Line breaks don't matter.
    let said = String::from_utf8_lossy(&ran.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        ran.status.success() && said.contains("while it was measured: total_iops from 50 to 20."),
        "{said}"
    );
    a_disk_of_the_users_is_there_again_after_a_reset(&dir);
    lab.down().unwrap();
    if !testkit::keep_wreck() {
        std::fs::remove_dir_all(dir).unwrap();
    }
}
