//! Shared by the tests of queues: an experiment in a directory, a store, and the sshd through which results reach the store.

use record::event::Stopped;
use record::id::{RunId, TrialId};
use record::trial::TrialRecord;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use store::Store;
use testkit::Sshd;

/// Two cells of half a second.
const EXPERIMENT: &str = "
experiment: queued
parameters: { dir: { help: a directory } }
volumes: { lent: { directory: \"{dir}\" } }
stacks: { directory: { on: lent } }
workloads:
  read: { rw: randread, bs: 4k, size: 1m, rate_iops: 100 }
  write: { rw: randwrite, bs: 4k, size: 1m, rate_iops: 100 }
measure: { trial: 1500ms, ramp: 0s, rounds: 20 }
";

/// The submitter, and the machines that measure: this one, with a state folder and a directory of its own for each.
pub struct Farm {
    pub dir: PathBuf,
    pub config: PathBuf,
    _sshd: Sshd,
    _alone: testkit::Exclusive,
}

impl Farm {
    /// Without root, prints a message and returns `None`.
    pub fn new(name: &str) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("queue-{name}"));
        fs::create_dir_all(dir.join("data")).unwrap();
        fs::write(dir.join("my.yaml"), EXPERIMENT).unwrap();
        let sshd = Sshd::start(&dir, "");
        let config = sshd.client(&[("desk", "127.0.0.1")]);
        Some(Self { dir, config, _sshd: sshd, _alone: alone })
    }

    pub fn at(&self, name: &str) -> String {
        self.dir.join(name).to_str().unwrap().to_owned()
    }

    /// A command of the submitter.
    pub fn desk(&self, args: &[&str]) -> Command {
        let mut command = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, args);
        command.env("DISKPROOF_SSH_CONFIG", &self.config).env("DISKPROOF_STORE", self.at("store.db"));
        command
    }

    pub fn run(&self, args: &[&str]) -> (i32, String) {
        said(&self.desk(args).output().unwrap())
    }

    /// A command of machine `n`: other mounts, so that the experiment's directory is another one there, and another state folder.
    pub fn machine(&self, n: usize, args: &[&str]) -> Command {
        let own = self.dir.join(format!("machine{n}"));
        fs::create_dir_all(own.join("data")).unwrap();
        let script = "mount --bind \"$0\" \"$1\" && shift && exec \"$@\"";
        let mut command = testkit::program("unshare", &own, &["--mount", "sh", "-c", script]);
        command.arg(own.join("data")).arg(self.dir.join("data"));
        command.arg(assert_cmd::cargo::cargo_bin("diskproof")).args(args);
        command.env("DISKPROOF_SSH_CONFIG", &self.config);
        command
    }

    /// The same in the background, with its output appended to the machine's log.
    pub fn start(&self, n: usize, args: &[&str]) -> Child {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log(n)).unwrap();
        let mut command = self.machine(n, args);
        command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null()).spawn().unwrap()
    }

    pub fn log(&self, n: usize) -> PathBuf {
        self.dir.join(format!("machine{n}.log"))
    }

    pub fn logged(&self, n: usize) -> String {
        fs::read_to_string(self.log(n)).unwrap_or_default()
    }

    pub fn store(&self) -> Store {
        Store::open(&self.dir.join("store.db")).unwrap()
    }

    /// The run that was made last, and its trials.
    pub fn trials(&self, run: &str) -> Vec<TrialRecord> {
        let mut trials = Vec::new();
        self.store().trials(&RunId(run.to_owned()), |trial| trials.push(trial)).unwrap();
        trials
    }

    /// Asserts that every trial is stored once, and that the run knows that it is over.
    pub fn is_whole(&self, run: &str, blocks: u32) -> Vec<TrialRecord> {
        let trials = self.trials(run);
        let ids: BTreeSet<TrialId> = trials.iter().map(|trial| trial.id.clone()).collect();
        assert_eq!((trials.len(), ids.len()), (2 * blocks as usize, 2 * blocks as usize));
        assert!(ids.iter().all(|id| id.round < blocks));
        let head = self.store().head(&RunId(run.to_owned())).unwrap();
        assert_eq!(head.stopped, Stopped::RoundsDone { rounds: blocks });
        assert!(head.environment.kernel.is_some() && !head.volumes.is_empty());
        let (code, shown) = self.run(&["show", run]);
        assert_eq!(code, 0, "{shown}");
        trials
    }

    /// Asserts that an undo on machine `n` finds nothing, once an agent process without its controller is through.
    pub fn is_clean(&self, n: usize) {
        wait_for("nothing to undo", || {
            said(&self.machine(n, &["undo"]).output().unwrap()) == (0, "nothing\n".to_owned())
        });
        let left: Vec<_> =
            fs::read_dir(self.dir.join(format!("machine{n}/data"))).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        if !testkit::keep_wreck() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

pub fn said(output: &Output) -> (i32, String) {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output.status.code().unwrap_or(-1), text.concat())
}

/// The run in what `job submit` or `job make` says.
pub fn run_of(said: &str) -> String {
    let at = said.find("run 20").unwrap_or_else(|| panic!("no run in {said}"));
    said[at + 4..].chars().take_while(|c| c.is_ascii_hexdigit() || *c == '-').collect()
}

pub fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(180);
    while !ready() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A process and all that it started.
pub fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(parent) = all.get(at).copied() {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(child) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let stat = fs::read_to_string(Path::new("/proc").join(child.to_string()).join("stat"))
                .unwrap_or_default();
            let ppid =
                stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<u32>().ok());
            if ppid == Some(parent) {
                all.push(child);
            }
        }
        at += 1;
    }
    all
}
