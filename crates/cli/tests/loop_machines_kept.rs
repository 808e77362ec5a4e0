//! `diskproof machines`: what stays open (mounts, shells, a watch), and what crosses the network.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod machines;

use machines::relay::Relay;
use machines::site::{Site, lines, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// A mount point that is free again at the end of a test, also of one that fails.
struct MountPoint(PathBuf);

impl MountPoint {
    fn is_mounted(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(1) == self.0.to_str())
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        if self.is_mounted() {
            let _ = Command::new("fusermount").arg("-uz").arg(&self.0).status();
        }
    }
}

#[test]
fn loop_a_folder_of_a_machine_is_mounted_and_unmounted() {
    if !Path::new("/usr/bin/sshfs").exists() || !Path::new("/dev/fuse").exists() {
        eprintln!("SKIPPED mount: needs sshfs and /dev/fuse");
        return;
    }
    let Some(site) = Site::started("mount") else { return };
    let (there, at) = (site.dir.join("there"), MountPoint(site.dir.join("at")));
    fs::create_dir(&there).unwrap();
    fs::create_dir(&at.0).unwrap();
    fs::write(there.join("old"), "of the machine").unwrap();
    let from = |name: &str, dir: &Path| format!("{name}:{}", dir.to_string_lossy());
    let mounted = site.run(&["mount", &from("ham0", &there), "at"]);
    assert!(mounted.status.success(), "{}", text(&mounted.stderr));
    assert!(text(&mounted.stdout).contains("machines mount --end"), "{}", text(&mounted.stdout));
    assert!(at.is_mounted());
    assert_eq!(fs::read_to_string(at.0.join("old")).unwrap(), "of the machine");
    fs::write(at.0.join("new"), "from here").unwrap();
    assert_eq!(fs::read_to_string(there.join("new")).unwrap(), "from here");
    let ended = site.run(&["mount", "--end", "at"]);
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    assert!(!at.is_mounted() && fs::read_dir(&at.0).unwrap().next().is_none());
    assert_eq!(site.run(&["mount", "--end", "at"]).status.code(), Some(3), "nothing is mounted any more");
    for (name, dir, reason) in [
        ("ham0", site.dir.join("nowhere"), "No such file or directory"),
        ("closed", there, "Connection refused"),
    ] {
        let refused = site.run(&["mount", &from(name, &dir), "at"]);
        assert_eq!(refused.status.code(), Some(3));
        assert!(text(&refused.stderr).contains(reason), "{}", text(&refused.stderr));
        assert!(!at.is_mounted());
    }
}

#[test]
fn loop_a_shell_has_a_terminal_and_its_exit_code_is_ours() {
    let Some(site) = Site::started("shell") else { return };
    // `script` gives it a terminal, and types what comes in.
    let program = site.command(&["shell", "ham0"]);
    let words: Vec<String> = std::iter::once(program.get_program())
        .chain(program.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut script = Command::new("script");
    script.args(["-qec", &words.join(" "), "/dev/null"]).current_dir(&site.dir).env_clear();
    for (name, value) in program.get_envs() {
        script.envs(value.map(|value| (name, value)));
    }
    let mut shell =
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut typed = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut typed, b"tty; echo product=$((6*7)); exit 5\n").unwrap();
    let ended = shell.wait_with_output().unwrap();
    drop(typed);
    let shown = text(&ended.stdout);
    assert!(shown.contains("/dev/pts/") && shown.contains("product=42"), "{shown}");
    assert_eq!(ended.status.code(), Some(5), "{shown}");
}

#[test]
fn loop_a_deadline_that_is_near_is_told_once() {
    let Some(site) = Site::started("deadline") else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let journals = site.dir.join("far/journal");
    fs::create_dir_all(&journals).unwrap();
    for (run, seconds) in [("near", 300), ("later", 7200)] {
        let session = format!(
            r#"{{"line":"session","format":"1.2","run":"{run}","prefix":"diskproof","boot_id":"b","pid":1,"ends_unix_s":{}}}"#,
            now + seconds
        );
        fs::write(journals.join(format!("{run}.jsonl")), session + "\n").unwrap();
    }
    let state = &lines(&site.run(&["status", "ham0", "--json"]).stdout)[0]["facts"]["journals"];
    let left = |run: &str| {
        let journal = state.as_array().unwrap().iter().find(|journal| journal["run"] == run).unwrap();
        journal["ends_in_seconds"].as_i64().unwrap()
    };
    assert!((1..=300).contains(&left("near")) && (600..=7200).contains(&left("later")), "{state}");
    let watch = || text(&site.run(&["watch", "ham0", "--once"]).stdout);
    let told = watch();
    assert!(told.starts_with("run near on ham0 isn't done, and its time budget is spent in "), "{told}");
    assert_eq!((told.lines().count(), watch().as_str()), (1, ""), "once, and of the near one only");
    let sooner = site.run(&["watch", "ham0", "--once", "--deadline", "3h"]);
    assert!(text(&sooner.stdout).starts_with("run later on ham0 "), "{}", text(&sooner.stdout));
}

/// libvirt's own driver for tests says only which guests are on; what it doesn't say stays unknown.
#[test]
fn loop_guests_are_those_that_virsh_names() {
    if !Path::new("/usr/bin/virsh").exists() {
        eprintln!("SKIPPED guests: needs virsh");
        return;
    }
    let Some(mut site) = Site::with("guests", "LIBVIRT_DEFAULT_URI=test:///default") else { return };
    site.sshd.go_on();
    let answer = &lines(&site.run(&["status", "ham0", "--json"]).stdout)[0];
    let expected = serde_json::json!([{ "name": "test", "on": true, "cpus": null, "memory_bytes": null }]);
    assert_eq!(answer["facts"]["guests"], expected, "{answer}");
}

#[test]
fn loop_a_second_run_sends_less_than_64_kb() {
    let Some(site) = Site::started("bytes") else { return };
    let relay = Relay::to(site.sshd.port());
    let config = site.dir.join("relayed");
    // ssh takes the first value that it finds.
    let own = fs::read_to_string(&site.config).unwrap();
    fs::write(&config, format!("Host ham0\n Port {}\n{own}", relay.port)).unwrap();
    let doctor = || {
        let said = site.command(&["doctor", "ham0"]).env("DISKPROOF_SSH_CONFIG", &config).output().unwrap();
        assert!(text(&said.stdout).starts_with("── ham0\n"), "{}{}", text(&said.stdout), text(&said.stderr));
        relay.sent()
    };
    let program = fs::metadata(site.dir.join("diskproof")).unwrap().len();
    let (first, second) = (doctor(), doctor());
    eprintln!("sent: {first} bytes, then {second}");
    assert!(first > program, "the program travels: {first}");
    assert!(second < 64 << 10, "{second}");
}

/// The command line of the unit that is shipped is one that this program takes, and systemd reads the unit.
#[test]
fn loop_the_unit_of_the_watch_is_right() {
    let Some(site) = Site::started("unit") else { return };
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/systemd/diskproof-watch.service");
    let tell = site.dir.join("tell");
    fs::write(&tell, "#!/bin/sh\n").unwrap();
    assert!(Command::new("chmod").arg("755").arg(&tell).status().unwrap().success());
    let at = site.dir.to_string_lossy();
    let text_here = fs::read_to_string(unit)
        .unwrap()
        .replace("/usr/local/bin/diskproof-alert", &tell.to_string_lossy())
        .replace("/usr/local/bin/diskproof", &format!("{at}/diskproof"))
        .replace("/etc/diskproof/machines.yaml", &format!("{at}/.config/diskproof/machines.yaml"));
    let start = text_here.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let start = start.replace("${STATE_DIRECTORY}", &at);
    let words: Vec<&str> = start.split(' ').skip(2).chain(["ham0", "--once"]).collect();
    let watched = site.run(&words);
    assert!(watched.status.success(), "{}", text(&watched.stderr));
    assert!(site.dir.join("watch.json").exists());
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        eprintln!("SKIPPED systemd's own reading: needs systemd-analyze");
        return;
    }
    let copy = site.dir.join("diskproof-watch.service");
    fs::write(&copy, text_here).unwrap();
    let read = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&copy).output().unwrap();
    assert!(read.status.success() && read.stderr.is_empty(), "{}", text(&read.stderr));
}
