//! Blocks without a queue and without root: made, done, collected.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const EXPERIMENT: &str = "
experiment: queued
parameters: { dir: { help: a directory }, rounds: { type: int, default: 2 } }
volumes: { lent: { directory: \"{dir}\" } }
stacks: { directory: { on: lent } }
workloads:
  read: { rw: randread, bs: 4k, size: 1m, rate_iops: 100, engine: native, direct: 0 }
  write: { rw: randwrite, bs: 4k, size: 1m, rate_iops: 100, engine: native, direct: 0 }
measure: { trial: 500ms, ramp: 0s, rounds: rounds }
";

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        fs::write(dir.path().join("my.yaml"), EXPERIMENT).unwrap();
        Self { dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), self.path(), args);
        command.env("DISKPROOF_STORE", self.path().join("store.db"));
        command
    }

    /// The exit code, standard output, standard error.
    fn run(&self, args: &[&str], input: &str) -> (i32, String, String) {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let [out, err] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code().unwrap(), out, err)
    }

    fn made(&self) -> String {
        let dir = format!("dir={}", self.path().join("data").display());
        let (code, blocks, said) = self.run(&["job", "make", "my.yaml", "--set", &dir], "");
        assert!(code == 0 && said.contains(": 2 blocks to be measured"), "{said}");
        blocks
    }
}

#[test]
fn a_run_is_cut_measured_block_by_block_and_collected_once() {
    let scene = Scene::new();
    let blocks = scene.made();
    let lines: Vec<&str> = blocks.lines().collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.len() < 4096), "{blocks}");
    fs::write(scene.path().join("blocks"), &blocks).unwrap();

    let (code, out, said) = scene.run(&["job", "run", "-", "--results", "-"], lines[0]);
    assert!(code == 0 && said.contains("trial 2 of 2"), "{said}");
    let (code, _, said) = scene.run(&["job", "run", "blocks", "--nth", "1", "--results", "results"], "");
    assert_eq!(code, 0, "{said}");
    assert_eq!(fs::read_dir(scene.path().join("data")).unwrap().count(), 0, "nothing is left there");

    let (code, said, _) = scene.run(&["job", "collect", "-", "results"], &out);
    assert!(
        code == 0 && said.contains("4 of 4 trials are stored") && said.contains("4 trials are new, 0"),
        "{said}"
    );
    let (code, said, _) = scene.run(&["job", "collect", "results"], "");
    assert!(code == 0 && said.contains("0 trials are new, 2 were stored already"), "{said}");
    let (code, _, said) = scene.run(&["show"], "");
    assert_eq!(code, 0, "{said}");

    // A line that was cut off by a power failure is left out, and a foreign one is refused.
    let torn: String = out.chars().take(out.len() - 30).collect();
    let (code, said, aside) = scene.run(&["job", "collect", "-"], &torn);
    assert!(code == 0 && said.contains("0 trials are new") && aside.contains("not whole"), "{said}{aside}");
    let foreign = out
        .replace(&lines[0][lines[0].find("\"plan_digest\":\"").unwrap()..][15..35], "00000000000000000000");
    let (code, _, aside) = scene.run(&["job", "collect", "-"], &foreign);
    assert!(code == 2 && aside.contains("another plan"), "{aside}");
}

#[test]
fn the_result_is_that_of_a_run_with_the_same_seed() {
    let scene = Scene::new();
    let dir = format!("dir={}", scene.path().join("data").display());
    let one = ["job", "make", "my.yaml", "--set", &dir, "--seed", "7", "--blocks", "1"];
    let (_, block, _) = scene.run(&one, "");
    let (_, out, _) = scene.run(&["job", "run", "--results", "-"], &block);
    scene.run(&["job", "collect", "-"], &out);
    let (code, _, said) =
        scene.run(&["run", "my.yaml", "--set", &dir, "--set", "rounds=1", "--seed", "7", "--quiet"], "");
    assert_eq!(code, 0, "{said}");
    let store = store::Store::open(&scene.path().join("store.db")).unwrap();
    let [a, b] = store.runs().unwrap().try_into().unwrap();
    let trials = |run: &record::id::RunId| {
        let mut all = Vec::new();
        store.trials(run, |trial| all.push((trial.id, trial.seed))).unwrap();
        all
    };
    assert_eq!(trials(&a.id), trials(&b.id), "the same cells in the same order with the same seeds");
    assert_eq!(trials(&a.id).len(), 2);
}

#[test]
fn what_can_not_be_a_block_is_refused_with_the_way_out() {
    let scene = Scene::new();
    let refused = |args: &[&str], input: &str, words: &str| {
        let (code, _, said) = scene.run(args, input);
        assert!(code == 2 && said.contains(words), "{args:?}: {code} {said}");
    };
    refused(&["job", "run", "-"], "hello", "`diskproof job make` prints blocks");
    refused(&["job", "run", "-"], "", "the input is empty");
    let blocks = scene.made();
    refused(&["job", "run", "-"], &blocks, "`--nth N`");
    refused(&["job", "run", "-"], blocks.lines().next().unwrap(), "`--results DIR`");
    refused(&["job", "submit", "nothing.yaml", "--slurm"], "", "there is no experiment file");
    refused(&["job", "submit", "latest", "--slurm"], "", "`--to DEST`");
    refused(&["job", "submit", "latest", "--blocks", "3", "--slurm"], "", "`--blocks` is for a new run");
    fs::write(
        scene.path().join("until.yaml"),
        EXPERIMENT.replace("rounds: rounds", "until: { interval: 5% }, rounds: 9"),
    )
    .unwrap();
    refused(&["job", "make", "until.yaml", "--set", "dir=/x"], "", "`measure: until`");
    let (code, out, _) = scene.run(&["job", "submit", "latest", "--kubernetes"], "");
    assert!(code == 0 && out.starts_with("# UNTESTED"), "{out}");
    // Results of a run that this store doesn't have.
    let (_, out, _) = scene.run(&["job", "run", "--results", "-", "-"], blocks.lines().next().unwrap());
    let elsewhere = scene.path().join("other.db");
    store::Store::open(&elsewhere).unwrap();
    let mut receive = scene.command(&["job", "receive"]);
    receive.env("DISKPROOF_STORE", &elsewhere).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = receive.spawn().unwrap();
    child.stdin.take().unwrap().write_all(out.as_bytes()).unwrap();
    let answers = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(answers.starts_with("{\"answer\":\"refused\",\"reason\":\"there is no run"), "{answers}");
    assert_eq!(answers.lines().count(), out.lines().count(), "every line is answered");
}
