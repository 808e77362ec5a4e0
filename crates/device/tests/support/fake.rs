//! Fake machines.
#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a test that can't set up its scene fails; every test binary uses a part of it"
)]
#![allow(unreachable_pub, reason = "every test binary uses a part of it")]

use diskproof_device::{Check, DiskReport, Dissent, Roots, Word, inventory};
use host::{CommandFailure, Invocation, Output, Runner};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A fake blkid that finds nothing.
pub struct Nothing;

impl Runner for Nothing {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        Ok(Output { status: 2, argv: cmd.argv(), ..Output::default() })
    }
}

/// A fake tree of /proc, /sys and /dev. Device nodes are files that contain their number.
pub struct Machine {
    dir: TempDir,
    pub roots: Roots,
}

/// The statements of an owner who doesn't care about the contents of the disk.
pub fn whatever() -> Word {
    Word { overwrite_data: true, ..Word::default() }
}

pub const ROOT_ON_NFS: &str = "22 1 0:40 / / rw - nfs server:/root rw\n";

impl Machine {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        let machine = Self { dir, roots };
        for path in ["sys/block", "sys/class/block", "sys/dev/block", "sys/devices", "dev/disk/by-id"] {
            fs::create_dir_all(machine.dir.path().join(path)).unwrap();
        }
        machine.write("proc/swaps", "Filename Type Size Used Priority\n");
        machine.namespace("self", "mnt:[1]", ROOT_ON_NFS);
        machine.namespace("1", "mnt:[1]", ROOT_ON_NFS);
        machine.link("proc/1/ns/pid", "pid:[4026531836]");
        machine
    }

    pub fn path(&self, rest: &str) -> PathBuf {
        self.dir.path().join(rest)
    }

    pub fn write(&self, rest: &str, text: &str) {
        let path = self.path(rest);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn link(&self, rest: &str, target: impl AsRef<Path>) {
        let link = self.path(rest);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&link);
        symlink(target, link).unwrap();
    }

    pub fn namespace(&self, pid: &str, namespace: &str, mountinfo: &str) {
        let link = self.path(&format!("proc/{pid}/ns/mnt"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&link);
        symlink(namespace, link).unwrap();
        self.write(&format!("proc/{pid}/mountinfo"), mountinfo);
    }

    /// Adds a block device at `sys/devices/<place>/<name>`.
    pub fn block(&self, place: &str, name: &str, devno: &str) {
        let dir = format!("sys/devices/{place}/{name}");
        for (file, text) in [("dev", devno), ("size", "2048"), ("ro", "0")] {
            self.write(&format!("{dir}/{file}"), &format!("{text}\n"));
        }
        self.write(&format!("{dir}/uevent"), &format!("DEVNAME={}\n", name.replace('!', "/")));
        for sub in ["holders", "slaves"] {
            fs::create_dir_all(self.path(&dir).join(sub)).unwrap();
        }
        for link in [format!("sys/class/block/{name}"), format!("sys/dev/block/{devno}")] {
            symlink(self.path(&dir), self.path(&link)).unwrap();
        }
        self.write(&format!("dev/{}", name.replace('!', "/")), devno);
    }

    /// Adds a disk that is plugged in somewhere.
    pub fn disk(&self, name: &str, devno: &str) {
        self.block(&format!("pci0/{name}-port/block"), name, devno);
        let dir = format!("sys/devices/pci0/{name}-port");
        symlink(self.path(&dir), self.path(&format!("{dir}/block/{name}/device"))).unwrap();
        symlink(self.path(&format!("{dir}/block/{name}")), self.path(&format!("sys/block/{name}"))).unwrap();
    }

    pub fn partition(&self, disk: &str, name: &str, devno: &str) {
        self.block(&format!("pci0/{disk}-port/block/{disk}"), name, devno);
        self.write(&format!("sys/class/block/{name}/partition"), "1\n");
    }

    /// Adds a stacked device, as the holder of the devices below it.
    pub fn stacked(&self, name: &str, devno: &str, on: &[&str]) {
        self.block("virtual/block", name, devno);
        for below in on {
            symlink("..", self.path(&format!("sys/class/block/{below}/holders/{name}"))).unwrap();
            symlink("..", self.path(&format!("sys/class/block/{name}/slaves/{below}"))).unwrap();
        }
    }

    pub fn report(&self, name: &str) -> DiskReport {
        let all = inventory(&self.roots, &Nothing, None);
        all.into_iter().find(|d| d.path == self.roots.dev.join(name)).unwrap()
    }

    pub fn dissent(&self, name: &str, witness: Check) -> Vec<Dissent> {
        self.report(name).dissent.into_iter().filter(|d| d.witness == witness).collect()
    }

    pub fn objects(&self, name: &str, witness: Check, words: &[&str]) {
        let found = self.dissent(name, witness);
        for word in words {
            let said = found.iter().any(|d| d.heard && (d.saw.contains(word) || d.remedy.contains(word)));
            assert!(said, "{witness} doesn't say {word:?} about {name}: {found:#?}");
        }
    }

    pub fn unheard(&self, name: &str, witness: Check, word: &str) {
        let found = self.dissent(name, witness);
        let said = found.iter().any(|d| !d.heard && d.saw.contains(word));
        assert!(said, "{witness} was heard about {name}: {found:#?}");
        assert!(!self.report(name).free, "a witness that couldn't be heard, and yet free");
    }

    pub fn silent(&self, name: &str, witnesses: &[Check]) {
        for witness in witnesses {
            let found = self.dissent(name, *witness);
            assert!(found.is_empty(), "{witness} objects to {name}: {found:#?}");
        }
    }
}
