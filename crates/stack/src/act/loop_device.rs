//! A loop device of our own over a backing file.

use super::device_ref::{backing_in, devno_of};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::retry::{PATIENCE, until_closed, until_ok};
use crate::error::ActError;
use crate::holders;
use crate::machine::Machine;
use crate::names;
use device::{LoopOver, loop_control};
use host::{Invocation, Tool};
use record::printable::Shown as _;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first loop number that we use: far above the numbers that the machine assigns.
pub(crate) const FIRST_NUMBER: u32 = 1000;
/// For how long udev, while its queue isn't empty, may still open a device that is gone.
const LATE_PROBE: Duration = Duration::from_secs(5);
/// A device that was seen again has to stay away for this long: who opened it once may do so again.
const AWAY: Duration = Duration::from_millis(500);
/// After this time, a loop device without a file isn't about to be attached by anybody.
const FORSAKEN: Duration = Duration::from_secs(1);
/// After this time, a device that reappears again and again is an error.
const RESTLESS: Duration = Duration::from_secs(15);
/// The sector size to try when the backing file's device can't do direct I/O in 512-byte units.
const LARGE_SECTOR: &str = "4096";

/// Adds loop device `number`, disables hole punching, and attaches the file, with direct I/O where possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachLoop {
    /// The backing file, as the kernel names it.
    pub backing: PathBuf,
    /// The device's number, which we choose.
    pub number: u32,
}

impl fmt::Display for AttachLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attach {} to loop{}", self.backing.shown(), self.number)
    }
}

impl Reversible for AttachLoop {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let roots = doing.machine.roots;
        match loop_control::add(&roots.dev, self.number) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ActError::LoopTaken { number: self.number });
            }
            Err(error) => {
                return Err(ActError::io("add a loop device by", roots.dev.join("loop-control"))(error));
            }
        }
        let node = self.node(doing.machine);
        until_ok(PATIENCE, || devno_of(&node).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
            .map_err(ActError::io("find (is /dev a devtmpfs here?)", &node))?;
        self.forbid_holes(doing.machine)?;
        self.attach(doing, &node)?;
        // Some kernels recompute the limit when a file is attached.
        self.forbid_holes(doing.machine)?;
        let saw = backing_in(&self.sys_dir(doing.machine));
        if saw.as_deref() != Some(&self.backing) {
            return Err(ActError::Unverified {
                what: format!("backing file of {}", node.shown()),
                expected: self.backing.shown().to_string(),
                saw: saw.map_or("none".to_owned(), |path| path.shown().to_string()),
            });
        }
        Ok(())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        if !names::is_ours_in(machine, &self.backing, &machine.volumes_dir()) || self.number < FIRST_NUMBER {
            return Err(ActError::NotOurs {
                what: format!("loop device {} over {}", self.number, self.backing.shown()),
                saw: "the file is not in diskproof's directory, or doesn't have one of diskproof's names, or the number is not one that diskproof takes"
                    .to_owned(),
            });
        }
        let mut undone = Undone::Nothing;
        for name in over(&machine.roots.sys, &self.backing) {
            self.is_over_ours(machine, &name)?;
            detach(machine, &name, &self.backing)?;
            undone = Undone::Done;
        }
        let dir = self.sys_dir(machine);
        if undoing.rebooted || !dir.exists() {
            return Ok(undone);
        }
        if let Some(other) = backing_in(&dir) {
            return Ok(Undone::Left(format!("loop{} is over {} now", self.number, other.shown())));
        }
        self.remove(machine)?;
        Ok(Undone::Done)
    }
}

impl AttachLoop {
    /// The kernel prints the file's name at the time of attaching; the inode shows whether that is still our file.
    fn is_over_ours(&self, machine: &Machine<'_>, name: &str) -> Result<(), ActError> {
        let node = machine.roots.dev.join(name);
        let over = devno_of(&node).map(|devno| device::loop_over(machine.roots, devno));
        match over {
            Some(LoopOver::Another(_)) => Err(ActError::NotOurs {
                what: node.shown().to_string(),
                saw: format!("it is over another file that was called {}", self.backing.shown()),
            }),
            _ => Ok(()),
        }
    }

    fn remove(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        let node = self.node(machine);
        until_closed(&node, || match loop_control::remove(&machine.roots.dev, self.number) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
            result => result.map_err(|error| busy_or(machine, &node, error, "remove")),
        })
    }

    /// Whether the device exists without a file.
    fn is_over_nothing(&self, machine: &Machine<'_>) -> bool {
        let dir = self.sys_dir(machine);
        dir.exists() && backing_in(&dir).is_none()
    }

    pub(crate) fn node(&self, machine: &Machine<'_>) -> PathBuf {
        machine.roots.dev.join(format!("loop{}", self.number))
    }

    fn sys_dir(&self, machine: &Machine<'_>) -> PathBuf {
        machine.roots.sys.join(format!("block/loop{}", self.number))
    }

    /// Whether it uses direct I/O, as the kernel reports.
    pub(crate) fn direct_io(&self, machine: &Machine<'_>) -> Option<bool> {
        let text = std::fs::read_to_string(self.sys_dir(machine).join("loop/dio")).ok()?;
        Some(text.trim() == "1")
    }

    /// Makes the loop driver refuse discards *and* write-zeroes by setting this limit to 0. Otherwise it turns both into holes or
    /// unwritten extents; mkfs and an ext4 mount request them even with discard off.
    fn forbid_holes(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        let knob = self.sys_dir(machine).join("queue/discard_max_bytes");
        let read = || std::fs::read_to_string(&knob).map_err(ActError::io("read", &knob));
        if read()?.trim() != "0" {
            std::fs::write(&knob, "0").map_err(ActError::io("write", &knob))?;
        }
        let saw = read()?.trim().to_owned();
        if saw == "0" {
            return Ok(());
        }
        Err(ActError::Unverified { what: knob.shown().to_string(), expected: "0".to_owned(), saw })
    }

    /// Attaches with direct I/O, if necessary with larger sectors; else without, which the facts then show.
    fn attach(&self, doing: &mut Doing<'_>, node: &Path) -> Result<(), ActError> {
        let base = || Invocation::new(Tool::Losetup);
        let tries = [
            base().arg("--direct-io=on"),
            base().args(["--direct-io=on", "--sector-size", LARGE_SECTOR]),
            base(),
        ];
        let mut result = Ok(());
        for attempt in tries {
            if backing_in(&self.sys_dir(doing.machine)).is_some() {
                let detach = Invocation::new(Tool::Losetup).arg("--detach").arg(node);
                doing.machine.runner.run(&detach).map_err(ActError::tool("detach the loop device again"))?;
            }
            let attempt = attempt.arg(node).arg(&self.backing);
            result = doing.run("attach the loop device", &attempt).map(|_| ());
            if result.is_ok() && self.direct_io(doing.machine) == Some(true) {
                return Ok(());
            }
        }
        result
    }
}

/// Removes devices again that reappear, and says for each whether it is gone. udev's programs looked the node up before the
/// device went, and mdadm makes a node of its own by number. If they open it only now, the driver creates the device anew,
/// without a file.
pub(crate) fn stay_gone(machine: &Machine<'_>, removed: &[&AttachLoop]) -> Vec<Result<(), ActError>> {
    let udev = machine.roots.run.join("udev/queue");
    let at_work = || !removed.is_empty() && udev.exists();
    let begun = Instant::now();
    let mut seen: Vec<Option<Instant>> = vec![None; removed.len()];
    let mut last: Option<Instant> = None;
    loop {
        for (device, since) in removed.iter().zip(&mut seen) {
            *since = device.is_over_nothing(machine).then(|| since.unwrap_or_else(Instant::now));
        }
        if seen.iter().any(Option::is_some) {
            last = Some(Instant::now());
        } else if last.is_none_or(|last| last.elapsed() >= AWAY)
            && (!at_work() || begun.elapsed() >= LATE_PROBE)
        {
            return removed.iter().map(|_| Ok(())).collect();
        }
        let again = removed.iter().zip(&seen).map(|(device, since)| match since {
            Some(_) if begun.elapsed() >= RESTLESS => Err(busy(machine, &device.node(machine))),
            Some(since) if since.elapsed() >= FORSAKEN => device.remove(machine),
            _ => Ok(()),
        });
        let again: Vec<_> = again.collect();
        if again.iter().any(Result::is_err) {
            return again;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The lowest number from [`FIRST_NUMBER`] on that no loop device has.
pub(crate) fn free_number(machine: &Machine<'_>, from: u32) -> u32 {
    (from.max(FIRST_NUMBER)..)
        .find(|number| !machine.roots.sys.join(format!("block/loop{number}")).exists())
        .unwrap_or(FIRST_NUMBER)
}

/// The kernel names of the loop devices over a file.
pub(crate) fn over(sys: &Path, backing: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(sys.join("block")) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("loop"))
        .filter(|entry| backing_in(&entry.path()).as_deref() == Some(backing))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Detaches an unused device. The kernel would also accept the request for a device in use and detach it later; then the backing
/// file would be removed under a mounted file system.
fn detach(machine: &Machine<'_>, name: &str, backing: &Path) -> Result<(), ActError> {
    let node = machine.roots.dev.join(name);
    until_ok(PATIENCE, || is_free(machine, &node))?;
    let detach = Invocation::new(Tool::Losetup).arg("--detach").arg(&node);
    let asked = machine.runner.run(&detach).map_err(ActError::tool(format!("detach {}", node.shown())));
    let is_over = || over(&machine.roots.sys, backing).iter().any(|still| still == name);
    if let Err(error) = asked {
        // A killed process may have requested it before: then the device goes with its last user, which was us just now.
        return if is_over() { Err(error) } else { Ok(()) };
    }
    until_closed(&node, || {
        if is_over() {
            return Err(busy(machine, &node));
        }
        Ok(())
    })
}

/// Whether nothing is mounted from it or stacked on it: the kernel grants exclusive use only once.
fn is_free(machine: &Machine<'_>, node: &Path) -> Result<(), ActError> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    match rustix::fs::open(node, flags, rustix::fs::Mode::empty()) {
        Ok(_) => Ok(()),
        Err(error) => Err(busy_or(machine, node, error.into(), "open")),
    }
}

fn busy(machine: &Machine<'_>, node: &Path) -> ActError {
    let holders = holders::of(&machine.roots.proc, node);
    ActError::Busy { what: node.shown().to_string(), holders }
}

fn busy_or(machine: &Machine<'_>, node: &Path, error: io::Error, doing: &'static str) -> ActError {
    if error.kind() == io::ErrorKind::ResourceBusy {
        return busy(machine, node);
    }
    ActError::Io { doing, path: node.to_owned(), source: error }
}
