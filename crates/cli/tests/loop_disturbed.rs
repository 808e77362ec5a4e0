//! Disturbed runs: the engine or the agent process is stopped, or a volume is taken away between two trials.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use record::printable::Shown as _;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LENT: &str = r#"
experiment: stopped
parameters: { dir: { help: a directory }, engine: { help: which } }
volumes: { lent: { directory: "{dir}" } }
stacks: { directory: { on: lent } }
workloads: { randread: { engine: "{engine}", rw: randread, bs: 4k, size: 16m } }
measure: { trial: 8s, ramp: 0s, rounds: 1 }
"#;

const EMULATED: &str = r#"
experiment: taken
volumes: { vol: { emulate: { size: 64m } } }
stacks: { ext4: { layers: [ { ext4: { on: vol } } ] } }
workloads: { randread: { rw: randread, bs: 4k, size: 8m } }
measure: { trial: 2s, ramp: 0s, rounds: 2 }
"#;

/// How long a process stays stopped.
const STOPPED: Duration = Duration::from_secs(3);

struct Lab {
    dir: PathBuf,
    _alone: testkit::Exclusive,
}

impl Lab {
    fn new(name: &str) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("cli-{name}"));
        std::fs::create_dir(dir.join("lent")).unwrap();
        std::fs::write(dir.join("lent.yaml"), LENT).unwrap();
        std::fs::write(dir.join("emulated.yaml"), EMULATED).unwrap();
        Some(Self { dir, _alone: alone })
    }

    fn command(&self, args: &[&str]) -> Command {
        testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, args)
    }

    fn start(&self, args: &[&str]) -> Running {
        let mut command = self.command(args);
        command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        Running { child, events }
    }

    fn lent(&self, engine: &str) -> Running {
        let dir = self.dir.join("lent").shown().to_string();
        self.start(&[
            "run",
            "lent.yaml",
            "--set",
            &format!("dir={dir}"),
            "--set",
            &format!("engine={engine}"),
        ])
    }

    fn view(&self) -> Value {
        let shown = self.command(&["show", "--json"]).output().unwrap();
        serde_json::from_slice(&shown.stdout).unwrap()
    }

    /// The run's findings with this claim.
    fn found(&self, claim: &str) -> Vec<Value> {
        let view = self.view();
        let found = view["findings"].as_array().unwrap();
        found.iter().filter(|finding| finding["claim"] == claim).cloned().collect()
    }
}

struct Running {
    child: Child,
    events: BufReader<ChildStdout>,
}

impl Running {
    /// Reads events until `wanted` accepts one.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.events.read_line(&mut line).unwrap() > 0, "it ended before that");
            if wanted(&serde_json::from_str(&line).unwrap()) {
                return;
            }
        }
    }

    fn agent(&self) -> u32 {
        children(self.child.id()).first().copied().expect("an agent process")
    }

    /// Waits for the engine's processes and returns them.
    fn engine(&self, name: &str) -> Vec<u32> {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let all = descendants(self.agent());
            let found: Vec<u32> = all.into_iter().filter(|pid| told_by(*pid).contains(name)).collect();
            if !found.is_empty() {
                return found;
            }
            assert!(Instant::now() < until, "no {name}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait(mut self) -> (i32, String) {
        let mut rest = String::new();
        self.events.read_to_string(&mut rest).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), said)
    }
}

/// The command line of a process.
fn told_by(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

fn children(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

fn descendants(parent: u32) -> Vec<u32> {
    let own = children(parent);
    let deeper: Vec<u32> = own.iter().flat_map(|child| descendants(*child)).collect();
    own.into_iter().chain(deeper).collect()
}

fn signal(pid: u32, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Stops these processes during a trial for a while, and waits for the run's end.
fn stopped_for_a_while(mut run: Running, who: impl Fn(&Running) -> Vec<u32>) {
    run.until(|event| event["step"] == "measure");
    std::thread::sleep(Duration::from_secs(2));
    let who = who(&run);
    who.iter().for_each(|pid| signal(*pid, Signal::STOP));
    std::thread::sleep(STOPPED);
    who.iter().for_each(|pid| signal(*pid, Signal::CONT));
    let (code, said) = run.wait();
    assert_eq!(code, 0, "{said}");
}

fn assert_stalled(lab: &Lab, words: &str) {
    let found = lab.found("stalled");
    assert_eq!(found.len(), 1, "{found:?}");
    let (text, seconds) = (found[0]["text"].as_str().unwrap(), &found[0]["evidence"]["stalled_seconds"]);
    assert!(text.contains(words) && text.contains("says nothing about the storage"), "{text}");
    let seconds = seconds.as_f64().unwrap();
    // the sampler may see it one sample late, and the trial may end before it
    assert!((1.5..STOPPED.as_secs_f64() + 1.5).contains(&seconds), "{text}");
}

#[test]
fn loop_a_stopped_native_worker_is_named() {
    let Some(lab) = Lab::new("stopped-native") else { return };
    stopped_for_a_while(lab.lent("native"), |run| run.engine("engine-native"));
    assert_stalled(&lab, "of the engine's processes");
}

#[test]
fn loop_a_stopped_fio_is_named() {
    let Some(lab) = Lab::new("stopped-fio") else { return };
    if host::resolve(host::Tool::Fio).is_err() {
        eprintln!("SKIPPED: needs fio");
        return;
    }
    stopped_for_a_while(lab.lent("fio"), |run| run.engine("fio"));
    assert_stalled(&lab, "of the engine's processes");
}

#[test]
fn loop_a_stopped_agent_is_named() {
    for engine in ["native", "fio"] {
        let Some(lab) = Lab::new("stopped-agent") else { return };
        if engine == "fio" && host::resolve(host::Tool::Fio).is_err() {
            eprintln!("SKIPPED: needs fio");
            return;
        }
        stopped_for_a_while(lab.lent(engine), |run| vec![run.agent()]);
        assert_stalled(&lab, "the agent process");
    }
}

#[test]
fn loop_nobody_is_stopped_on_a_quiet_or_a_busy_machine() {
    let Some(lab) = Lab::new("not-stopped") else { return };
    for busy in [false, true] {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().unwrap().get() * 3;
            for _ in 0..if busy { threads } else { 0 } {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let (code, said) = lab.lent("native").wait();
            over.store(true, Ordering::Relaxed);
            assert_eq!(code, 0, "{said}");
        });
        assert_eq!(lab.found("stalled"), Vec::<Value>::new(), "busy: {busy}");
    }
}

/// After the first trial, another device is put over the volume: the guard refuses the second trial.
#[test]
fn loop_a_run_with_a_trial_that_the_guard_refused_does_not_end_well() {
    let Some(lab) = Lab::new("taken") else { return };
    let mut run = lab.start(&["run", "emulated.yaml"]);
    run.until(|event| event["step"] == "measure");
    let volume = our_loop(&lab.dir);
    let said = Command::new("losetup").args(["--find", "--show"]).arg(&volume).output().unwrap();
    let theirs = String::from_utf8(said.stdout).unwrap().trim().to_owned();
    assert!(theirs.starts_with("/dev/loop"), "{}", String::from_utf8_lossy(&said.stderr));
    run.until(|event| event["event"] == "trial_finished");
    run.until(|event| event["event"] == "trial_finished");
    let detached = Command::new("losetup").args(["--detach", &theirs]).status().unwrap();
    assert!(detached.success());
    let (code, said) = run.wait();
    let found = lab.found("trials_failed");
    assert_eq!(code, 3, "{said}\n{found:?}");
    assert!(said.contains("diskproof's checks refused trials of"), "{said}");
    assert_eq!(found[0]["evidence"]["refused_trials"].as_f64(), Some(1.0), "{found:?}");
    assert_eq!(lab.view()["cells"][0]["trials"]["done"].as_u64(), Some(1));
}

/// The loop device of the test's volume.
fn our_loop(dir: &Path) -> PathBuf {
    let mine = dir.shown().to_string();
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
    let found = devices.map(|device| device.path()).find(|device| {
        std::fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default().contains(&mine)
    });
    Path::new("/dev").join(found.expect("a loop device").file_name().unwrap())
}
