//! Several machines in one run, with real sshds. The machines share this one's kernel, but have their own boot id, cgroups and state.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::KernelMate;

struct Site {
    dir: PathBuf,
    machines: Vec<KernelMate>,
    config: PathBuf,
    _alone: testkit::Exclusive,
}

impl Site {
    /// Without root, prints a message and returns `None`.
    fn new(name: &str, machines: &[&str], aliases: &[(&str, &str)]) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("side-{name}"));
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let machines = KernelMate::several(&dir, machines);
        let config = KernelMate::client(&dir, &machines, aliases);
        Some(Self { dir, machines, config, _alone: alone })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        command.env("DISKPROOF_SSH_CONFIG", &self.config);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn start(&self, args: &[&str]) -> (Child, Events) {
        let mut child = self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, Events(Box::new(lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()))))
    }

    fn left(&self) -> Vec<PathBuf> {
        self.machines.iter().flat_map(KernelMate::left).collect()
    }

    fn export(&self) -> Value {
        serde_json::from_slice(&self.run(&["export", "latest", "--json"]).stdout).unwrap()
    }
}

struct Events(Box<dyn Iterator<Item = Value> + Send>);

impl Events {
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) {
        assert!(self.0.any(|event| is_it(&event)), "it never happened");
    }
}

/// What the events say about who worked when.
#[derive(Default)]
struct Seen {
    /// The most trials at the same time.
    most: usize,
    running: BTreeMap<String, String>,
    finished: BTreeMap<String, usize>,
    warnings: Vec<String>,
}

impl Seen {
    fn of(output: &[u8], targets: &BTreeMap<String, String>) -> Self {
        let mut seen = Self::default();
        for line in text(output).lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            let cell = |id: &Value| targets[id.as_str().unwrap()].clone();
            match event["event"].as_str().unwrap() {
                "trial_started" => {
                    let target = cell(&event["cell"]);
                    let before = seen.running.insert(target.clone(), event["cell"].to_string());
                    assert_eq!(before, None, "{target} makes one trial at a time");
                    seen.most = seen.most.max(seen.running.len());
                }
                "trial_finished" => {
                    let target = cell(&event["record"]["id"]["cell"]);
                    assert!(seen.running.remove(&target).is_some());
                    assert_eq!(event["record"]["outcome"], "measured", "{event}");
                    *seen.finished.entry(target).or_default() += 1;
                }
                "warning" => seen.warnings.push(event["text"].as_str().unwrap().to_owned()),
                _ => {}
            }
        }
        seen
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The pid of the ssh that a process started for a machine's agent process.
fn ssh_of(pid: u32, machine: &str) -> String {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let is_it = |child: &&str| {
        let argv = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = argv.split(|byte| *byte == 0).collect();
        words.first() == Some(&b"ssh".as_slice()) && words.contains(&machine.as_bytes())
            || words.first().is_some_and(|word| word.ends_with(b"/ssh"))
                && words.contains(&machine.as_bytes())
    };
    children.split_whitespace().find(is_it).expect("an ssh").to_owned()
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

fn experiment(targets: &str, measure: &str) -> String {
    format!(
        "experiment: side\ntargets: {{ {targets} }}\nvolumes: {{ vol: {{ emulate: {{ size: 16m, iops: 200 }} }} }}\n\
         stacks: {{ raw: {{ on: vol }}, ext4: {{ on: vol, layers: [ ext4 ] }} }}\n\
         workloads: {{ read: {{ rw: randread, bs: 4k, iodepth: 4, size: 4m, direct: 1 }} }}\nmeasure: {{ {measure} }}\n"
    )
}

const THREE: &str = "a: { ssh: a }, b: { ssh: b }, c: { ssh: c }";

fn targets(export: &Value) -> BTreeMap<String, String> {
    let cells = export["cells"].as_array().unwrap().iter();
    let pair =
        |cell: &Value| (cell["id"].as_str().unwrap().to_owned(), cell["target"].as_str().unwrap().to_owned());
    cells.map(pair).collect()
}

#[test]
fn loop_machines_that_share_nothing_work_at_the_same_time() {
    let Some(site) = Site::new("three", &["a", "b", "c"], &[]) else { return };
    let shared = "a: { ssh: a }, b: { ssh: b, shares: [disk] }, c: { ssh: c, shares: [disk] }";
    for (targets_of, measure, most) in [
        (THREE, "trial: 1s, ramp: 500ms, rounds: 2", 3),
        (THREE, "trial: 500ms, ramp: 0s, rounds: 1, at_once: 2", 2),
        (shared, "trial: 500ms, ramp: 0s, rounds: 1", 2),
    ] {
        fs::write(site.dir.join("e.yaml"), experiment(targets_of, measure)).unwrap();
        let ran = site.run(&["run", "e.yaml", "--json"]);
        assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
        let seen = Seen::of(&ran.stdout, &targets(&site.export()));
        let each = if measure.contains("rounds: 2") { 4 } else { 2 };
        let expected: BTreeMap<String, usize> = ["a", "b", "c"].map(|name| (name.to_owned(), each)).into();
        assert_eq!((seen.most, seen.finished), (most, expected), "{measure}");
        assert_eq!(seen.warnings, Vec::<String>::new());
        assert_eq!(site.left(), Vec::<PathBuf>::new());
    }
}

#[test]
fn loop_two_names_of_one_machine_take_turns() {
    let Some(site) = Site::new("names", &["a"], &[("far", "a")]) else { return };
    let both = "a: { ssh: a }, far: { ssh: far }";
    fs::write(site.dir.join("e.yaml"), experiment(both, "trial: 500ms, ramp: 0s, rounds: 2")).unwrap();
    let ran = site.run(&["run", "e.yaml", "--json"]);
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
    let seen = Seen::of(&ran.stdout, &targets(&site.export()));
    assert_eq!(seen.warnings, ["`a` and `far` are one machine: their trials take turns"]);
    assert_eq!((seen.most, seen.finished["a"], seen.finished["far"]), (1, 4, 4));
    assert_eq!(site.left(), Vec::<PathBuf>::new());
    let lent = site.dir.join("lent");
    fs::create_dir(&lent).unwrap();
    let lent = lent.to_string_lossy();
    let directory = experiment(both, "trial: 500ms, ramp: 0s, rounds: 1")
        .replace("emulate: { size: 16m, iops: 200 }", &format!("directory: {lent}"))
        .replace(", ext4: { on: vol, layers: [ ext4 ] }", "")
        .replace(", direct: 1", "");
    fs::write(site.dir.join("e.yaml"), directory).unwrap();
    let refused = site.run(&["run", "e.yaml"]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains(&format!("`a` and `far` are one machine, and both use directory {lent}: leave one")),
        "{said}"
    );
}

#[test]
fn loop_a_lost_machine_is_named_the_others_go_on_and_resume_makes_what_is_missing() {
    let Some(site) = Site::new("lost", &["a", "b", "c"], &[]) else { return };
    fs::write(site.dir.join("e.yaml"), experiment(THREE, "trial: 2s, ramp: 0s, rounds: 2")).unwrap();
    let (run, mut events) = site.start(&["run", "e.yaml", "--json"]);
    events.until(|event| event["event"] == "trial_finished");
    events.until(|event| event["step"] == "measure");
    signal("-9", &ssh_of(run.id(), "b"));
    std::thread::spawn(move || events.0.for_each(drop));
    let ended = run.wait_with_output().unwrap();
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(
        said.contains("machine b was lost, and ") && said.contains("missing; the other machines went on"),
        "{said}"
    );
    let done = |export: &Value| -> BTreeMap<String, u64> {
        let mut done = BTreeMap::new();
        for cell in export["cells"].as_array().unwrap() {
            *done.entry(cell["target"].as_str().unwrap().to_owned()).or_default() +=
                cell["trials"]["done"].as_u64().unwrap();
        }
        done
    };
    let export = site.export();
    let trials = done(&export);
    assert!(trials["a"] == 4 && trials["c"] == 4 && trials.get("b").copied().unwrap_or(0) < 4, "{trials:?}");
    wait_for("the lost machine to undo", || site.left().is_empty());
    let resumed = site.run(&["resume", "--json"]);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let export = site.export();
    assert_eq!(done(&export).into_values().collect::<Vec<_>>(), [4, 4, 4]);
    let again = |cell: &Value| cell["trials"]["cut_off"].as_u64().unwrap_or(0);
    assert_eq!(export["cells"].as_array().unwrap().iter().map(again).sum::<u64>(), 1, "both are kept");
    let shown = text(&site.run(&["show", "latest"]).stdout);
    assert!(shown.contains("trials were cut off and made again"), "{shown}");
    assert_eq!(site.left(), Vec::<PathBuf>::new());
}

#[test]
fn loop_a_machine_that_hears_nothing_more_of_its_controller_ends_the_load_and_undoes() {
    let Some(site) = Site::new("silent", &["a"], &[]) else { return };
    let long = experiment("a: { ssh: a }", "trial: 300s, ramp: 0s, rounds: 1");
    fs::write(site.dir.join("e.yaml"), long).unwrap();
    let (run, mut events) = site.start(&["run", "e.yaml", "--json"]);
    events.until(|event| event["step"] == "measure");
    assert!(!site.left().is_empty(), "something is built there");
    // As when a network drops all packets: the connection stays, and nothing comes.
    let ssh = ssh_of(run.id(), "a");
    signal("-STOP", &ssh);
    let stopped = Instant::now();
    wait_for("the machine to undo", || site.left().is_empty());
    eprintln!("undone {:.1} s after the last packet", stopped.elapsed().as_secs_f64());
    signal("-CONT", &ssh);
    std::thread::spawn(move || events.0.for_each(drop));
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", text(&ended.stderr));
}

/// The pid of a machine's agent process, and those of the sshds between it and its controller.
fn agent_of(machine: &mut KernelMate) -> (String, Vec<String>) {
    let argv = |pid: &String| text(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    let (sshds, others): (Vec<String>, Vec<String>) =
        machine.sshd().sessions().into_iter().partition(|pid| argv(pid).starts_with("sshd"));
    let is_agent = |pid: &String| argv(pid).split('\0').any(|word| word == "node");
    let is_program = |pid: &String| !argv(pid).split('\0').any(|word| word == "-c");
    (others.into_iter().find(|pid| is_agent(pid) && is_program(pid)).expect("an agent process"), sshds)
}

/// The record of a trial has no room in the pipe, and nobody reads it.
#[test]
fn loop_a_machine_whose_record_nobody_reads_undoes_when_the_controller_is_lost() {
    let Some(mut site) = Site::new("unread", &["a"], &[]) else { return };
    let one = experiment("a: { ssh: a }", "trial: 3s, ramp: 0s, rounds: 1");
    fs::write(site.dir.join("e.yaml"), one).unwrap();
    let (run, mut events) = site.start(&["run", "e.yaml", "--json"]);
    events.until(|event| event["step"] == "measure");
    let (agent, sshds) = agent_of(&mut site.machines[0]);
    sshds.iter().for_each(|pid| signal("-STOP", pid));
    // Opening it reads nothing.
    let pipe = fs::File::open(format!("/proc/{agent}/fd/1")).unwrap();
    wait_for("the pipe to be full", || rustix::io::ioctl_fionread(&pipe).unwrap() > 60_000);
    assert!(!site.left().is_empty(), "its volumes are there while it writes");
    wait_for("the machine to undo", || site.left().is_empty());
    wait_for("the agent process to end", || !PathBuf::from(format!("/proc/{agent}/fd/1")).exists());
    sshds.iter().for_each(|pid| signal("-CONT", pid));
    std::thread::spawn(move || events.0.for_each(drop));
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", text(&ended.stderr));
    let export = site.export();
    let trials = &export["cells"][0]["trials"];
    let cells = export["cells"].as_array().unwrap();
    let failed: u64 = cells.iter().map(|cell| cell["trials"]["failed"].as_u64().unwrap()).sum();
    assert_eq!(failed, 1, "the trial is kept with its reason: {trials}");
    let claim =
        export["findings"].as_array().unwrap().iter().find(|f| f["claim"] == "trials_failed").unwrap();
    assert!(claim["text"].as_str().unwrap().contains("was cut off, in round 1: target a"), "{claim}");
}
