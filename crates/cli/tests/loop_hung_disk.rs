//! A disk stops answering in the middle of a trial, and then the agent process itself hangs in the kernel. The run ends nevertheless, and
//! what it built is put back once the disk answers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{LoopDevice, MachineState, Watch};

const EXPERIMENT: &str = "
experiment: hung
volumes: { vol: { emulate: { size: 16m } } }
stacks: { ext4: { on: vol, layers: [ ext4 ] } }
workloads: { write: { rw: randwrite, bs: 4k, iodepth: 4, size: 4m, direct: 1 } }
measure: { trial: 10s, ramp: 0s, rounds: 1 }
";

/// The disk with the state folder, and so with the emulated volume.
struct Disk {
    mounted: PathBuf,
    _device: LoopDevice,
}

impl Disk {
    /// Room for the volume, and for what diskproof leaves free.
    const BYTES: u64 = 352 << 20;

    fn at(mounted: PathBuf) -> Self {
        let device = LoopDevice::new(Self::BYTES, "hung-disk");
        tool("mkfs.ext4", &["-q", &device.path().to_string_lossy()]);
        fs::create_dir_all(&mounted).unwrap();
        tool("mount", &[&device.path().to_string_lossy(), &mounted.to_string_lossy()]);
        Self { mounted, _device: device }
    }

    /// From now on, no write is answered.
    fn hang(&self) {
        tool("fsfreeze", &["--freeze", &self.mounted.to_string_lossy()]);
    }

    fn answer(&self) -> bool {
        let mut thaw = Command::new("fsfreeze");
        thaw.arg("--unfreeze").arg(&self.mounted).output().is_ok_and(|said| said.status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.answer();
        let _ = Command::new("umount").arg(&self.mounted).output();
    }
}

#[test]
fn loop_a_run_ends_although_its_disk_hangs_for_ever() {
    if !testkit::is_root() {
        eprintln!("SKIPPED loop_a_run_ends_although_its_disk_hangs_for_ever: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("hung-disk");
    let disk = Disk::at(dir.join("state"));
    let before = MachineState::capture(&Watch::default());
    let program = |args: &[&str]| testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &dir, args);
    fs::write(dir.join("e.yaml"), EXPERIMENT).unwrap();
    let mut command = program(&["run", "e.yaml", "--json"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(run.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    assert!(events.any(|event| event["event"] == "step" && event["step"] == "measure"), "the load begins");
    disk.hang();
    // Nor does it wait without end for somebody who wants to stop.
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let text: String = events.map(|event| format!("{event}\n")).collect();
    let ended = run.wait_with_output().unwrap();
    let said = text + &String::from_utf8_lossy(&ended.stderr);
    eprintln!("{said}");
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("hangs in the kernel") && said.contains("`diskproof undo` puts back"), "{said}");
    assert!(said.contains("has answered none of its"), "it names the disk: {said}");
    assert!(!agents(&dir).is_empty(), "it can't end: {said}");

    assert!(disk.answer());
    let until = Instant::now() + Duration::from_secs(60);
    while !agents(&dir).is_empty() {
        assert!(Instant::now() < until, "the agent process doesn't end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let undone = program(&["undo"]).output().unwrap();
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(before.diff(&MachineState::capture(&Watch::default())), "");
    for folder in ["journal", "volumes", "mnt"] {
        let left: Vec<_> =
            fs::read_dir(dir.join("state").join(folder)).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
    drop(disk);
    fs::remove_dir_all(dir).unwrap();
}

/// The agent processes of this test.
fn agents(dir: &Path) -> Vec<String> {
    let own = format!("DISKPROOF_STATE={}", dir.join("state").to_string_lossy());
    let has = |pid: &str, file: &str, word: &str| {
        let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        text.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    };
    let pids = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    pids.map(|pid| pid.to_string_lossy().into_owned())
        .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| has(pid, "cmdline", "node") && has(pid, "environ", &own))
        .collect()
}

fn tool(program: &str, args: &[&str]) {
    assert!(Command::new(program).args(args).status().unwrap().success(), "{program} {args:?}");
}
