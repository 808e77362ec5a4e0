//! A manipulated journal in root's own state directory: for each act, a line that names an object that was never ours. The undo
//! checks the object itself, leaves it alone and reports it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{ActError, NoHooks, UndoError, undo_run};
use record::printable::Shown as _;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use support::{Bench, chain};
use testkit::{LoopDevice, exclusive, is_root};

const UUID: &str = "11111111-2222-3333-4444-555555555555";
/// A setting of the machine that diskproof never changes; a wrong value does no harm for a moment.
const OTHER_SETTING: &str = "/proc/sys/vm/laptop_mode";

/// Objects that aren't ours, and whether they are unchanged.
struct Foreign {
    bench: Bench,
    disk: LoopDevice,
    /// A loop device of ours, over a file in our own directory.
    own: Own,
    process: Child,
}

struct Own {
    node: PathBuf,
    file: PathBuf,
}

impl Own {
    fn new(bench: &Bench) -> Self {
        let file = bench.state_dir().join("volumes/diskproof-test-hostile-0-own.img").canonicalize();
        let file = file.unwrap_or_else(|_| {
            bench.state_dir().canonicalize().unwrap().join("volumes/diskproof-test-hostile-0-own.img")
        });
        fs::write(&file, vec![0; 1 << 20]).unwrap();
        let said = Command::new("losetup").args(["--find", "--show"]).arg(&file).output().unwrap();
        Self { node: PathBuf::from(String::from_utf8(said.stdout).unwrap().trim()), file }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.own.node).status();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn devno(node: &Path) -> Value {
    let rdev = fs::metadata(node).unwrap().rdev();
    json!([rustix::fs::major(rdev), rustix::fs::minor(rdev)])
}

impl Foreign {
    fn new() -> Self {
        let bench = Bench::new("hostile");
        bench.state();
        let own = Own::new(&bench);
        let disk = LoopDevice::new(16 << 20, "hostile-foreign");
        let made = Command::new("mkfs.ext4").args(["-qFU", UUID]).arg(disk.path()).status().unwrap();
        assert!(made.success());
        let process = Command::new("sleep").arg("600").spawn().unwrap();
        let group = bench.dir.join("diskproof-test-hostile");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cgroup.procs"), format!("{}\n", process.id())).unwrap();
        fs::write(group.join("io.max"), "7:0 rbps=1\n").unwrap();
        fs::write(bench.dir.join("cgroup.subtree_control"), "io\n").unwrap();
        fs::write(bench.dir.join("file"), "after\n").unwrap();
        let etab = format!("{}\t127.0.0.1(rw,fsid={UUID})\n", group.shown());
        fs::write(bench.dir.join("etab"), etab).unwrap();
        Self { bench, disk, own, process }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.bench.dir.join(name)
    }

    fn device(&self, path: &Path, number: &Path, title: &Value) -> Value {
        json!({ "path": path, "devno": devno(number), "title": title })
    }

    /// For each act, lines that name objects that aren't ours.
    fn acts(&self) -> Vec<Value> {
        let disk = self.disk.path();
        let foreign = |title: Value| self.device(disk, disk, &title);
        let backing = foreign(json!({ "backing": self.disk.backing() }));
        let by_path = foreign(json!({ "claimed": disk }));
        let made = foreign(json!("made"));
        // The number is that of our own device, the path isn't.
        let crossed = self.device(disk, &self.own.node, &json!({ "backing": self.own.file }));
        let named = json!({ "path": disk, "devno": devno(disk), "title": { "claimed": "some-disk" },
            "disk": { "wwn": null, "serial": "S1", "model": null, "size_bytes": 16 << 20, "plugged": null } });
        let knob = format!("/sys/block/{}/queue/read_ahead_kb", self.disk.name());
        let knob = Path::new(&knob).canonicalize().unwrap();
        let ahead = fs::read_to_string(&knob).unwrap();
        let other = fs::read_to_string(OTHER_SETTING).unwrap();
        let mkfs = |device: &Value| json!({ "act": "mkfs", "fs": "ext4", "devices": [device], "uuid": UUID, "args": [] });
        let command = |devices: Value| json!({ "act": "command_up", "devices": devices, "up": [], "down": [["touch", self.at("ran")]] });
        let luks = json!({ "cipher": "aes-xts-plain64", "key_bits": 512, "sector_bytes": 512,
            "no_read_workqueue": false, "no_write_workqueue": false });
        let bcache = json!({ "cache": "ssd", "mode": "writeback", "block_bytes": null, "bucket_bytes": 524288,
            "sequential_cutoff_bytes": null, "writeback_percent": null });
        let member = |device: &Value| json!({ "device": device, "uuid": UUID });
        let group = self.at("diskproof-test-hostile");
        let target = self.bench.state_dir().join("mnt");
        vec![
            json!({ "act": "write_backing_file", "path": self.at("file"), "size_bytes": 1, "seed": 1 }),
            json!({ "act": "attach_loop", "backing": self.disk.backing(), "number": 1000 }),
            json!({ "act": "attach_loop", "backing": self.own.file, "number": 0 }),
            json!({ "act": "make_cgroup", "path": group }),
            json!({ "act": "make_cgroup", "path": "/sys/fs/cgroup/diskproof-test-somebody" }),
            json!({ "act": "enable_controller", "file": self.at("cgroup.subtree_control"), "controller": "io" }),
            json!({ "act": "enable_controller", "file": self.at("file"), "controller": "after" }),
            json!({ "act": "set_throttle", "file": group.join("io.max"), "device": "7:0", "limit": "rbps=1",
                "none": "rbps=max wbps=max riops=max wiops=max" }),
            json!({ "act": "set_throttle", "file": group.join("cgroup.procs"), "device": self.process.id().to_string(),
                "limit": "1", "none": "0" }),
            json!({ "act": "set_knob", "path": self.at("file"), "before": "before", "after": "after" }),
            json!({ "act": "set_knob", "path": OTHER_SETTING, "before": "7", "after": other.trim() }),
            json!({ "act": "set_knob", "path": knob, "before": ahead.trim(), "after": "64",
                "disturbs": [{ "path": self.at("file"), "before": "before" }] }),
            json!({ "act": "make_dir", "path": group }),
            json!({ "act": "lend_dir", "parent": self.bench.dir, "path": self.at("lent") }),
            json!({ "act": "use_lent_dir", "path": self.at("lent") }),
            mkfs(&backing),
            mkfs(&crossed),
            mkfs(&by_path),
            mkfs(&named),
            mkfs(&made),
            json!({ "act": "mount", "devices": [backing], "fs_type": "proc", "options": [], "target": "/proc" }),
            json!({ "act": "make_group", "group": "somebodys", "pvs": [] }),
            json!({ "act": "make_group", "group": "diskproof-test-somebody", "pvs": [] }),
            json!({ "act": "make_group", "group": "diskproof-test-hostile-1",
                "pvs": [{ "device": by_path, "uuid": UUID, "tag": null }] }),
            json!({ "act": "change_group", "group": "diskproof-test-somebody", "devices": [backing],
                "command": "lvcreate", "args": [] }),
            json!({ "act": "make_array", "number": 200, "uuid": UUID, "members": [by_path], "args": [] }),
            json!({ "act": "make_array", "number": 200, "uuid": UUID, "members": [made], "args": [] }),
            json!({ "act": "format_luks", "device": by_path, "uuid": UUID, "layer": luks }),
            json!({ "act": "format_luks", "device": made, "uuid": UUID, "layer": luks }),
            json!({ "act": "open_luks", "name": "home", "device": backing, "uuid": UUID, "layer": luks }),
            json!({ "act": "open_luks", "name": "diskproof-test-somebody", "device": made, "uuid": UUID, "layer": luks }),
            json!({ "act": "format_bcache", "backing": backing, "cache": crossed, "set": UUID, "layer": bcache }),
            json!({ "act": "format_bcache", "backing": by_path, "cache": made, "set": UUID, "layer": bcache }),
            json!({ "act": "start_bcache", "backing": member(&backing), "cache": member(&by_path), "set": UUID, "layer": bcache }),
            json!({ "act": "start_bcache", "backing": member(&crossed), "cache": member(&made), "set": UUID, "layer": bcache }),
            json!({ "act": "set_arc_max", "path": self.at("file"), "stats": self.at("etab"), "before": 0,
                "limit_before": 1, "after": 2 }),
            json!({ "act": "start_zfs_fuse", "pid_file": self.at("file"), "arc_mib": null, "cgroup_procs": null }),
            json!({ "act": "create_pool", "name": "tank", "devices": [backing], "args": [], "target": target.join("tank") }),
            json!({ "act": "create_pool", "name": "diskproof-test-hostile-1", "devices": [by_path], "args": [],
                "target": target.join("diskproof-test-hostile-1") }),
            json!({ "act": "start_nfs_server", "threads": "/proc/fs/nfsd/threads", "table": self.at("no"), "active_before": [] }),
            json!({ "act": "export_nfs", "path": group, "fsid": UUID, "options": [], "table": self.at("etab") }),
            json!({ "act": "mount_nfs", "export": "/x", "options": [], "in_force": [], "target": "/proc" }),
            command(json!([])),
            command(json!([backing])),
            command(json!([crossed])),
            command(json!([by_path])),
            command(json!([made])),
        ]
    }

    /// The present state of all objects in the acts.
    fn look(&self) -> Vec<String> {
        let read =
            |path: PathBuf| fs::read_to_string(&path).unwrap_or_else(|e| format!("{}: {e}", path.shown()));
        let signature =
            Command::new("blkid").args(["-p", "-o", "export"]).arg(self.disk.path()).output().unwrap();
        let stat = read(PathBuf::from(format!("/proc/{}/stat", self.process.id())));
        let knob = format!("/sys/block/{}/queue/read_ahead_kb", self.disk.name());
        let over = |node: &Path| {
            read(Path::new("/sys/block").join(node.file_name().unwrap()).join("loop/backing_file"))
        };
        vec![
            String::from_utf8_lossy(&signature.stdout).into_owned(),
            format!("process {}", stat.split_whitespace().nth(2).unwrap_or("gone")).replace('R', "S"),
            over(self.disk.path()),
            over(&self.own.node),
            read(self.at("file")),
            read(self.at("cgroup.subtree_control")),
            read(self.at("etab")),
            read(self.at("diskproof-test-hostile/cgroup.procs")),
            read(self.at("diskproof-test-hostile/io.max")),
            read(PathBuf::from(knob)),
            read(PathBuf::from(OTHER_SETTING)),
            format!("ran: {}", self.at("ran").exists()),
            format!("loop0: {}", Path::new("/sys/block/loop0").exists()),
            format!("proc: {}", Path::new("/proc/self").exists()),
        ]
    }

    fn undo(&self, act: &Value) -> Result<diskproof_stack::UndoReport, UndoError> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let session = json!({ "line": "session", "format": { "major": 1, "minor": 0 }, "run": "hostile",
            "prefix": testkit::PREFIX, "boot_id": boot.trim(), "pid": 1 });
        let intent = json!({ "line": "intent", "step": 0, "act": act });
        let state_dir = self.bench.state_dir();
        let journal = state_dir.join("journal/hostile.jsonl");
        fs::write(&journal, format!("{session}\n{intent}\n")).unwrap();
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o600)).unwrap();
        let undone = undo_run(&self.bench.machine(&state_dir, &NoHooks), &self.bench.run);
        let _ = fs::remove_file(&journal);
        undone
    }
}

#[test]
fn loop_a_changed_journal_hurts_nobody() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _machine = exclusive();
    let foreign = Foreign::new();
    let before = foreign.look();
    let mut wrong = Vec::new();
    let acts = foreign.acts();
    for act in &acts {
        let undone = foreign.undo(act);
        let now = foreign.look();
        for (was, is) in before.iter().zip(&now).filter(|(was, is)| was != is) {
            wrong.push(format!("obeyed: {act}\n  was {was:?}\n  is  {is:?}"));
        }
        match &undone {
            Err(UndoError::Steps { failures, .. })
                if matches!(
                    failures.as_slice(),
                    [f] if matches!(f.error, ActError::NotOurs { .. } | ActError::OutOfReach { .. })
                ) =>
            {
                eprintln!("{}", failures[0].error);
            }
            Err(error) => wrong.push(format!("refused otherwise: {act}\n  {}", chain(error))),
            Ok(report) => wrong.push(format!("not refused: {act}\n  {report}")),
        }
        if before != now {
            break; // an object that it destroyed can't be checked again
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let kinds: std::collections::BTreeSet<&str> = acts.iter().filter_map(|act| act["act"].as_str()).collect();
    assert_eq!(kinds.len(), 25, "every kind of act has a line: {kinds:?}");
}
