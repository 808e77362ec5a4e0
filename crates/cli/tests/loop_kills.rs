//! kill -9 at any instant: of the controller, of its agent process, of both, and of the undo that follows. In the end nothing is left
//! on the machine, and no data is lost.
//!
//! `DISKPROOF_TEST_KILLS=500` sets the number of kills; a normal test run makes only a few. The claimed disks are those of a lab
//! guest, since loop devices have no serial number.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const KILLS: u32 = 16;
/// The number of kills in a guest, which is slow.
const KILLS_IN_A_GUEST: u32 = 4;
const NOBODY: u32 = 65534;
const EMULATED: &str = "
experiment: emulated
volumes: { vol: { count: 2, emulate: { size: 16m } } }
stacks: { ext4: { on: \"vol[0]\", layers: [ ext4 ] }, raw: { on: \"vol[1]\" } }
workloads: { load: { rw: randwrite, bs: 4k, size: 2m, rate_iops: 500 } }
measure: { trial: 1s, ramp: 0s, rounds: 1 }
";
const DIRECTORY: &str = "
experiment: directory
parameters: { dir: { help: a directory } }
volumes: { lent: { directory: \"{dir}\" } }
stacks: { directory: { on: lent } }
workloads: { load: { rw: randwrite, bs: 4k, size: 2m, rate_iops: 500 } }
measure: { trial: 1s, ramp: 0s, rounds: 2 }
";
/// A file system on one claimed disk, and the other one raw.
const CLAIMED: &str = "
experiment: claimed
volumes: { vol: { disks: [virtio-killed1, virtio-killed2] } }
stacks: { ext4: { on: \"vol[0]\", layers: [ ext4 ] }, raw: { on: \"vol[1]\" } }
workloads: { load: { rw: randwrite, bs: 4k, size: 2m, rate_iops: 500 } }
measure: { trial: 1s, ramp: 0s, rounds: 1 }
";
const DISKS: [&str; 2] = ["virtio-killed1", "virtio-killed2"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Directory,
    Emulated,
    Claimed,
}

#[derive(Debug, Clone, Copy)]
enum Victim {
    Controller,
    Node,
    Both,
    Undo,
}

struct Scene {
    dir: PathBuf,
    given: PathBuf,
    _alone: testkit::Exclusive,
}

impl Scene {
    fn new() -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED kills: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir("kills");
        let given = dir.join("given");
        fs::create_dir_all(given.join("diskproof-theirs")).unwrap();
        fs::write(given.join("diskproof-theirs/file"), "precious").unwrap();
        chown(&given, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&given, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(dir.join("emulated.yaml"), EMULATED).unwrap();
        fs::write(dir.join("directory.yaml"), DIRECTORY).unwrap();
        fs::write(dir.join("claimed.yaml"), CLAIMED).unwrap();
        Some(Self { dir, given, _alone: alone })
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn begin(&self, on: On) -> Child {
        match on {
            On::Emulated => self.start(&["run", "emulated.yaml"]),
            On::Claimed => self.start(&["run", "claimed.yaml"]),
            On::Directory => self.start(&[
                "run",
                "directory.yaml",
                "--set",
                &format!("dir={}", self.given.to_str().unwrap()),
            ]),
        }
    }

    fn claim(&self, disk: &str) {
        let args = ["claim", disk, "--yes-i-own", disk.trim_start_matches("virtio-"), "--overwrite-data"];
        let output = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, &args).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn undo(&self) -> Output {
        testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, &["undo"]).output().unwrap()
    }

    /// Repeats the undo until there is nothing to undo, since an agent process without its controller undoes by itself meanwhile.
    fn await_undone(&self, what: &str) {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let output = self.undo();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() && said == "nothing\n" {
                return;
            }
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(Instant::now() < until, "{what}: {said}{complaint}");
        }
    }

    fn left(&self) -> Vec<String> {
        let mine = self.dir.to_str().unwrap().to_owned();
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let mounts = text(Path::new("/proc/self/mountinfo"));
        let mut left: Vec<String> =
            mounts.lines().filter(|line| line.contains(&mine)).map(str::to_owned).collect();
        for device in fs::read_dir("/sys/block").unwrap().flatten() {
            let backing = text(&device.path().join("loop/backing_file"));
            left.extend(backing.contains(&mine).then_some(backing));
        }
        for part in ["volumes", "mnt", "journal"] {
            let entries = fs::read_dir(self.dir.join("state").join(part)).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path().to_string_lossy().into_owned()));
        }
        let given = fs::read_dir(&self.given).unwrap().flatten().map(|entry| entry.path());
        left.extend(
            given
                .filter(|path| !path.ends_with("diskproof-theirs"))
                .map(|path| path.to_string_lossy().into_owned()),
        );
        for disk in
            DISKS.map(|disk| Path::new("/dev/disk/by-id").join(disk)).iter().filter(|disk| disk.exists())
        {
            let output = Command::new("wipefs").arg("--no-act").arg(disk).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let signatures = String::from_utf8_lossy(&output.stdout).into_owned();
            left.extend((!signatures.trim().is_empty()).then_some(signatures));
        }
        left
    }
}

/// The agent process of a controller, if it has started.
fn node_of(controller: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{controller}/task/{controller}/children")).ok()?;
    children.split_whitespace().find_map(|child| {
        let command = fs::read(format!("/proc/{child}/cmdline")).ok()?;
        command.split(|byte| *byte == 0).any(|word| word == b"node").then(|| child.parse().ok())?
    })
}

fn kill(pid: u32) {
    // an error is fine: it may have ended by itself; its id isn't used again before we wait for it
    let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
}

/// splitmix64 (Steele, Lea and Flood, 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn below(most: Duration, state: &mut u64) -> Duration {
    let micros = u64::try_from(most.as_micros()).unwrap().max(1);
    Duration::from_micros(random(state) % micros)
}

/// Returns whether a process was killed; `false`: it had ended before.
fn kill_once(scene: &Scene, victim: Victim, on: On, whole: Duration, state: &mut u64) -> bool {
    let mut run = scene.begin(on);
    std::thread::sleep(below(whole, state));
    let node = node_of(run.id());
    let alive = run.try_wait().unwrap().is_none();
    match victim {
        Victim::Controller => kill(run.id()),
        Victim::Node | Victim::Undo => node.into_iter().for_each(kill),
        Victim::Both => {
            kill(run.id());
            node.into_iter().for_each(kill);
        }
    }
    run.wait().unwrap();
    if !matches!(victim, Victim::Undo) {
        return alive && (node.is_some() || matches!(victim, Victim::Controller | Victim::Both));
    }
    let mut undo = scene.start(&["undo"]);
    std::thread::sleep(below(Duration::from_millis(400), state));
    let undo_alive = undo.try_wait().unwrap().is_none();
    node_of(undo.id()).into_iter().for_each(kill);
    kill(undo.id());
    undo.wait().unwrap();
    undo_alive
}

/// Makes kills at random instants and of random victims, until the wanted number has died.
fn kill_on(grounds: &[On], usual: u32) {
    let Some(scene) = Scene::new() else { return };
    if grounds.contains(&On::Claimed) {
        DISKS.iter().for_each(|disk| scene.claim(disk));
    }
    let wanted =
        std::env::var("DISKPROOF_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let whole: Vec<Duration> = grounds
        .iter()
        .map(|&on| {
            let begin = Instant::now();
            let status = scene.begin(on).wait().unwrap();
            assert!(status.success(), "undisturbed it must succeed on {on:?}");
            begin.elapsed()
        })
        .collect();
    let victims = [Victim::Controller, Victim::Node, Victim::Both, Victim::Undo];
    let (mut killed, mut state) = (0, 1);
    for turn in 0_usize.. {
        let (victim, ground) = (victims[turn / grounds.len() % victims.len()], turn % grounds.len());
        let what = format!("turn {turn}: {victim:?}, {:?}", grounds[ground]);
        killed += u32::from(kill_once(&scene, victim, grounds[ground], whole[ground], &mut state));
        scene.await_undone(&what);
        assert_eq!(scene.left(), Vec::<String>::new(), "{what}");
        let theirs = fs::read_to_string(scene.given.join("diskproof-theirs/file"));
        assert_eq!(theirs.unwrap(), "precious", "{what}");
        if killed >= wanted {
            println!("{killed} kills in {} turns: 0 leaks, 0 lost", turn + 1);
            return;
        }
        assert!(turn < 4 * wanted as usize, "only {killed} kills in {turn} turns: nothing was shown");
    }
}

#[test]
fn loop_killed_at_any_instant_nothing_is_left_and_nothing_lost() {
    kill_on(&[On::Directory, On::Emulated], KILLS);
}

#[test]
fn lab_killed_at_any_instant_nothing_is_left_on_claimed_disks() {
    kill_on(&[On::Claimed], KILLS_IN_A_GUEST);
}
