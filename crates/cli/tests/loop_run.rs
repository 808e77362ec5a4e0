//! Real runs of the whole program: it emulates volumes, builds stacks, measures with the native engine and undoes everything.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two volumes of 200 IOPS, alone and striped: two cells, two rounds, four trials.
const EXPERIMENT: &str = r#"
experiment: end-to-end
question: Do two volumes deliver twice what one does?
volumes: { vol: { count: 2, emulate: { size: 300m, iops: 200 } } }
stacks: { "btrfs-{n}": { with: { n: [1, 2] }, layers: [ { btrfs: { data: raid0, on: "vol[..n]" } } ] } }
workloads: { randread: { rw: randread, bs: 16k, iodepth: 32, size: 48m, direct: 1 } }
measure: { trial: 2s, ramp: 1s, rounds: 2 }
expect: [ { of: iops, is: "200 * n", within: 25% } ]
"#;

/// An existing directory: one cell, and so many rounds that the run doesn't end before the test is done.
const LENT: &str = r#"
experiment: lent
parameters: { dir: { help: a directory }, rounds: { type: int, default: 1 } }
volumes: { lent: { directory: "{dir}" } }
stacks: { directory: { on: lent } }
workloads: { randread: { rw: randread, bs: 4k, size: 16m } }
measure: { trial: 1s, ramp: 0s, rounds: rounds }
"#;

/// A folder of its own, with home, store and state in it.
struct Lab {
    dir: PathBuf,
    _alone: testkit::Exclusive,
}

impl Lab {
    /// Without root, prints a message and returns `None`.
    fn new(name: &str) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("cli-{name}"));
        std::fs::write(dir.join("e.yaml"), EXPERIMENT).unwrap();
        std::fs::write(dir.join("lent.yaml"), LENT).unwrap();
        std::fs::create_dir(dir.join("lent")).unwrap();
        Some(Self { dir, _alone: alone })
    }

    fn command(&self, args: &[&str]) -> Command {
        testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, args)
    }

    fn diskproof(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    /// Starts a run in the background, with its events on standard output.
    fn start(&self, args: &[&str]) -> Running {
        let mut child =
            self.command(args).arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        Running { child, events }
    }

    fn list(&self) -> Vec<Value> {
        let list = self.diskproof(&["list", "--all", "--json"]);
        serde_json::from_str(&list.out).expect(&list.err)
    }

    fn export(&self) -> Value {
        let export = self.diskproof(&["export", "latest", "--json"]);
        assert_eq!(export.code, 0, "{}", export.err);
        let shown = self.diskproof(&["show", "--json"]);
        assert_eq!((shown.code, &shown.out), (0, &export.out), "{}", shown.err);
        serde_json::from_str(&export.out).unwrap()
    }

    /// Everything on this machine that belongs to this test: mounts, loop devices, cgroups, files in the state folder.
    fn left(&self) -> Vec<String> {
        let mine = self.dir.to_string_lossy().into_owned();
        let runs: Vec<String> = self.list().iter().map(|r| r["run"].as_str().unwrap().to_owned()).collect();
        let is_mine = |text: &str| text.contains(&mine) || runs.iter().any(|run| text.contains(run.as_str()));
        let mut left: Vec<String> = Vec::new();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        left.extend(mounts.lines().filter(|l| is_mine(l)).map(|l| format!("mount {l}")));
        for device in std::fs::read_dir("/sys/block").unwrap().flatten() {
            let backing =
                std::fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
            if is_mine(&backing) {
                left.push(format!("loop {backing}"));
            }
        }
        let mut found = Vec::new();
        below(Path::new("/sys/fs/cgroup"), 4, &mut found);
        left.extend(found.iter().map(|p| p.to_string_lossy().into_owned()).filter(|p| is_mine(p)));
        let mut files = Vec::new();
        below(&self.dir.join("state"), 6, &mut files);
        let kept = |p: &&PathBuf| p.extension().is_none_or(|e| e != "lock") && !p.is_dir();
        left.extend(files.iter().filter(kept).map(|p| format!("file {}", p.to_string_lossy())));
        let lent = std::fs::read_dir(self.dir.join("lent")).unwrap();
        left.extend(lent.flatten().map(|e| format!("lent {}", e.path().to_string_lossy())));
        left
    }

    fn assert_nothing_left(&self) {
        assert_eq!(self.left(), Vec::<String>::new());
    }

    /// Waits until nothing is left; an agent process without its controller undoes by itself.
    fn await_nothing_left(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.left().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(200));
        }
        self.assert_nothing_left();
    }
}

/// Everything below a folder, `depth` levels deep.
fn below(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
        if is_dir && depth > 0 {
            below(&entry.path(), depth - 1, found);
        }
        found.push(entry.path());
    }
}

/// A command's exit code and output.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A running run.
struct Running {
    child: Child,
    events: BufReader<ChildStdout>,
}

impl Running {
    /// Reads events until the `count`th of this name.
    fn until(&mut self, name: &str, count: usize) {
        let mut seen = 0;
        let mut line = String::new();
        while seen < count {
            line.clear();
            let read = self.events.read_line(&mut line).unwrap();
            assert!(read > 0, "ended before {name}");
            let event: Value = serde_json::from_str(&line).unwrap();
            seen += usize::from(event["event"] == name);
        }
    }

    /// Reads events until the engine measures in a trial.
    fn until_measuring(&mut self) {
        self.until("trial_started", 1);
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.events.read_line(&mut line).unwrap() > 0, "ended before it measured");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["step"] == "measure" {
                return;
            }
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        kill(i32::try_from(self.child.id()).unwrap(), signal);
    }

    /// The agent process: our child's only child.
    fn node(&self) -> i32 {
        let pid = self.child.id();
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let found = children.split_whitespace().next().map(|pid| pid.parse().unwrap());
        found.unwrap_or_else(|| child_by_scan(pid))
    }

    fn wait(mut self) -> Said {
        // The rest of the output must be read, else the writer blocks forever.
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.events, &mut rest).unwrap();
        let mut said = Said::of(self.child.wait_with_output().unwrap());
        said.out = rest;
        said
    }
}

/// For kernels that don't list children (CONFIG_PROC_CHILDREN): the parent is field 4 of /proc/PID/stat.
fn child_by_scan(parent: u32) -> i32 {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after_name.split_whitespace().nth(1) == Some(&parent.to_string()) {
            return entry.file_name().to_str().unwrap().parse().unwrap();
        }
    }
    panic!("process {parent} has no child");
}

fn kill(pid: i32, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// The trials of a run, as (done, planned).
fn trials(run: &Value) -> (u64, u64) {
    (run["trials"]["done"].as_u64().unwrap(), run["trials"]["planned"].as_u64().unwrap())
}

#[test]
fn loop_a_run_measures_answers_and_leaves_nothing() {
    let Some(lab) = Lab::new("whole") else { return };
    let run = lab.diskproof(&["run", "e.yaml", "--progress", "lines"]);
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    for word in ["btrfs-1", "btrfs-2", "randread"] {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    assert!(run.err.contains("trial 4/4") && run.err.contains("diskproof show"), "{}", run.err);
    lab.assert_nothing_left();

    let view = lab.export();
    assert_eq!(view["format"], "diskproof.run/1.3");
    assert_eq!(view["stopped"]["reason"], "rounds_done");
    let cells = view["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for (cell, expected) in cells.iter().zip([200.0, 400.0]) {
        let iops = &cell["metrics"]["iops"];
        let estimate = iops["estimate"].as_f64().unwrap();
        assert!((estimate - expected).abs() < expected * 0.25, "{iops}");
        assert!(iops["low"].as_f64().unwrap() <= estimate && estimate <= iops["high"].as_f64().unwrap());
        assert_eq!((iops["n"].as_u64(), cell["void"].as_bool()), (Some(2), Some(false)));
        let shares = cell["served"].as_object().unwrap().values().map(|v| v.as_f64().unwrap());
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-6, "{}", cell["served"]);
        assert!(cell["served"]["device"].as_f64().unwrap() > 0.95, "{}", cell["served"]);
        let model = &cell["model"];
        assert_eq!(
            (model["at_most"].as_f64(), model["of"].as_str()),
            (Some(expected), Some("iops")),
            "{model}"
        );
        assert!((0.75..=1.25).contains(&model["ratio"]["ratio"].as_f64().unwrap()), "{model}");
    }
    assert!(view["volumes"][0]["verified"][0]["measured"].as_f64().unwrap() > 150.0, "{}", view["volumes"]);

    let shown = lab.diskproof(&["show"]);
    assert_eq!((shown.code, shown.out.trim()), (0, run.out.trim()), "{}", shown.err);
    let csv = lab.diskproof(&["export", "latest", "--csv", "-o", "r.csv"]);
    assert_eq!((csv.code, csv.out.as_str()), (0, ""), "{}", csv.err);
    assert!(std::fs::read_to_string(lab.dir.join("r.csv")).unwrap().contains("iops"));
    let resume = lab.diskproof(&["resume", view["run"].as_str().unwrap()]);
    assert!(resume.code == 0 && resume.err.contains("is complete"), "{}", resume.err);
}

#[test]
fn loop_a_killed_controller_is_undone_by_its_node_and_resumed() {
    let Some(lab) = Lab::new("controller") else { return };
    let mut running = lab.start(&["run", "e.yaml"]);
    running.until("trial_finished", 1);
    running.until_measuring();
    assert!(!lab.left().is_empty(), "a run under way must have something to undo");
    running.signal(rustix::process::Signal::KILL);
    assert_eq!(running.wait().code, -1);
    lab.await_nothing_left();

    let runs = lab.list();
    assert_eq!(trials(&runs[0]), (1, 4), "the trial under way is not kept, the one before is");
    assert_eq!(runs[0]["stopped"]["reason"], "unfinished");
    let resumed = lab.diskproof(&["resume", "--progress", "lines"]);
    assert_eq!(resumed.code, 0, "{}\n{}", resumed.out, resumed.err);
    assert!(resumed.err.contains("1 of 4 trials are there"), "{}", resumed.err);
    assert_eq!(resumed.err.matches("\ntrial ").count(), 3, "exactly the missing ones: {}", resumed.err);
    assert_eq!(trials(&lab.list()[0]), (4, 4));
    assert_eq!(lab.list().len(), 1);
    lab.assert_nothing_left();
}

#[test]
fn loop_what_a_killed_node_left_is_put_back_by_undo() {
    let Some(lab) = Lab::new("node") else { return };
    let mut running = lab.start(&["run", "e.yaml"]);
    running.until_measuring();
    kill(running.node(), rustix::process::Signal::KILL);
    let said = running.wait();
    assert_eq!(said.code, 4, "{}", said.err);
    assert!(said.err.contains("diskproof undo"), "{}", said.err);
    assert!(!lab.left().is_empty(), "a killed node can't undo");

    let undo = lab.diskproof(&["undo"]);
    assert_eq!(undo.code, 0, "{}\n{}", undo.out, undo.err);
    lab.assert_nothing_left();
    let again = lab.diskproof(&["undo"]);
    assert_eq!((again.code, again.out.as_str()), (0, "nothing\n"), "{}", again.err);
    assert!(lab.list()[0]["stopped"]["error"].as_str().unwrap().contains("agent process"));
}

/// A persistent stack, and one that isn't persistent.
const STAYS: &str = r#"
experiment: stays
volumes: { vol: { count: 2, emulate: { size: 32m } } }
stacks:
  stays: { rebuild: run, on: "vol[0]", layers: [ ext4 ] }
  anew: { on: "vol[1]", layers: [ ext4 ] }
workloads: { randread: { rw: randread, bs: 4k, size: 8m, rate_iops: 200 } }
measure: { trial: 1s, ramp: 0s, rounds: 4 }
"#;

#[test]
fn loop_a_stack_that_stays_up_is_undone_after_a_kill_and_built_anew_by_resume() {
    let Some(lab) = Lab::new("stays") else { return };
    std::fs::write(lab.dir.join("stays.yaml"), STAYS).unwrap();
    let mut running = lab.start(&["run", "stays.yaml"]);
    running.until("trial_finished", 5);
    running.until_measuring();
    kill(running.node(), rustix::process::Signal::KILL);
    assert_eq!(running.wait().code, 4);
    assert!(!lab.left().is_empty(), "a killed node can't undo");
    let undo = lab.diskproof(&["undo"]);
    assert_eq!(undo.code, 0, "{}\n{}", undo.out, undo.err);
    lab.assert_nothing_left();

    let resumed = lab.diskproof(&["resume", "--progress", "lines"]);
    assert_eq!(resumed.code, 0, "{}\n{}", resumed.out, resumed.err);
    assert!(resumed.err.contains("stack stays was built anew before round"), "{}", resumed.err);
    assert_eq!(resumed.err.matches("built anew").count(), 1, "not the other one: {}", resumed.err);
    lab.assert_nothing_left();
    let view = lab.export();
    let claims: Vec<&Value> =
        view["findings"].as_array().unwrap().iter().filter(|f| f["claim"] == "stack_rebuilt").collect();
    assert_eq!(claims.len(), 1, "{view}");
}

#[test]
fn loop_ctrl_c_keeps_what_was_measured_and_a_second_one_does_not_stop_the_undo() {
    let Some(lab) = Lab::new("ctrl-c") else { return };
    let mut running = lab.start(&["run", "e.yaml"]);
    running.until("trial_finished", 2);
    running.until_measuring();
    running.signal(rustix::process::Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    running.signal(rustix::process::Signal::INT);
    let said = running.wait();
    assert_eq!(said.code, 130, "{}", said.err);
    assert!(said.err.contains("stopping:") && said.err.contains("diskproof resume"), "{}", said.err);
    lab.assert_nothing_left();
    let runs = lab.list();
    assert_eq!((trials(&runs[0]), runs[0]["stopped"]["reason"].as_str()), ((2, 4), Some("interrupted")));
    let view = lab.export();
    let done: u64 =
        view["cells"].as_array().unwrap().iter().map(|c| c["trials"]["done"].as_u64().unwrap()).sum();
    assert_eq!(done, 2);
}

#[test]
fn loop_a_second_run_in_the_same_directory_is_refused() {
    let Some(lab) = Lab::new("second") else { return };
    let dir = format!("dir={}", lab.dir.join("lent").to_string_lossy());
    let mut first = lab.start(&["run", "lent.yaml", "--set", &dir, "--set", "rounds=50"]);
    first.until_measuring();
    let second = lab.diskproof(&["run", "lent.yaml", "--set", &dir]);
    assert_eq!(second.code, 3, "{}\n{}", second.out, second.err);
    assert!(second.err.contains("lent"), "it names what is taken: {}", second.err);
    let listed = lab.diskproof(&["list"]);
    assert!(listed.out.contains("killed, or still running"), "{}", listed.out);
    let under_way = lab.list()[0].clone();
    assert_eq!(under_way["stopped"]["reason"], "unfinished", "{under_way}");
    let resumed = lab.diskproof(&["resume", under_way["run"].as_str().unwrap()]);
    assert_eq!(resumed.code, 3, "a run under way can't be resumed: {}\n{}", resumed.out, resumed.err);
    assert_eq!(lab.list()[0]["stopped"]["reason"], "unfinished", "and nothing is written about it");
    first.signal(rustix::process::Signal::TERM);
    let said = first.wait();
    assert_eq!(said.code, 143, "{}", said.err);
    lab.assert_nothing_left();
    let third = lab.diskproof(&["run", "lent.yaml", "--set", &dir]);
    assert_eq!(third.code, 0, "free again: {}", third.err);
}

#[test]
fn loop_quick_says_memory_where_it_is_memory() {
    let Some(lab) = Lab::new("quick") else { return };
    let dir = Path::new("/dev/shm/diskproof-test-quick");
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir(dir).unwrap();
    let quick =
        lab.diskproof(&["quick", dir.to_str().unwrap(), "--seconds", "1", "--rounds", "1", "--size", "16m"]);
    let left = std::fs::read_dir(dir).unwrap().count();
    std::fs::remove_dir_all(dir).unwrap();
    assert_eq!((quick.code, left), (0, 0), "{}\n{}", quick.out, quick.err);
    let view = lab.export();
    let claims: Vec<&str> =
        view["findings"].as_array().unwrap().iter().map(|f| f["claim"].as_str().unwrap()).collect();
    assert!(claims.contains(&"memory_backed"), "{claims:?}");
    assert_eq!(view["cells"].as_array().unwrap().len(), 6);
}

#[test]
fn loop_without_root_only_lent_directories_are_measured() {
    let Some(lab) = Lab::new("nobody") else { return };
    let nobody = 65534;
    let binary = lab.dir.join("diskproof");
    std::fs::copy(assert_cmd::cargo::cargo_bin("diskproof"), &binary).unwrap();
    std::os::unix::fs::chown(&lab.dir, Some(nobody), Some(nobody)).unwrap();
    std::os::unix::fs::chown(lab.dir.join("lent"), Some(nobody), Some(nobody)).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(args).uid(nobody).gid(nobody).env_clear().env("HOME", &lab.dir).current_dir(&lab.dir);
        Said::of(command.output().unwrap())
    };
    let refused = run(&["run", "e.yaml"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    // How to become root depends on the machine's sudo.
    for words in ["needs root", "run", "diskproof quick DIR"] {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    let dir = format!("dir={}", lab.dir.join("lent").to_string_lossy());
    let lent = run(&["run", "lent.yaml", "--set", &dir]);
    assert_eq!(lent.code, 0, "{}\n{}", lent.out, lent.err);
    assert_eq!(std::fs::read_dir(lab.dir.join("lent")).unwrap().count(), 0);
}

/// A volume with a steady throttle: within 10 % at the stop rule's first decision.
const SURE: &str = r#"
experiment: sure
volumes: { vol: { emulate: { size: 300m, iops: 200 } } }
stacks: { raw: { on: vol } }
workloads: { randread: { rw: randread, bs: 16k, iodepth: 32, size: 48m, direct: 1 } }
measure: { trial: 1s, ramp: 500ms, until: { interval: 10% }, budget: { rounds: 25 } }
"#;

/// Reads from memory, with a narrower goal than six short trials can reach.
const UNSURE: &str = r#"
experiment: unsure
parameters: { dir: { help: a directory } }
volumes: { lent: { directory: "{dir}" } }
stacks: { directory: { on: lent } }
workloads: { randread: { rw: randread, bs: 4k, size: 16m } }
measure: { trial: 500ms, ramp: 0s, until: { interval: 0.3% }, budget: { rounds: 6 } }
"#;

#[test]
fn loop_a_run_stops_when_it_is_sure_enough_also_when_it_was_interrupted() {
    let Some(lab) = Lab::new("until") else { return };
    std::fs::write(lab.dir.join("sure.yaml"), SURE).unwrap();
    let mut running = lab.start(&["run", "sure.yaml"]);
    running.until("trial_finished", 2);
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.wait().code, 130);
    let resumed = lab.diskproof(&["resume", "--progress", "lines"]);
    assert_eq!(resumed.code, 0, "{}\n{}", resumed.out, resumed.err);
    assert!(resumed.err.contains("round 6 of at most 25: "), "{}", resumed.err);

    let run = &lab.list()[0];
    assert_eq!(run["stopped"]["reason"], "enough", "{run}");
    let rounds = run["stopped"]["rounds"].as_u64().unwrap();
    assert!((6..25).contains(&rounds), "{rounds}");
    assert_eq!(trials(run).0, rounds);
    let view = lab.export();
    assert_eq!(view["reached"]["all"], true, "{}", view["reached"]);
    let iops = &view["cells"][0]["metrics"]["iops"];
    let (estimate, high) = (iops["estimate"].as_f64().unwrap(), iops["high"].as_f64().unwrap());
    assert!((150.0..250.0).contains(&estimate) && high <= estimate * 1.1 + 1e-9, "{iops}");
    assert!(resumed.out.contains("Precision: as asked"), "{}", resumed.out);
    let again = lab.diskproof(&["resume", "latest"]);
    assert!(again.err.contains("is complete"), "{}", again.err);
    lab.assert_nothing_left();
}

#[test]
fn loop_a_spent_budget_of_rounds_says_what_is_missing_and_can_be_raised() {
    let Some(lab) = Lab::new("budget") else { return };
    std::fs::write(lab.dir.join("unsure.yaml"), UNSURE).unwrap();
    let dir = format!("dir={}", lab.dir.join("lent").to_string_lossy());
    let said = lab.diskproof(&["run", "unsure.yaml", "--set", &dir]);
    assert_eq!(said.code, 0, "{}\n{}", said.out, said.err);
    let reached = lab.export()["reached"].clone();
    assert_eq!(reached["all"], false, "{reached}");
    let text = reached["text"].as_str().unwrap();
    assert!(text.starts_with("the budget of 6 rounds was spent: 1 of 1 cells is not known to"), "{text}");
    assert!(said.out.contains("Precision: not as asked"), "{}", said.out);

    let idle = lab.diskproof(&["resume", "latest"]);
    assert_eq!(idle.code, 0);
    assert!(idle.err.contains("--rounds N") && trials(&lab.list()[0]).0 == 6, "{}", idle.err);
    assert_eq!(lab.diskproof(&["resume", "latest", "--rounds", "5"]).code, 2, "less than it was");
    let raised = lab.diskproof(&["resume", "latest", "--rounds", "8"]);
    assert_eq!(raised.code, 0, "{}\n{}", raised.out, raised.err);
    assert_eq!(trials(&lab.list()[0]).0, 8);
    let view = lab.export();
    assert_eq!(view["measure"]["rounds"], 8);
    assert!(
        view["reached"]["text"].as_str().unwrap().starts_with("the budget of 8 rounds"),
        "{}",
        view["reached"]
    );
    lab.assert_nothing_left();
}

/// Three volumes; the second is the cheapest with 150 IOPS, and the third is never needed.
const MARKET: &str = r#"
experiment: market
currency: EUR
volumes:
  slow: { emulate: { size: 300m, iops: 80 }, price: 2/month }
  good: { emulate: { size: 300m, iops: 300 }, price: 4/month }
  dear: { emulate: { size: 300m, iops: 600 }, price: 9/month }
stacks: { slow: { on: slow }, good: { on: good }, dear: { on: dear } }
workloads: { randread: { rw: randread, bs: 16k, iodepth: 16, size: 32m, direct: 1 } }
measure: { trial: 1s, ramp: 500ms, until: { best: price, want: "iops >= 150" }, budget: { rounds: 3 } }
"#;

#[test]
fn loop_the_cheapest_stack_is_found_over_two_sessions_and_a_dearer_one_is_not_measured() {
    let Some(lab) = Lab::new("market") else { return };
    std::fs::write(lab.dir.join("market.yaml"), MARKET).unwrap();
    let first = lab.diskproof(&["run", "market.yaml"]);
    assert_eq!(first.code, 0, "{}\n{}", first.out, first.err);
    assert!(first.out.contains("Precision: not as asked"), "{}", first.out);
    assert_eq!(lab.export()["choice"]["answers"][0]["outcome"], "open");
    let resumed = lab.diskproof(&["resume", "latest", "--rounds", "30"]);
    assert_eq!(resumed.code, 0, "{}\n{}", resumed.out, resumed.err);
    let view = lab.export();
    let answer = &view["choice"]["answers"][0];
    assert_eq!(answer["outcome"], "chosen", "{answer}");
    let chosen: Vec<&Value> =
        answer["candidates"].as_array().unwrap().iter().filter(|one| one["chosen"] == true).collect();
    assert_eq!(chosen[0]["cell"]["stack"], "good", "{answer}");
    let done = |stack: &str| {
        let cells = view["cells"].as_array().unwrap();
        cells.iter().find(|cell| cell["stack"] == stack).unwrap()["trials"]["done"].as_u64().unwrap()
    };
    assert!(done("slow") >= 4 && done("good") >= 6, "{answer}");
    assert_eq!(done("dear"), 0, "{answer}");
    // `choose` looks at the run with the same intervals.
    let chose = lab.diskproof(&["choose", "--want", "iops >= 150", "latest"]);
    assert_eq!(chose.code, 0, "{}", chose.out);
    assert!(
        chose.out.contains("good (4.00 EUR a month) is the cheapest that meets the limits"),
        "{}",
        chose.out
    );
    lab.assert_nothing_left();
}
