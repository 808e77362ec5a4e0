//! The live view on a real terminal: live/terminal.py makes one and does what a user does.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const EXPERIMENT: &str = "experiment: live
volumes: { here: { directory: DIR } }
stacks: { directory: { on: here } }
workloads:
  reads: { rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 0 }
  writes: { rw: randwrite, bs: 16k, iodepth: 1, size: 16m, direct: 0 }
measure: { trial: TRIAL, ramp: 0s, rounds: ROUNDS }
";

/// A place with an experiment in an existing directory, on a disk: memory has no devices whose load could be shown.
struct Place(TempDir);

impl Place {
    fn new(trial: &str, rounds: u32) -> Self {
        let place = tempfile::Builder::new()
            .prefix("diskproof-test-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        let data = place.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let text = EXPERIMENT
            .replace("DIR", data.to_str().unwrap())
            .replace("TRIAL", trial)
            .replace("ROUNDS", &rounds.to_string());
        std::fs::write(place.path().join("e.yaml"), text).unwrap();
        Self(place)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("TERM", "xterm")
            .env("DISKPROOF_STATE", self.path().join("state"))
            .env("DISKPROOF_SUDO", "never")
            .current_dir(self.path());
        command
    }

    /// What became of the terminal in a scenario of terminal.py. `None` without Python.
    fn on_a_terminal(&self, scenario: &str, more: &[&str]) -> Option<Value> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/terminal.py");
        let mut command = self.command("python3");
        command.args([script, scenario]).arg(diskproof()).args(["run", "e.yaml"]).args(more);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                println!("skipped: there is no python3, which makes the terminal");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stderr));
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.command(diskproof()).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn left(&self) -> usize {
        std::fs::read_dir(self.path().join("data")).unwrap().count()
    }
}

fn diskproof() -> std::path::PathBuf {
    assert_cmd::cargo::cargo_bin("diskproof")
}

#[test]
fn the_view_follows_the_terminal_s_size_and_ctrl_c_ends_it_with_all_undone() {
    let place = Place::new("3s", 20);
    let Some(told) = place.on_a_terminal("watch", &[]) else { return };
    assert_eq!((&told["status"], &told["restored"]), (&130.into(), &true.into()), "{told}");
    let after = told["after"].as_str().unwrap();
    assert!(
        after.contains("interrupted; all that was built is undone"),
        "the end is in the scrollback: {after}"
    );
    assert_eq!(place.left(), 0);
}

#[test]
fn the_answer_stays_in_the_scrollback() {
    let place = Place::new("1s", 1);
    let Some(told) = place.on_a_terminal("end", &[]) else { return };
    assert_eq!((&told["status"], &told["restored"]), (&0.into(), &true.into()), "{told}");
    let after = told["after"].as_str().unwrap();
    assert!(after.contains("directory") && after.contains("again: diskproof show"), "{after}");
}

#[test]
fn q_is_the_first_ctrl_c() {
    let place = Place::new("3s", 20);
    let Some(told) = place.on_a_terminal("quit", &[]) else { return };
    assert_eq!((&told["status"], &told["restored"]), (&130.into(), &true.into()), "{told}");
    assert_eq!(place.json(&["list", "--all", "--json"])[0]["stopped"]["reason"], "interrupted");
}

#[test]
fn a_skipped_cell_and_an_end_on_request_are_kept_on_record_and_a_resumed_run_leaves_the_cell_out() {
    let place = Place::new("1s", 8);
    let Some(told) = place.on_a_terminal("skip", &[]) else { return };
    assert_eq!((&told["status"], &told["restored"]), (&0.into(), &true.into()), "{told}");
    let claims = |run: &Value| -> Vec<String> {
        let findings = run["findings"].as_array().unwrap().iter();
        findings.filter(|f| f["claim"] == "skipped").map(|f| f["text"].as_str().unwrap().to_owned()).collect()
    };
    let done = |run: &Value| -> Vec<u64> {
        let cells = run["cells"].as_array().unwrap().iter();
        cells.map(|cell| cell["trials"]["done"].as_u64().unwrap()).collect()
    };
    let run = place.json(&["show", "--json"]);
    assert_eq!(run["stopped"]["reason"], "requested", "{run}");
    let rounds = run["stopped"]["rounds"].as_u64().unwrap();
    assert!(rounds < 8, "it ended early");
    let [skipped] = &claims(&run)[..] else { panic!("{run}") };
    assert!(skipped.starts_with("you skipped this cell in round"), "{skipped}");

    let resumed = place.command(diskproof()).args(["resume", "--progress", "lines"]).output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let after = place.json(&["show", "--json"]);
    assert_eq!(after["stopped"]["reason"], "rounds_done");
    let mut both = [done(&run), done(&after)];
    for trials in &mut both {
        trials.sort_unstable();
    }
    assert_eq!(both[0][0], both[1][0], "the skipped cell has no more trials");
    assert_eq!(both[1][1], 8, "the other one has all of them");
    assert_eq!(claims(&after).len(), 1);
}

#[test]
fn a_stopped_process_gives_the_terminal_back_and_takes_it_again() {
    let place = Place::new("3s", 20);
    let Some(told) = place.on_a_terminal("stop", &[]) else { return };
    assert_eq!(told["restored_while_stopped"], true, "{told}");
    assert_eq!((&told["status"], &told["restored"]), (&130.into(), &true.into()), "{told}");
}

#[test]
fn a_terminal_that_goes_away_ends_the_run_as_sighup_does() {
    let place = Place::new("3s", 20);
    let Some(told) = place.on_a_terminal("gone", &[]) else { return };
    assert_eq!(told["status"], 129, "{told}");
    assert_eq!(place.left(), 0);
}

#[test]
fn each_signal_leaves_the_terminal_as_it_was() {
    use rustix::process::Signal;
    // SIGINT, SIGTERM and SIGHUP end the run first; the others end the process at once.
    let ends = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];
    let kills = [Signal::QUIT, Signal::ABORT, Signal::ALARM, Signal::USR1, Signal::USR2];
    let killed = kills.map(|signal| (signal, -signal.as_raw()));
    for (signal, status) in ends.into_iter().chain(killed) {
        let place = Place::new("3s", 20);
        let Some(told) = place.on_a_terminal(&format!("kill:{}:0.7", signal.as_raw()), &[]) else { return };
        assert_eq!(told["was_shown"], true, "{signal:?}: {told}");
        assert_eq!(
            (&told["status"], &told["restored"]),
            (&status.into(), &true.into()),
            "{signal:?}: {told}"
        );
    }
}
