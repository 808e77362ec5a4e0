//! Provisioning in an existing directory, without root. The scripts change only files in the test's own folder.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const EXPERIMENT: &str = "
experiment: tuned
parameters: { depth: 64, script: tune.sh }
provision: [ { shell: script, args: [HOME, depth] } ]
volumes: { lent: { directory: data } }
stacks: { lent: {} }
workloads: { read: { rw: randread, size: 1m } }
measure: { trial: 500ms, ramp: 0s, rounds: 1 }
";

/// A script that changes something only if needed.
const TUNE: &str = "#!/bin/sh
echo run >> $1/runs
[ \"$(cat $1/depth 2>/dev/null)\" = $2 ] && { echo changed=0; exit; }
echo $2 > $1/depth
echo tuned to $2
echo changed=1
";

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.path().join("data")).unwrap();
        home.write("tune.sh", TUNE);
        home.write("e.yaml", &EXPERIMENT.replace("HOME", &home.path().to_string_lossy()));
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("diskproof"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("DISKPROOF_STATE", self.path().join("state"))
            .env("DISKPROOF_PROGRESS", "lines")
            .current_dir(self.path());
        command
    }

    fn diskproof(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs the experiment successfully and returns its JSON document.
    fn run(&self, args: &[&str]) -> Value {
        let output = self.diskproof(&[&["run", "e.yaml"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        self.latest()
    }

    fn latest(&self) -> Value {
        serde_json::from_slice(&self.diskproof(&["export", "latest", "--json"]).stdout).unwrap()
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.path().join("runs")).map_or(0, |text| text.lines().count())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn step(document: &Value) -> &Value {
    &document["environment"]["provision"][0]
}

#[test]
fn it_comes_before_all_is_in_the_record_and_left_out_while_nothing_changes() {
    let home = Home::new();
    let plan = text(&home.diskproof(&["plan", "e.yaml"]).stdout);
    assert!(plan.contains("Provisioning, before anything is built") && plan.contains("runs twice"), "{plan}");
    assert_eq!(home.runs(), 0);

    let first = home.run(&[]);
    let runs = &step(&first)["runs"];
    assert_eq!((&runs[0]["stdout"], &runs[0]["changed"]), (&"tuned to 64\nchanged=1\n".into(), &1.into()));
    assert_eq!((&runs[1]["changed"], &step(&first)["skipped"]), (&0.into(), &false.into()));
    let shown = text(&home.diskproof(&["show"]).stdout);
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("Provisioned beforehand: shell tune.sh changed 1, then 0"), "{shown}");

    let again = home.run(&[]);
    assert_eq!((home.runs(), &step(&again)["skipped"]), (2, &true.into()));
    assert_eq!(step(&again)["applied_unix_ms"], step(&first)["applied_unix_ms"]);
    assert_eq!(step(&home.run(&["--provision"]))["skipped"], false);
    assert_eq!(home.runs(), 4);

    let other = home.run(&["--set", "depth=128"]);
    assert_eq!(step(&other)["skipped"], false);
    let run = |document: &Value| document["run"].as_str().unwrap().to_owned();
    let compared = |a: &Value, b: &Value| {
        let shown = text(&home.diskproof(&["compare", &run(a), &run(b)]).stdout);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!compared(&first, &again).contains("provision"), "skipped or not, it is the same");
    let differs = compared(&first, &other);
    assert!(
        differs.contains("NOT COMPARABLE: environment differs: provision is shell tune.sh ("),
        "{differs}"
    );
}

#[test]
fn a_step_that_fails_ends_the_run_before_anything_is_measured() {
    let home = Home::new();
    home.write("bad.sh", "#!/bin/sh\necho looking\necho no such scheduler >&2\nexit 7\n");
    let output = home.diskproof(&["run", "e.yaml", "--set", "script=bad.sh"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for words in [
        "provisioning this machine failed",
        "step 1 of 1, `shell bad.sh`, first run",
        "status 7",
        "no such scheduler",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let kept = home.latest();
    assert_eq!(kept["stopped"]["reason"], "failed");
    assert_eq!(
        (&step(&kept)["runs"][0]["status"], &step(&kept)["runs"][0]["stdout"]),
        (&7.into(), &"looking\n".into())
    );
    assert_eq!(kept["cells"][0]["trials"]["done"], 0);
    assert_eq!(std::fs::read_dir(home.path().join("data")).unwrap().count(), 0, "nothing was built");

    // The run keeps its own copy of the script.
    home.write("bad.sh", TUNE);
    let output = home.diskproof(&["resume", "latest"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}

#[test]
fn a_step_that_is_not_idempotent_is_told_at_once_and_a_caveat_ever_after() {
    let home = Home::new();
    home.write("grows.sh", "#!/bin/sh\necho line >> $1/config\necho changed=1\n");
    let output = home.diskproof(&["run", "e.yaml", "--set", "script=grows.sh"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("`shell grows.sh` is not idempotent"), "{}", text(&output.stderr));
    home.run(&["--set", "script=grows.sh"]);
    let findings = home.latest()["findings"].clone();
    let found = findings.as_array().unwrap().iter().find(|f| f["claim"] == "not_idempotent").unwrap();
    assert_eq!(found["severity"], "caveat");
}

#[test]
fn killed_in_between_it_begins_anew() {
    let home = Home::new();
    // waits for the test when it runs first
    let slow = "[ -e $1/begun ] || { touch $1/begun; for i in $(seq 400); do [ -e $1/go ] && exit; sleep 0.05; done; }\n";
    home.write("slow.sh", &TUNE.replace("echo run", &format!("{slow}echo run")));
    let args = ["run", "e.yaml", "--set", "script=slow.sh"];
    let running = home.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&home.path().join("begun"));
    kill_process(child_of(running.id()), Signal::KILL).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(!output.status.success(), "{}", text(&output.stderr));
    home.write("go", "");
    let next = home.run(&args[2..]);
    assert_eq!((&step(&next)["skipped"], &step(&next)["runs"][0]["changed"]), (&false.into(), &1.into()));
    assert_eq!(home.runs(), 2);
    assert!(!home.path().join("state/provision").exists(), "what the killed one left is gone");
}

fn wait_for(path: &Path) {
    let end = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < end, "{} never came", path.to_string_lossy());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The agent process of a controller: its only child. Not every kernel lists children, so this reads parents (field 4 of stat).
fn child_of(parent: u32) -> Pid {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after_name.split_whitespace().nth(1) == Some(&parent.to_string()) {
            return Pid::from_raw(entry.file_name().to_str().unwrap().parse().unwrap()).unwrap();
        }
    }
    panic!("process {parent} has no child");
}
