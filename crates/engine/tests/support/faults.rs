//! File systems on loop devices, for tests that break something under a running load.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it; tests may unwrap"
)]

pub use crate::support::loops::{claimed, scratch, written_loop};
pub use crate::support::{native, native_engine as engine};

use crate::support::Bench;
use device::{Claimed, Ground, Roots};
use diskproof_engine::{Engine, EngineError};
use record::trial::{EngineOutput, ErrorCount};
use record::workload::{Options, Workload};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use testkit::{Exclusive, LoopDevice, MachineState, Watch};

/// The timeout of waits; the tests assert nothing about durations.
const LIMIT: Duration = Duration::from_secs(60);

/// Sets whether errors end the load.
pub fn going_on(mut options: Options, go_on: bool) -> Options {
    options.other.insert("continue_on_error".into(), if go_on { "all" } else { "none" }.into());
    options
}

/// Exclusive use of the machine for one test. At its end, the machine must be as before.
pub struct Machine {
    before: MachineState,
    _alone: Exclusive,
}

impl Machine {
    /// `None` without root.
    pub fn take() -> Option<Self> {
        if !testkit::is_root() {
            println!("skipped: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        Some(Self { before: MachineState::capture(&Watch::default()), _alone: alone })
    }

    /// Asserts that everything the test created is gone. The kernel may take its time to release things.
    pub fn assert_as_before(&self) {
        let begun = Instant::now();
        loop {
            let other = self.before.diff(&MachineState::capture(&Watch::default()));
            if other.is_empty() {
                return;
            }
            assert!(begun.elapsed() < LIMIT, "the machine is not as before:\n{other}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Waits for an event that must come.
pub fn wait_until(what: &str, mut come: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !come() {
        assert!(begun.elapsed() < LIMIT, "still waiting after {} s: {what}", LIMIT.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn tool(argv: &[&str]) -> Result<String, String> {
    let out = Command::new(argv[0]).args(&argv[1..]).env("LC_ALL", "C").output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    if out.status.success() { Ok(said) } else { Err(format!("{argv:?}: {said}")) }
}

/// A file system on a loop device; unmounted on drop.
pub struct Mounted {
    pub point: PathBuf,
    claim: Claimed,
    pub device: LoopDevice,
}

impl Mounted {
    /// Makes and mounts it.
    pub fn new(device: LoopDevice, kind: &str) -> Self {
        let claim = claimed(&device);
        claim.hand_over();
        let path = device.path().to_str().unwrap().to_owned();
        let force = if kind == "ext4" { "-F" } else { "-f" };
        tool(&[&format!("mkfs.{kind}"), "-q", force, &path]).unwrap();
        let point = testkit::fresh_dir(&format!("mount-{}", device.name()));
        let options = if kind == "ext4" { "errors=remount-ro" } else { "defaults" };
        tool(&["mount", "-o", options, &path, point.to_str().unwrap()]).unwrap();
        Self { point, claim, device }
    }

    pub fn bench(&self) -> Bench {
        Bench::on(scratch(), Ground::directory_on(&[&self.claim], &self.point, &Roots::default()).unwrap())
    }

    /// The path of an ext4 attribute in /sys.
    pub fn ext4(&self, attribute: &str) -> PathBuf {
        Path::new("/sys/fs/ext4").join(self.device.name()).join(attribute)
    }

    /// Unmounts it, and fails if that isn't possible. A ring that was killed holds its files for a moment.
    pub fn unmount(self) {
        let point = self.point.to_str().unwrap().to_owned();
        wait_until("the ground can be unmounted", || tool(&["umount", &point]).is_ok());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !testkit::keep_wreck() {
            let _ = tool(&["umount", self.point.to_str().unwrap()]);
            let _ = fs::remove_dir(&self.point);
        }
    }
}

/// The number of I/Os that a loop device has completed.
pub fn completed(device: &LoopDevice) -> u64 {
    let text = fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers[0] + numbers[4]
}

/// The text of all files of a scratch directory, including the worker's messages so far.
pub fn said_until_now(scratch: &Path) -> String {
    let files = fs::read_dir(scratch).unwrap().flatten();
    files
        .map(|file| String::from_utf8_lossy(&fs::read(file.path()).unwrap_or_default()).into_owned())
        .collect()
}

/// Prepares the workload and runs it; once the load moves data on `device`, `fault` runs in parallel. At the end the worker must
/// be gone.
pub fn run_while(
    bench: &Bench,
    device: &LoopDevice,
    workload: &Workload,
    seconds: f64,
    fault: impl FnOnce(u32) + Send,
) -> Result<EngineOutput, EngineError> {
    let mut job = bench.job(workload, 5, seconds);
    engine().prepare(&job).unwrap();
    let (tell, told) = channel();
    let started = |pid: u32| tell.send(pid).unwrap();
    job.started = &started;
    let before = completed(device);
    let (ended, pid) = std::thread::scope(|scope| {
        let breaker = scope.spawn(move || {
            let pid = told.recv().unwrap();
            wait_until("the load moves data", || completed(device) > before + 50);
            fault(pid);
            pid
        });
        let ended = engine().run(&job);
        (ended, breaker.join().unwrap())
    });
    assert_gone(pid);
    ended
}

/// Asserts that a process has ended; only its parent may still have to reap it.
pub fn assert_gone(pid: u32) {
    wait_until("the worker is gone", || {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        status.is_empty() || status.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    });
}

/// The output of a trial with errors: of a failed one, unless it goes on despite errors.
pub fn measured(ended: Result<EngineOutput, EngineError>, go_on: bool) -> EngineOutput {
    match ended {
        Ok(output) if go_on => output,
        Err(EngineError::Failed { ended, errors, messages, output: Some(output), .. }) if !go_on => {
            assert_eq!(ended, "met I/O errors");
            assert_eq!((&errors, &messages), (&output.errors, &output.messages), "told the same twice");
            *output
        }
        other => panic!("continue_on_error {go_on}: {other:?}"),
    }
}

/// The offsets of an entry: at most the first 16.
pub fn offsets(error: &ErrorCount) -> Vec<u64> {
    let place = error.place.as_deref().unwrap();
    let (_, list) = place.split_once("offset ").unwrap();
    let found: Vec<u64> =
        list.split(", ").filter(|word| *word != "...").map(|w| w.parse().unwrap()).collect();
    assert_eq!(found.len() as u64, error.count.min(16), "{place}");
    assert_eq!(list.ends_with(", ..."), error.count > 16, "{place}");
    found
}

/// The number of errors of a kind, in all jobs.
pub fn count(errors: &[ErrorCount], errno: &str) -> u64 {
    errors.iter().filter(|error| error.errno == errno).map(|error| error.count).sum()
}
