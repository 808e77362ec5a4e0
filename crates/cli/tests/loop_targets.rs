//! Runs on other machines, with a real sshd and ssh over loopback. The remote machine is this one, with its own state folder.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::Sshd;

const BOTH: &str = "
experiment: both
targets: { here: local, far: { ssh: far } }
volumes: { vol: { emulate: { size: 64m } } }
stacks: { raw: { on: vol } }
workloads: { read: { rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1 } }
measure: { trial: 1s, ramp: 1s, rounds: 2 }
";

const LONG: &str = "
experiment: long
targets: { far: { ssh: far } }
volumes: { vol: { emulate: { size: 64m } } }
stacks: { ext4: { layers: [ { ext4: { on: vol } } ] } }
workloads: { read: { rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1 } }
measure: { trial: 60s, ramp: 1s, rounds: 1 }
";

const PROVISIONED: &str = "
experiment: tuned
targets: { here: local, far: { ssh: far } }
provision: [ { shell: tune.sh, args: [DIR], target: far } ]
volumes: { near: { directory: near, target: here }, away: { directory: away, target: far } }
stacks: { near: { on: near }, away: { on: away } }
workloads: { read: { rw: randread, size: 1m } }
measure: { trial: 500ms, ramp: 0s, rounds: 1 }
";

/// The folders of the controller and of the remote machine, and the sshd between them.
struct Site {
    dir: PathBuf,
    config: PathBuf,
    _sshd: Sshd,
    _alone: testkit::Exclusive,
}

impl Site {
    /// Without root, prints a message and returns `None`.
    fn new(name: &str) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("targets-{name}"));
        // The program is copied to the remote side, without its debug information to save time.
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let at = dir.to_string_lossy();
        let sshd = Sshd::start(&dir, &format!("SetEnv DISKPROOF_STATE={at}/far XDG_CACHE_HOME={at}/cache"));
        let config = sshd.client(&[("far", "127.0.0.1"), ("gone", "127.0.0.1\n Port 1")]);
        Some(Self { dir, config, _sshd: sshd, _alone: alone })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        command.env("DISKPROOF_STATE", self.dir.join("here")).env("DISKPROOF_SSH_CONFIG", &self.config);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Leftovers of agent processes on either side.
    fn left(&self) -> Vec<PathBuf> {
        let folders = ["here", "far"]
            .into_iter()
            .flat_map(|side| ["journal", "volumes", "mnt"].map(|folder| self.dir.join(side).join(folder)));
        folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten().map(|e| e.path()).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !testkit::keep_wreck() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn loop_one_experiment_runs_on_two_machines() {
    let Some(site) = Site::new("both") else { return };
    fs::write(site.dir.join("e.yaml"), BOTH).unwrap();
    let ran = site.run(&["run", "e.yaml", "--json"]);
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
    let export: Value = serde_json::from_slice(&site.run(&["export", "latest", "--json"]).stdout).unwrap();
    let cells = export["cells"].as_array().unwrap();
    let done: Vec<(&str, u64)> = cells
        .iter()
        .map(|cell| (cell["target"].as_str().unwrap(), cell["trials"]["done"].as_u64().unwrap()))
        .collect();
    assert_eq!(done, [("here", 2), ("far", 2)]);
    let volumes: Vec<&str> =
        export["volumes"].as_array().unwrap().iter().map(|v| v["target"].as_str().unwrap()).collect();
    assert_eq!(volumes, ["here", "far"], "each has its own");
    assert!(export["environment"]["elsewhere"]["far"]["kernel"].is_string(), "the far machine is known");
    let copies: Vec<_> = fs::read_dir(site.dir.join("cache/diskproof")).unwrap().flatten().collect();
    assert_eq!(copies.len(), 1);
    let copy = fs::metadata(copies[0].path().join("diskproof")).unwrap();
    assert_eq!(copy.permissions().mode() & 0o777, 0o755);
    assert_eq!(site.left(), Vec::<PathBuf>::new());
}

#[test]
fn loop_a_far_machine_is_provisioned_and_its_failure_names_it() {
    let Some(site) = Site::new("provisioned") else { return };
    let dir = site.dir.to_string_lossy().into_owned();
    fs::create_dir(site.dir.join("near")).unwrap();
    fs::create_dir(site.dir.join("away")).unwrap();
    fs::write(site.dir.join("e.yaml"), PROVISIONED.replace("DIR", &dir)).unwrap();
    let script = "#!/bin/sh\n[ -e $1/tuned ] && { echo changed=0; exit; }\ntouch $1/tuned\necho changed=1\n";
    fs::write(site.dir.join("tune.sh"), script).unwrap();
    for skipped in [false, true] {
        let ran = site.run(&["run", "e.yaml", "--json"]);
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let export: Value =
            serde_json::from_slice(&site.run(&["export", "latest", "--json"]).stdout).unwrap();
        let environment = &export["environment"];
        assert!(environment.get("provision").is_none(), "it is not for this target");
        let step = &environment["elsewhere"]["far"]["provision"][0];
        let changed = [&step["runs"][0]["changed"], &step["runs"][1]["changed"]];
        assert_eq!((changed, &step["skipped"]), ([&1.into(), &0.into()], &skipped.into()));
    }
    assert!(site.dir.join("far/provision.json").exists() && !site.dir.join("here/provision.json").exists());
    fs::write(site.dir.join("tune.sh"), "#!/bin/sh\nexit 9\n").unwrap();
    let failed = site.run(&["run", "e.yaml"]);
    assert_eq!(failed.status.code(), Some(3));
    let said = text(&failed.stderr);
    assert!(
        said.contains(
            "provisioning target far failed: step 1 of 1, `shell tune.sh`, first run: ended with status 9"
        ),
        "{said}"
    );
}

#[test]
fn loop_a_line_that_breaks_is_undone_on_the_far_side() {
    let Some(site) = Site::new("broken") else { return };
    fs::write(site.dir.join("e.yaml"), LONG).unwrap();
    let mut command = site.command(&["run", "e.yaml", "--json"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(run.stdout.take().unwrap()).lines();
    let measuring = events.any(|line| line.unwrap().contains("\"step\":\"measure\""));
    assert!(measuring, "the trial has begun");
    assert!(!site.left().is_empty(), "something is built there");
    kill_ssh_of(run.id());
    std::thread::spawn(move || events.for_each(drop));
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("target far"), "{}", text(&ended.stderr));
    wait_for("the far side to be undone", || site.left().is_empty());
    let undone = site.run(&["on", "far", "undo"]);
    assert_eq!((undone.status.code(), text(&undone.stdout).as_str()), (Some(0), "nothing\n"));
}

/// Kills only the `ssh` that a process started.
fn kill_ssh_of(pid: u32) {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let is_ssh = |child: &&str| fs::read_to_string(format!("/proc/{child}/comm")).unwrap().trim() == "ssh";
    let ssh = children.split_whitespace().find(is_ssh).expect("an ssh");
    let killed = Command::new("kill").args(["-9", ssh]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn loop_a_plan_asks_the_far_machine_what_it_lacks() {
    let Some(site) = Site::new("plan") else { return };
    fs::write(site.dir.join("both.yaml"), BOTH).unwrap();
    let plan = |args: &[&str]| {
        let answer = site.run(&[&["plan", "both.yaml"], args].concat());
        (answer.status.code(), text(&answer.stdout) + &text(&answer.stderr))
    };
    let (code, said) = plan(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("far was not asked: `plan --here` asks it over ssh"), "{said}");
    assert!(!site.dir.join("cache").exists(), "nothing was copied there");
    let (code, said) = plan(&["--here"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("everything that this needs is on far"), "{said}");
    let far = BOTH.replace("vol: { emulate: { size: 64m } }", "vol: { disks: [no-such-disk], target: far }");
    fs::write(site.dir.join("both.yaml"), far).unwrap();
    let (code, said) = plan(&["--here"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("missing on far: disk no-such-disk"), "{said}");
    fs::write(site.dir.join("both.yaml"), BOTH.replace("ssh: far", "ssh: gone")).unwrap();
    let (code, said) = plan(&["--here", "--json"]);
    assert_eq!(code, Some(3), "{said}");
    let json: Value = serde_json::from_str(&said).unwrap();
    assert!(json["not_asked"]["far"].as_str().unwrap().contains("can't be reached"), "{said}");
    assert_eq!(json["missing_there"], serde_json::json!({}));
    assert_eq!(site.left(), Vec::<PathBuf>::new());
}

#[test]
fn loop_any_verb_runs_on_another_machine() {
    let Some(site) = Site::new("verbs") else { return };
    let devices = site.run(&["on", "far", "devices", "--json"]);
    assert!(devices.status.success(), "{}", text(&devices.stderr));
    assert!(serde_json::from_slice::<Value>(&devices.stdout).is_ok(), "{}", text(&devices.stdout));
    let wrong = site.run(&["on", "far", "show", "no-such-run"]);
    assert_eq!(wrong.status.code(), Some(2), "the far verb's own code");
    let gone = site.run(&["on", "gone", "devices"]);
    assert_eq!(gone.status.code(), Some(3));
    let complaint = text(&gone.stderr);
    assert!(complaint.contains("gone can't be reached: ") && complaint.contains("refused"), "{complaint}");
}
