//! Machines with libvirt, and the program under test beside them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use testkit::LibvirtMachines;

pub(crate) struct Site {
    pub(crate) dir: PathBuf,
    pub(crate) machines: LibvirtMachines,
    _alone: testkit::Exclusive,
}

impl Site {
    /// Starts machines with libvirt. Without root or a program, prints a message and returns `None`.
    pub(crate) fn new(name: &str, machines: &[&str]) -> Option<Self> {
        if let Some(lack) = LibvirtMachines::lacks() {
            eprintln!("SKIPPED {name}: needs {lack}");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("guests-{name}"));
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let machines_of = LibvirtMachines::start(&dir, machines);
        let list: String = machines.iter().map(|name| format!("  {name}: {{}}\n")).collect();
        fs::create_dir_all(dir.join(".config/diskproof")).unwrap();
        fs::write(dir.join(".config/diskproof/machines.yaml"), format!("machines:\n{list}")).unwrap();
        // The user's own key is the one that the machines take.
        fs::create_dir_all(dir.join(".ssh")).unwrap();
        fs::copy(machines_of.key().with_extension("pub"), dir.join(".ssh/id_ed25519.pub")).unwrap();
        Some(Self { dir, machines: machines_of, _alone: alone })
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let mut command = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        command.env("DISKPROOF_SSH_CONFIG", self.machines.ssh_config()).env("XDG_RUNTIME_DIR", &self.dir);
        command.output().unwrap()
    }

    /// Runs a command that must end well; returns its output.
    pub(crate) fn well(&self, args: &[&str]) -> String {
        let output = self.run(args);
        // What a failed test shows, and what docs/how-to/guests.md shows.
        eprintln!("$ diskproof {}\n{}{}", args.join(" "), stderr(&output), stdout(&output));
        assert!(output.status.success(), "{args:?}");
        stdout(&output)
    }

    /// Runs a program here that must end well.
    #[allow(dead_code, reason = "not every test that has a site runs programs here")]
    pub(crate) fn tool(&self, program: &str, words: &[&str]) -> String {
        let output = Command::new(program).args(words).current_dir(&self.dir).output().unwrap();
        assert!(output.status.success(), "{program} {words:?}: {}", stderr(&output));
        stdout(&output)
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
