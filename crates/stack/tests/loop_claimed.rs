//! Claimed disks that lose their name, whose name leads elsewhere, or that are away while a stack is taken down: what we wrote on
//! them is removed, or stays in the journal until it can be removed. Loop devices with serial numbers stand for the disks.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

extern crate device as diskproof_device;

#[path = "../../device/tests/support/mirror.rs"]
#[allow(unreachable_pub, reason = "the guard's tests have it in a module of theirs")]
mod mirror;
mod support;

use device::{Candidate, ClaimBook, Word};
use diskproof_stack::{
    ActError, Built, Journal, NoHooks, StackError, UndoError, UndoReport, Volumes, build, leftovers,
    undo_run, undo_run_without,
};
use mirror::Mirror;
use record::stack::{FsKind, Rebuild, Stack};
use record::volume::{Volume, VolumeKind};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use support::{Bench, chain, simple};
use testkit::{LoopDevice, exclusive, is_root};

const NAME: &str = "test-DISK_A1";
const SERIAL: &str = "A1";

macro_rules! need_root {
    () => {
        if !is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let _machine = exclusive();
    };
}

/// The owner's confirmation. On some machines even root can't examine every process.
fn word() -> Word {
    Word { overwrite_data: true, unseen_processes: true, ..Word::default() }
}

/// A claimed disk, and a second one.
struct Disks {
    bench: Bench,
    disk: LoopDevice,
    other: LoopDevice,
    mirror: Mirror,
}

impl Disks {
    fn new(name: &str) -> Self {
        Self::of(name, 64 << 20)
    }

    fn of(name: &str, bytes: u64) -> Self {
        let bench = Bench::new(name);
        bench.state();
        let disk = LoopDevice::new(bytes, &format!("{name}-disk"));
        let other = LoopDevice::new(64 << 20, &format!("{name}-other"));
        let mirror = Mirror::new(bench.dir.join("mirror"));
        let mut disks = Self { bench, disk, other, mirror };
        disks.show(SERIAL, Some(&disks.disk.name()));
        let mut book = ClaimBook::open(&disks.bench.state_dir()).unwrap();
        book.claim(&Candidate::by_id(&disks.bench.roots, NAME).unwrap(), word()).unwrap();
        disks
    }

    /// Shows a machine with the disk of this serial number, and its name as a link to this device or gone.
    fn show(&mut self, serial: &str, name: Option<&str>) {
        let serials = [(self.disk.name(), serial.to_owned()), (self.other.name(), "B2".to_owned())];
        let ids: Vec<_> = name.map(|device| (NAME.to_owned(), device.to_owned())).into_iter().collect();
        self.bench.roots = self.mirror.refresh(&serials, &ids);
        // mount(8) follows links, and then the kernel shows another name than the one that was mounted.
        for disk in [&self.disk, &self.other] {
            let node = self.bench.roots.dev.join(disk.name());
            let number = fs::metadata(disk.path()).unwrap().rdev();
            fs::remove_file(&node).unwrap();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, &node, rustix::fs::FileType::BlockDevice, mode, number)
                .unwrap();
        }
    }

    fn volumes(&self) -> Vec<Volume> {
        vec![Volume { name: "disk".to_owned(), kind: VolumeKind::Disk { id: NAME.to_owned() } }]
    }

    fn stack(&self) -> Stack {
        Stack {
            name: "ext4".to_owned(),
            volumes: self.volumes(),
            beside: Vec::new(),
            layers: vec![simple(FsKind::Ext4)],
            rebuild: Rebuild::Trial,
        }
    }

    /// Builds the stack, and passes it to a closure that disturbs it.
    fn built<T>(&mut self, then: impl FnOnce(&mut Self, Journal, Volumes, Built) -> T) -> T {
        let (state_dir, hooks, roots) = (self.bench.state_dir(), NoHooks, self.bench.roots.clone());
        let machine = diskproof_stack::Machine {
            runner: &host::LocalRunner,
            roots: &roots,
            state_dir: &state_dir,
            prefix: testkit::PREFIX,
            hooks: &hooks,
        };
        let mut journal = Journal::open(&machine, &self.bench.run).unwrap();
        let never = AtomicBool::new(false);
        let volumes =
            Volumes::provide(&machine, &mut journal, &self.volumes(), &mut |_, _| {}, &never).unwrap();
        let built = build(&machine, &mut journal, &volumes, &self.stack())
            .unwrap_or_else(|error| panic!("{}", chain(&error)));
        then(self, journal, volumes, built)
    }

    fn undo(&self) -> Result<UndoReport, UndoError> {
        let state_dir = self.bench.state_dir();
        undo_run(&self.bench.machine(&state_dir, &NoHooks), &self.bench.run)
    }

    fn give_up(&self, name: &str) -> Result<UndoReport, UndoError> {
        let state_dir = self.bench.state_dir();
        undo_run_without(&self.bench.machine(&state_dir, &NoHooks), &self.bench.run, Some(name))
    }

    fn left(&self) -> usize {
        let state_dir = self.bench.state_dir();
        leftovers(&self.bench.machine(&state_dir, &NoHooks)).unwrap().iter().map(|left| left.acts.len()).sum()
    }

    fn journal(&self) -> PathBuf {
        self.bench.state_dir().join("journal").join(format!("{}.jsonl", self.bench.run))
    }
}

fn is_signed(disk: &LoopDevice) -> bool {
    Command::new("blkid").arg("-p").arg(disk.path()).output().unwrap().status.success()
}

/// Asserts that one disk is out of reach and nothing else is wrong.
fn out_of_reach(undone: Result<UndoReport, UndoError>) -> String {
    match undone {
        Err(UndoError::Steps { failures, .. }) => {
            assert!(failures.iter().all(|f| matches!(f.error, ActError::OutOfReach { .. })), "{failures:?}");
            failures[0].error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn loop_a_name_that_vanishes_while_the_stack_is_taken_down_leaves_nothing() {
    need_root!();
    let mut disks = Disks::new("claimed");
    disks.built(|disks, mut journal, volumes, built| {
        assert!(is_signed(&disks.disk));
        disks.show(SERIAL, None);
        let (state_dir, hooks) = (disks.bench.state_dir(), NoHooks);
        built.undo(&disks.bench.machine(&state_dir, &hooks), &mut journal).unwrap();
        assert!(!is_signed(&disks.disk), "our file system is gone, whatever the disk is called");
        drop(volumes);
        journal.undo_all(&disks.bench.machine(&state_dir, &hooks)).unwrap();
    });
    disks.show(SERIAL, Some(&disks.disk.name()));
    disks.built(|disks, journal, volumes, built| {
        drop((journal, volumes, built));
        assert!(is_signed(&disks.disk));
    });
    disks.undo().unwrap();
    assert!(!is_signed(&disks.disk) && disks.left() == 0);
}

#[test]
fn loop_a_name_that_leads_elsewhere_costs_the_other_disk_nothing() {
    need_root!();
    let mut disks = Disks::new("claimed");
    let made = Command::new("mkfs.ext4").arg("-qF").arg(disks.other.path()).status().unwrap();
    assert!(made.success());
    disks.built(|disks, journal, volumes, built| {
        drop((journal, volumes, built));
        disks.show(SERIAL, Some(&disks.other.name()));
    });
    disks.undo().unwrap();
    assert!(is_signed(&disks.other) && !is_signed(&disks.disk));
    // No stack can be built on it either.
    let (state_dir, hooks) = (disks.bench.state_dir(), NoHooks);
    let machine = disks.bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &disks.bench.run).unwrap();
    let never = AtomicBool::new(false);
    let refused = Volumes::provide(&machine, &mut journal, &disks.volumes(), &mut |_, _| {}, &never);
    let refused = refused.unwrap_err();
    assert!(matches!(refused, StackError::Act { source: ActError::Guard { .. }, undo: None, .. }));
    assert!(refused.is_refusal() && !refused.left_something());
    journal.undo_all(&machine).unwrap();
}

#[test]
fn loop_a_disk_that_is_away_stays_in_the_journal_until_it_is_back() {
    need_root!();
    for rebooted in [false, true] {
        let mut disks = Disks::new("claimed");
        let acts = disks.built(|disks, mut journal, volumes, built| {
            disks.show("", None);
            let (state_dir, hooks) = (disks.bench.state_dir(), NoHooks);
            let undone = built.undo(&disks.bench.machine(&state_dir, &hooks), &mut journal);
            let said = out_of_reach(undone.map(|()| panic!("it can't be")));
            for word in [NAME, SERIAL, "no disk of this machine is it", "--give-up test-DISK_A1"] {
                assert!(said.contains(word), "{word}: {said}");
            }
            drop(volumes);
            journal.open_acts()
        });
        assert_eq!(acts, 1, "the mount and its directory are gone all the same");
        if rebooted {
            let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
            let text = fs::read_to_string(disks.journal()).unwrap();
            fs::write(disks.journal(), text.replace(boot.trim(), "an-earlier-boot")).unwrap();
        }
        for _ in 0..2 {
            out_of_reach(disks.undo());
            assert_eq!(disks.left(), 1, "and is told by whoever asks for what is left");
        }
        disks.show(SERIAL, rebooted.then(|| disks.disk.name()).as_deref());
        let report = disks.undo().unwrap();
        assert_eq!(report.undone.len(), 1, "{report}");
        assert!(!is_signed(&disks.disk) && disks.left() == 0 && !disks.journal().exists());
    }
}

#[test]
fn loop_a_disk_that_never_returns_is_given_up_by_name_only() {
    need_root!();
    for name in [NAME, SERIAL] {
        let mut disks = Disks::new("claimed");
        disks.built(|disks, journal, volumes, built| {
            drop((journal, volumes, built));
            disks.show("", None);
        });
        out_of_reach(disks.undo());
        out_of_reach(disks.give_up("another-disk"));
        let report = disks.give_up(name).unwrap();
        assert!(
            report.to_string().contains("was given up; what diskproof wrote on it stays there"),
            "{report}"
        );
        assert!(is_signed(&disks.disk) && disks.left() == 0, "nobody touched it");
    }
    // A given-up disk that is present all the same is cleaned up.
    let mut disks = Disks::new("claimed");
    disks.built(|_, journal, volumes, built| drop((journal, volumes, built)));
    disks.give_up(NAME).unwrap();
    assert!(!is_signed(&disks.disk));
}

#[test]
fn loop_a_disk_whose_claim_was_taken_back_is_not_written_to() {
    need_root!();
    let mut disks = Disks::new("claimed");
    disks.built(|_, journal, volumes, built| drop((journal, volumes, built)));
    let mut book = ClaimBook::open(&disks.bench.state_dir()).unwrap();
    book.unclaim(NAME).unwrap();
    let said = out_of_reach(disks.undo());
    assert!(said.contains("taken the claim back"), "{said}");
    assert!(is_signed(&disks.disk));
    book.claim(&Candidate::by_id(&disks.bench.roots, NAME).unwrap(), word()).unwrap();
    disks.undo().unwrap();
    assert!(!is_signed(&disks.disk));
}

/// A real disk keeps what we wrote through a reboot; only a file system with our own UUID is removed. The journal is that of an
/// earlier diskproof, which didn't record the disk's identity.
#[test]
fn loop_claimed_disk_loses_only_our_signature() {
    need_root!();
    let disks = Disks::new("claimed");
    let ours = "11111111-2222-3333-4444-555555555555";
    let theirs = "99999999-2222-3333-4444-555555555555";
    for (on_disk, left) in [(ours, false), (theirs, true)] {
        let mkfs = Command::new("mkfs.ext4").args(["-qFU", on_disk]).arg(disks.disk.path()).status().unwrap();
        assert!(mkfs.success());
        write_journal(&disks.journal(), "claimed", "ext4", ours);
        let report = disks.undo().unwrap();
        assert_eq!(report.skipped.len(), usize::from(left), "{report}");
        assert_eq!(is_signed(&disks.disk), left, "{report}");
    }
}

/// wipefs removes only the first superblock's magic; because of the copies the guard would never accept the disk again.
#[test]
fn loop_claimed_disk_loses_the_copies_of_our_superblock_too() {
    need_root!();
    const BYTES: u64 = 320 << 20;
    let disks = Disks::of("copies", BYTES);
    let (ours, theirs) = ("11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555");
    let path = disks.disk.path();
    let copies = || device::superblock_copies(&fs::File::open(path).unwrap(), BYTES).unwrap();
    let run = |program: &str, args: &[&str]| {
        assert!(Command::new(program).args(args).arg(path).status().unwrap().success(), "{program}");
    };
    for (fs, program, made) in
        [("ext4", "mkfs.ext4", &["-qF", "-b1024", "-U"][..]), ("xfs", "mkfs.xfs", &["-qf", "-m"])]
    {
        for (on_disk, damaged) in [(ours, false), (ours, true), (theirs, false)] {
            let uuid = if fs == "xfs" { format!("uuid={on_disk}") } else { on_disk.to_owned() };
            run(program, &[made, &[&uuid]].concat());
            let before = copies();
            assert!(before.len() > 2, "{fs}: {before:?}");
            if damaged {
                // As after an undo that was killed after wipefs, followed by a load.
                let device = fs::File::options().write(true).open(path).unwrap();
                std::os::unix::fs::FileExt::write_all_at(&device, &[0; 8192], 0).unwrap();
            }
            write_journal(&disks.journal(), "copies", fs, ours);
            let report = disks.undo().unwrap();
            let left = copies();
            if on_disk == ours {
                assert_eq!(left, [], "{fs}: {report}");
            } else {
                assert_eq!(left, before, "{fs}: somebody else's were touched");
            }
            run("wipefs", &["-qa"]);
            run("blkdiscard", &["--zeroout"]);
        }
    }
}

fn write_journal(path: &Path, run: &str, fs: &str, uuid: &str) {
    let session = serde_json::json!({ "line": "session", "format": { "major": 1, "minor": 0 }, "run": run,
        "prefix": testkit::PREFIX, "boot_id": "old", "pid": 1 });
    let device = serde_json::json!({ "path": "/dev/sdz", "devno": [8, 99], "title": { "claimed": NAME } });
    let act = serde_json::json!({ "act": "mkfs", "fs": fs, "devices": [device], "uuid": uuid, "args": [] });
    let intent = serde_json::json!({ "line": "intent", "step": 0, "act": act });
    fs::write(path, format!("{session}\n{intent}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
