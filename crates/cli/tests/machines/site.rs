//! A real sshd with several names, and the program beside it.

#![allow(dead_code, reason = "each test file uses a part")]

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use testkit::{Silence, Sshd};

const MACHINES: &str = "
machines:
  ham0: { groups: [storage] }
  ham1: { groups: [storage], tags: [nvme] }
  closed: { ssh: root@closed }
  stranger: {}
";

pub(crate) struct Site {
    pub(crate) dir: PathBuf,
    pub(crate) sshd: Sshd,
    pub(crate) config: PathBuf,
    _alone: testkit::Exclusive,
}

impl Site {
    /// A stopped sshd. Without root, prints a message and returns `None`.
    pub(crate) fn new(name: &str) -> Option<Self> {
        Self::with(name, "")
    }

    /// The same with more variables for what runs there.
    pub(crate) fn with(name: &str, variables: &str) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("machines-{name}"));
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let at = dir.to_string_lossy();
        let variables = format!("SetEnv DISKPROOF_STATE={at}/far XDG_CACHE_HOME={at}/cache {variables}");
        let sshd = Sshd::stopped(&dir, &variables);
        let config = sshd.client(&[
            ("ham0", "127.0.0.1"),
            ("ham1", "127.0.0.2"),
            ("lost", Silence::ADDRESS),
            ("closed", "127.0.0.1\n Port 1"),
            ("stranger", "127.0.0.1\n UserKnownHostsFile none"),
        ]);
        fs::create_dir_all(dir.join(".config/diskproof")).unwrap();
        fs::write(dir.join(".config/diskproof/machines.yaml"), MACHINES).unwrap();
        Some(Self { dir, sshd, config, _alone: alone })
    }

    pub(crate) fn started(name: &str) -> Option<Self> {
        let mut site = Self::new(name)?;
        site.sshd.go_on();
        Some(site)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command =
            testkit::program(self.dir.join("diskproof"), &self.dir, &[&["machines"], args].concat());
        command.env("DISKPROOF_SSH_CONFIG", &self.config).env("XDG_RUNTIME_DIR", &self.dir);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Directories with sockets that are left.
    pub(crate) fn sockets(&self) -> Vec<String> {
        let names = fs::read_dir(&self.dir)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("diskproof-ssh-")).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !testkit::keep_wreck() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn lines(bytes: &[u8]) -> Vec<Value> {
    text(bytes).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
