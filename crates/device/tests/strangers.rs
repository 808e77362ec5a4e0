//! Names that others choose reach a refusal as plain text: processes, mount points, disks.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

use diskproof_device::{Check, ClaimBook, Dissent, Roots, disk, inventory, lend};
use host::{CommandFailure, Invocation, Output, Runner};
use record::printable::is_hidden;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// A fake blkid that reports a hostile label.
struct Labelled;

impl Runner for Labelled {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        let stdout = "TYPE=ext4\nLABEL=\u{1b}[2J\u{9b}5A\n".to_owned();
        Ok(Output { status: 0, argv: cmd.argv(), stdout, ..Output::default() })
    }
}

fn is_one_safe_line(text: &str) {
    assert!(!text.contains(is_hidden), "{text:?}");
}

/// A disk with hostile names, mounted at a hostile path by a hostile file system, open in a hostile process.
fn machine(dir: &Path) -> Roots {
    let under = |name: &str| dir.join(name);
    let write = |name: &str, text: &[u8]| {
        let path = under(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for path in
        ["sys/class/block", "sys/dev/block", "dev/disk/by-id", "proc/1/ns", "proc/self/ns", "proc/77/ns"]
    {
        fs::create_dir_all(under(path)).unwrap();
    }
    let disk = "sys/devices/pci0/sda-port/block/sda";
    for (file, text) in [("dev", "8:0\n"), ("size", "2048\n"), ("ro", "0\n"), ("uevent", "DEVNAME=sda\n")] {
        write(&format!("{disk}/{file}"), text.as_bytes());
    }
    fs::create_dir_all(under(&format!("{disk}/slaves"))).unwrap();
    symlink(under("sys/devices/pci0/sda-port"), under(&format!("{disk}/device"))).unwrap();
    write("sys/devices/pci0/sda-port/model", b"Disk\x1b]0;x\x07\nFORGED\xff\n");
    write("sys/devices/pci0/sda-port/serial", "S1\u{9b}2J\u{202e}".as_bytes());
    for link in ["sys/block/sda", "sys/class/block/sda", "sys/dev/block/8:0"] {
        fs::create_dir_all(under(link).parent().unwrap()).unwrap();
        symlink(under(disk), under(link)).unwrap();
    }
    // A device stacked on it, with a name of its owner's choice.
    let stacked = "sys/devices/virtual/block/dm-0";
    for (file, text) in
        [("dev", "253:0\n"), ("size", "2048\n"), ("ro", "0\n"), ("dm/name", "vg\x1b[2J\nFORGED\n")]
    {
        write(&format!("{stacked}/{file}"), text.as_bytes());
    }
    fs::create_dir_all(under(&format!("{stacked}/holders"))).unwrap();
    fs::create_dir_all(under(&format!("{disk}/holders"))).unwrap();
    fs::create_dir_all(under(&format!("{stacked}/slaves"))).unwrap();
    symlink("..", under(&format!("{disk}/holders/dm-0"))).unwrap();
    symlink("..", under(&format!("{stacked}/slaves/sda"))).unwrap();
    for link in ["sys/class/block/dm-0", "sys/dev/block/253:0"] {
        symlink(under(stacked), under(link)).unwrap();
    }
    write("dev/sda", b"8:0");
    write("dev/dm-0", b"253:0");
    write("proc/swaps", b"Filename Type Size Used Priority\n/x\\012FORGED\x1b[2J file 1 0 -2\n");
    let table = "22 1 0:40 / / rw - nfs server:/root rw\n\
                 30 22 8:0 / /mnt/a\\012FORGED:\\040free;\x1b]0;x\x07 rw - fuse.\x1b[31m /dev/sda rw\n";
    for pid in ["self", "1", "77"] {
        symlink("mnt:[1]", under(&format!("proc/{pid}/ns/mnt"))).unwrap();
        write(&format!("proc/{pid}/mountinfo"), table.as_bytes());
    }
    write("proc/77/comm", b"\x1b]0;x\x07\nFORGED\n");
    write("proc/77/stat", b"77 (x) S 1 1 1 0 -1 0");
    write("proc/77/fdinfo/3", b"pos: 0\nflags: 0100002\n");
    fs::create_dir_all(under("proc/77/fd")).unwrap();
    symlink(under("dev/sda"), under("proc/77/fd/3")).unwrap();
    Roots::under(dir)
}

#[test]
fn a_hostile_disk_forges_no_line_of_a_report_or_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let roots = machine(dir.path());
    let report = inventory(&roots, &Labelled, None).into_iter().find(|d| d.path.ends_with("sda")).unwrap();
    is_one_safe_line(report.model.as_deref().unwrap());
    assert_eq!(report.model.as_deref(), Some("Disk\\x1b]0;x\\x07\\nFORGED\\xff"));
    is_one_safe_line(report.serial.as_deref().unwrap());
    for dissent in report.dissent.iter().chain(&report.spoken_for) {
        is_one_safe_line(&dissent.to_string());
    }
    let of = |witness: Check| -> Vec<&Dissent> {
        report.dissent.iter().filter(|d| d.witness == witness).collect()
    };
    let mounts = of(Check::Mounts);
    assert!(
        mounts.iter().any(|d| d.saw.contains("/mnt/a\\nFORGED: free;\\x1b]0;x\\x07 (fuse.\\x1b[31m)")),
        "{mounts:?}"
    );
    let holders = of(Check::Holders);
    assert!(holders.iter().any(|d| d.saw.contains("vg\\x1b[2J\\nFORGED")), "{holders:?}");
    let book = ClaimBook::open(dir.path()).unwrap();
    let refusal =
        disk(&roots, &Labelled, &book, "no\u{1b}[2J\nFORGED", 1).map(|_| ()).unwrap_err().to_string();
    assert!(!refusal.contains(|c| c != '\n' && is_hidden(c)) && !refusal.contains("\nFORGED"), "{refusal:?}");
}

/// A process with a name of its choice locks an existing directory.
#[test]
fn the_name_of_a_process_that_locks_a_directory_is_text() {
    let dir = tempfile::tempdir().unwrap();
    let script = "printf '\\033]0;x\\007\\nFORGED' > /proc/$$/comm; echo ready; read wait";
    let mut child = Command::new("flock")
        .args(["--no-fork", "--exclusive"])
        .arg(dir.path())
        .args(["sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let refused = lend(dir.path(), 1, "diskproof-test-lend").map(|_| ()).unwrap_err().to_string();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(line, "ready\n");
    is_one_safe_line(&refused);
    assert!(refused.contains(&format!("process {} (\\x1b]0;x\\x07\\nFORGED", child.id())), "{refused}");
}
