//! Refusals without root: each names the one thing to do, and none ends with 4, which would be diskproof's own fault.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A temporary home.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
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
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("DISKPROOF_STATE", self.path().join("state"))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    fn diskproof(&self, args: &[&str]) -> (Option<i32>, String) {
        said(&self.command(args).output().unwrap())
    }
}

/// The exit code and what was printed.
fn said(output: &Output) -> (Option<i32>, String) {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

/// Waits until `is` holds.
fn wait(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_home_that_cannot_be_read_is_the_user_s_to_correct() {
    let home = Home::new();
    home.write("file", "");
    let (code, text) = said(&home.command(&["list"]).env("HOME", home.path().join("file")).output().unwrap());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("set HOME to a directory that you can read, or name a file by --config"), "{text}");
    let (code, text) = home.diskproof(&["list", "--config", "file/config.yaml"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("name another one by --config"), "{text}");
}

#[test]
fn a_home_that_is_missing_is_named_before_anything_is_measured() {
    let home = Home::new();
    // nobody, not even root, can make a directory in /proc
    let quick = home.command(&["quick", ".", "--size", "16m"]).env("HOME", "/proc/no-home").output().unwrap();
    let (code, text) = said(&quick);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("set HOME to your own directory, or choose another file by --store"), "{text}");
    assert!(!text.contains("trial 1/"), "{text}");
}

#[test]
fn a_host_without_an_address_is_named_with_the_way_out() {
    if host::resolve(host::Tool::Ssh).is_err() {
        println!("SKIPPED: there is no ssh");
        return;
    }
    let home = Home::new();
    home.write(
        "far.yaml",
        "experiment: far\ntargets: { nas: { ssh: no..such..host } }\nvolumes: { d: { directory: /tmp } }\nstacks: { d: {} }\n\
         workloads: { r: { rw: randread, size: 1m } }\n",
    );
    for args in [&["on", "no..such..host", "devices"][..], &["run", "far.yaml"]] {
        let (code, text) = home.diskproof(args);
        assert_eq!(code, Some(3), "{args:?}: {text}");
        assert!(text.contains("no..such..host can't be reached"), "{args:?}: {text}");
        assert!(text.contains("correct the name, or give its address as `HostName`"), "{args:?}: {text}");
    }
}

#[test]
fn undo_beside_a_run_leaves_it_alone_and_says_how_it_ends() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("data")).unwrap();
    let quick = ["quick", "data", "--size", "16m", "--seconds", "600", "--quiet"];
    let mut running: Child =
        home.command(&quick).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let data = home.path().join("data");
    wait("the run begins", || std::fs::read_dir(&data).unwrap().next().is_some());
    let all = home.diskproof(&["undo", "--sudo", "never"]);
    let name = all.1.split(':').next().unwrap_or_default().to_owned();
    let one = home.diskproof(&["undo", &name, "--sudo", "never"]);
    let is_there = std::fs::read_dir(&data).unwrap().next().is_some();
    let pid = i32::try_from(running.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let status = running.wait().unwrap();
    for (code, text) in [all, one] {
        assert_eq!(code, Some(3), "{text}");
        assert!(
            text.contains("still running") && text.contains("wait for it, or stop it by Ctrl-C"),
            "{text}"
        );
    }
    assert!(is_there, "nothing of a living run is undone");
    assert_eq!(status.code(), Some(130));
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "it undoes itself");
    assert_eq!(home.diskproof(&["undo", "--sudo", "never"]).0, Some(0));
}

#[test]
fn a_plan_without_room_says_so_and_ends_with_3_if_asked() {
    let home = Home::new();
    home.write(
        "large.yaml",
        "experiment: large\nvolumes: { d: { directory: . } }\nstacks: { d: {} }\nworkloads: { r: { rw: randread, size: 900t } }\n",
    );
    let (code, text) = home.diskproof(&["plan", "large.yaml"]);
    assert_eq!(code, Some(0), "{text}");
    let space = format!("missing here: space: 900 TiB in {}", home.path().to_string_lossy());
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(&space) && joined.contains("are free"), "{text}");
    assert_eq!(home.diskproof(&["plan", "large.yaml", "--here"]).0, Some(3));
    home.write(
        "small.yaml",
        "experiment: small\nvolumes: { d: { directory: . } }\nstacks: { d: {} }\nworkloads: { r: { rw: randread, size: 1m } }\n",
    );
    let (code, text) = home.diskproof(&["plan", "small.yaml", "--here"]);
    assert_eq!((code, text.contains("missing here")), (Some(0), false), "{text}");
}
