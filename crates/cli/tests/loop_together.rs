//! One workload from three machines at the same time, on a directory that all of them have. The machines share this kernel. Whether they ran together is asserted by what the run recorded, not by the test's clock.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testkit::{KernelMate, LoopDevice};

const MACHINES: [&str; 3] = ["a", "b", "c"];

const SHARED: &str = "
experiment: together
targets: { a: { ssh: a }, b: { ssh: b }, c: { ssh: c } }
volumes: { share: { directory: MOUNT } }
stacks: { share: { on: share } }
workloads: { read: { engine: ENGINE, rw: randread, bs: 4k, iodepth: 4, direct: 1, size: 8m, rate_iops: 300, on: [a, b, c] } }
measure: { trial: TRIAL, ramp: 500ms, rounds: 1 }
";

/// Delays the start message by two seconds, as a very slow connection would.
const LATE: &str = r#"#!/bin/bash
case "$SSH_ORIGINAL_COMMAND" in
*node*)
    while IFS= read -r line; do
        case "$line" in *'"request":"start"'*) sleep 2.6 ;; esac
        printf '%s\n' "$line"
    done | sh -c "$SSH_ORIGINAL_COMMAND" ;;
*) exec sh -c "$SSH_ORIGINAL_COMMAND" ;;
esac
"#;

/// Loses the connection a second after the start.
const CUT: &str = r#"#!/bin/bash
case "$SSH_ORIGINAL_COMMAND" in
*node*)
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case "$line" in *'"request":"start"'*) sleep 1; exit ;; esac
    done | sh -c "$SSH_ORIGINAL_COMMAND" ;;
*) exec sh -c "$SSH_ORIGINAL_COMMAND" ;;
esac
"#;

/// Has another directory where the other machines have the shared one.
const ELSEWHERE: &str = r#"#!/bin/bash
case "$SSH_ORIGINAL_COMMAND" in
*node*) exec unshare --mount sh -c "mount --bind DIR/c/own DIR/share && $SSH_ORIGINAL_COMMAND" ;;
*) exec sh -c "$SSH_ORIGINAL_COMMAND" ;;
esac
"#;

/// Three machines and the file system that they share.
struct Site {
    dir: PathBuf,
    mount: PathBuf,
    machines: Vec<KernelMate>,
    _disk: LoopDevice,
    _alone: testkit::Exclusive,
}

impl Site {
    /// `command`: a script that machine `c` runs in place of each command. Without root, prints a message and returns `None`.
    fn new(name: &str, command: Option<&str>) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("together-{name}"));
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let disk = LoopDevice::new(700 << 20, &format!("together-{name}"));
        let mount = dir.join("share");
        fs::create_dir(&mount).unwrap();
        tool("mkfs.ext4", &["-q".as_ref(), disk.path()]);
        // Before the machines start: afterwards they would not see it.
        tool("mount", &[disk.path(), &mount]);
        let mut machines = KernelMate::several(&dir, &MACHINES);
        let _config = KernelMate::client(&dir, &machines, &[]);
        if let Some(command) = command {
            let (script, sshd) = (dir.join("c/command.sh"), machines[2].sshd());
            fs::write(&script, command.replace("DIR", &dir.to_string_lossy())).unwrap();
            tool("chmod", &["755".as_ref(), &script]);
            sshd.halt();
            let mut config = fs::OpenOptions::new().append(true).open(dir.join("c/sshd_config")).unwrap();
            writeln!(config, "ForceCommand {}", script.to_string_lossy()).unwrap();
            sshd.go_on();
        }
        Some(Self { dir, mount, machines, _disk: disk, _alone: alone })
    }

    /// What is left of the run: on the shared file system, and on each machine.
    fn left(&self) -> Vec<PathBuf> {
        let shared = fs::read_dir(&self.mount).unwrap().flatten().map(|entry| entry.path());
        let own = self.machines.iter().flat_map(KernelMate::left);
        shared.filter(|path| !path.ends_with("lost+found")).chain(own).collect()
    }

    fn experiment(&self, engine: &str, trial: &str) {
        let mount = self.mount.to_string_lossy();
        let text = SHARED.replace("MOUNT", &mount).replace("ENGINE", engine).replace("TRIAL", trial);
        fs::write(self.dir.join("e.yaml"), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        command.env("DISKPROOF_STATE", self.dir.join("here"));
        command.env("DISKPROOF_SSH_CONFIG", self.dir.join("ssh_config"));
        command.output().unwrap()
    }

    fn measured(&self) -> Value {
        let ran = self.run(&["run", "e.yaml"]);
        assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
        serde_json::from_slice(&self.run(&["export", "latest", "--json"]).stdout).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.machines.clear();
        tool("umount", &[&self.mount]);
        if !testkit::keep_wreck() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

fn tool(program: &str, args: &[&Path]) {
    assert!(Command::new(program).args(args).status().unwrap().success(), "{program} {args:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn claims(export: &Value) -> Vec<&str> {
    export["findings"].as_array().unwrap().iter().map(|f| f["claim"].as_str().unwrap()).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// What the run says about the cell fits together: the cell's rate is the sum of its machines' rates, and the times are possible.
fn consistent(export: &Value) {
    let cell = &export["cells"][0];
    let together = &cell["together"];
    let machines = together["machines"].as_array().unwrap();
    let names: Vec<&str> = machines.iter().map(|m| m["target"].as_str().unwrap()).collect();
    assert_eq!(names, MACHINES);
    let rates: Vec<f64> =
        machines.iter().map(|m| m["metrics"]["iops"]["estimate"].as_f64().unwrap()).collect();
    let total = cell["metrics"]["iops"]["estimate"].as_f64().unwrap();
    assert!(close(total, rates.iter().sum()), "{total} is not the sum of {rates:?}");
    let overlap = together["overlap"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&overlap), "{overlap}");
    assert!(together["start_spread_seconds"].as_f64().unwrap() >= 0.0);
    let uncertain = together["uncertain_seconds"].as_f64().unwrap();
    assert!(uncertain > 0.0 && uncertain < 1.0, "over loopback: {uncertain}");
    let squares: f64 = rates.iter().map(|x| x * x).sum();
    let jain = rates.iter().sum::<f64>().powi(2) / (3.0 * squares);
    assert!(close(together["jain"].as_f64().unwrap(), jain));
}

#[test]
fn loop_three_machines_load_one_directory_at_the_same_time() {
    let Some(site) = Site::new("three", None) else { return };
    for engine in ["native", "fio"] {
        site.experiment(engine, "4s");
        let plan = text(&site.run(&["plan", "e.yaml"]).stdout);
        assert!(plan.contains("a, b, c at the same time"), "{plan}");
        let export = site.measured();
        consistent(&export);
        assert!(!claims(&export).contains(&"trials_failed"), "{:?}", claims(&export));
        let shown = text(&site.run(&["show", "latest"]).stdout);
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("3 machines ran together in") && words.contains("is the slowest"), "{shown}");
        eprintln!("{engine}:\n{shown}");
        // The finding is there exactly when the recorded times are below its bound.
        let together = &export["cells"][0]["together"];
        let least = together["overlap"].as_f64().unwrap();
        if least < 0.95 {
            assert!(claims(&export).contains(&"not_simultaneous"), "{least}");
        }
        if least > 0.99 {
            assert!(!claims(&export).contains(&"not_simultaneous"), "{least}");
        }
    }
    assert_eq!(site.left(), Vec::<PathBuf>::new(), "each machine removed its own folder");
}

#[test]
fn loop_a_machine_that_starts_late_is_named() {
    let Some(site) = Site::new("late", Some(LATE)) else { return };
    site.experiment("native", "4s");
    let export = site.measured();
    consistent(&export);
    let finding = export["findings"].as_array().unwrap().iter().find(|f| f["claim"] == "not_simultaneous");
    let finding = finding.unwrap_or_else(|| panic!("{:?}", export["findings"]));
    let said = finding["text"].as_str().unwrap();
    let spread = finding["evidence"]["start_spread_seconds"].as_f64().unwrap();
    assert!(spread >= 1.9, "{finding}");
    let told = said.split_once("c began ").and_then(|(_, rest)| rest.split_once(" s after the first"));
    let told: f64 = told.unwrap_or_else(|| panic!("{said}")).0.parse().unwrap();
    assert!((told / spread - 1.0).abs() < 0.01, "{spread}: {said}");
}

/// `c` has another directory under the same path.
#[test]
fn loop_directories_that_are_not_shared_are_refused() {
    let Some(site) = Site::new("apart", Some(ELSEWHERE)) else { return };
    fs::create_dir(site.dir.join("c/own")).unwrap();
    site.experiment("native", "1s");
    let ran = site.run(&["run", "e.yaml"]);
    let said = text(&ran.stdout) + &text(&ran.stderr);
    assert!(!ran.status.success() && said.contains("`share` is not shared"), "{said}");
    assert_eq!(site.left(), Vec::<PathBuf>::new());
}

/// The trial would take 50 s. Its record names the machine that was lost, and nothing is left on any machine.
#[test]
fn loop_a_machine_that_is_lost_under_load_ends_the_others() {
    let Some(site) = Site::new("cut", Some(CUT)) else { return };
    site.experiment("native", "50s");
    let ran = site.run(&["run", "e.yaml"]);
    let said = text(&ran.stdout) + &text(&ran.stderr);
    assert!(
        !ran.status.success()
            && said.contains("machine c is lost, and its trial")
            && said.contains("was cut off"),
        "{said}"
    );
    let export: Value = serde_json::from_slice(&site.run(&["export", "latest", "--json"]).stdout).unwrap();
    assert_eq!(export["cells"][0]["trials"]["failed"], 1, "the trial is kept: {export}");
    let failed =
        export["findings"].as_array().unwrap().iter().find(|f| f["claim"] == "trials_failed").unwrap();
    let why = failed["text"].as_str().unwrap();
    assert!(why.contains("machine c") && !why.contains("machine a"), "{why}");
    assert_eq!(site.left(), Vec::<PathBuf>::new());
}
