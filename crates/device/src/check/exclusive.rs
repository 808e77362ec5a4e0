//! The kernel's exclusive open, and the lock against another diskproof.

use crate::block::Block;
use crate::check::openers;
use crate::check::processes::comm;
use crate::devno::DevNo;
use crate::node::Node;
use crate::refusal::{Check, Dissent};
use record::printable::Shown as _;
use record::roots::Roots;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long udev may probe a device on a slow machine.
const PROBES_LAST: Duration = Duration::from_secs(20);
/// How long to wait for a lock with an unknown owner.
const UNSEEN_LASTS: Duration = Duration::from_millis(500);
/// The time between two attempts.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Opens a block device so that no other process can mount it, swap on it, stack on it or open it exclusively.
pub(crate) fn hold(roots: &Roots, disk: &Block, node: &Path) -> Result<File, Dissent> {
    let file = match open(node, libc::O_EXCL | libc::O_NONBLOCK) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            let saw = format!("the kernel says {} is in use{}", node.shown(), also_open(roots, disk.devno));
            let remedy =
                "see lsblk, fuser -v, zpool status, and containers' mounts; end that use, if nobody needs it";
            return Err(Dissent::new(Check::Exclusive, saw, remedy));
        }
        Err(error) => {
            let why = format!("{}: {error}", node.shown());
            return Err(Dissent::unheard(Check::Exclusive, why, "ask again as root"));
        }
    };
    check(disk, node, file)
}

/// Checks that the opened device is the one that was examined.
fn check(disk: &Block, node: &Path, mut file: File) -> Result<File, Dissent> {
    let number = file.metadata().map(|about| DevNo::from_raw(about.rdev()));
    let size = file.seek(SeekFrom::End(0));
    let again = "run it again; disks or device nodes were exchanged meanwhile";
    match (number, size) {
        (Ok(number), _) if number != disk.devno => {
            let saw = format!("{} is {number} now, not {}", node.shown(), disk.devno);
            Err(Dissent::new(Check::Identity, saw, again))
        }
        (Ok(_), Ok(size)) if Some(size) != disk.size_bytes() => {
            let told = disk.size_bytes().unwrap_or(0);
            let saw = format!("{} opens with {size} bytes, sysfs says {told}", node.shown());
            Err(Dissent::new(Check::Size, saw, again))
        }
        (Ok(_), Ok(_)) => Ok(file),
        (Err(error), _) | (_, Err(error)) => {
            let why = format!("{}: {error}", node.shown());
            Err(Dissent::unheard(Check::Exclusive, why, "check that the disk can be read at all"))
        }
    }
}

/// Locks a device node against another diskproof and, by systemd's convention, against udev's probes.
pub(crate) fn lock(roots: &Roots, node: &Path) -> Result<File, Dissent> {
    let file = open(node, libc::O_NONBLOCK);
    let file = file.map_err(|error| {
        Dissent::unheard(Check::Lock, format!("{}: {error}", node.shown()), "ask again as root")
    })?;
    lock_file(roots, &file, node).map(|()| file)
}

/// Locks an open file.
pub(crate) fn lock_file(roots: &Roots, file: &File, node: &Path) -> Result<(), Dissent> {
    try_lock(roots, file).map_err(|error| unlocked(roots, file, node, error))
}

/// Makes the lock shared, so that udev can have it too.
pub(crate) fn share(roots: &Roots, file: &File, node: &Path) -> Result<(), Dissent> {
    file.try_lock_shared().map_err(|error| unlocked(roots, file, node, error))
}

fn unlocked(roots: &Roots, file: &File, node: &Path, error: TryLockError) -> Dissent {
    match error {
        TryLockError::WouldBlock => {
            let (saw, remedy) = locked_by(roots, file, &node.shown().to_string());
            Dissent::new(Check::Lock, saw, remedy)
        }
        TryLockError::Error(error) => {
            let why = format!("{}: {error}", node.shown());
            Dissent::unheard(Check::Lock, why, "check that file locks (flock) work on this file system")
        }
    }
}

/// Takes the lock. It waits for udev, which holds a lock while it probes a device, but not for another diskproof.
fn try_lock(roots: &Roots, file: &File) -> Result<(), TryLockError> {
    let begun = Instant::now();
    let mut unseen: Option<Instant> = None;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            result => return result,
        }
        let owner = lock_owner(roots, file).map(|pid| comm(roots, &pid.to_string()));
        let over = match owner.filter(|name| !name.is_empty()) {
            Some(name) if name.contains("udev") => {
                unseen = None;
                begun.elapsed() >= PROBES_LAST
            }
            Some(_) => true,
            // An unknown owner may just have released the lock, however long it had it.
            None => unseen.get_or_insert_with(Instant::now).elapsed() >= UNSEEN_LASTS,
        };
        if over {
            return Err(TryLockError::WouldBlock);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Who holds the lock on a file, and the remedy, as text.
pub(crate) fn locked_by(roots: &Roots, file: &File, name: &str) -> (String, String) {
    match lock_owner(roots, file) {
        Some(pid) if pid == std::process::id() => (
            format!("this run (process {pid}) already uses {name} under another name"),
            "name every disk only once".to_owned(),
        ),
        Some(pid) => (
            format!("process {pid} ({}) has locked {name}", comm(roots, &pid.to_string())),
            format!("wait for process {pid} to end, or end it"),
        ),
        None => (
            format!("a process that diskproof can't see has locked {name}"),
            "wait for it to end; fuser -v says more".to_owned(),
        ),
    }
}

/// The owner of a lock, from /proc/locks: `1: FLOCK  ADVISORY  WRITE 1234 fd:01:131 0 EOF` (proc_locks(5)).
fn lock_owner(roots: &Roots, file: &File) -> Option<u32> {
    let about = file.metadata().ok()?;
    let dev = DevNo::from_raw(about.dev());
    let wanted = format!("{:02x}:{:02x}:{}", dev.major, dev.minor, about.ino());
    let text = fs::read_to_string(roots.proc("locks")).ok()?;
    text.lines().find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let at = fields.iter().position(|f| *f == wanted)?;
        (fields.contains(&"FLOCK") && !fields.contains(&"->")).then(|| fields.get(at - 1)?.parse().ok())?
    })
}

/// The processes that have a device open, as text.
fn also_open(roots: &Roots, devno: DevNo) -> String {
    let found = openers::named(roots, Node::Block(devno));
    if found.is_empty() { String::new() } else { format!("; it is open in {}", found.join(", ")) }
}

fn open(node: &Path, flags: i32) -> io::Result<File> {
    File::options().read(true).custom_flags(flags).open(node)
}
