//! The run's cgroup and its limits, for cgroup v1 and v2.

use super::doing::{Doing, Reversible, Undoing, Undone};
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::holders::Holder;
use crate::machine::Machine;
use crate::{kernel_file, names};
use record::id::RunId;
use record::printable::Shown as _;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The controller that limits I/O.
pub(crate) const IO: &str = "io";
/// The text that removes all limits of a device (v2).
pub(crate) const UNLIMITED: &str = "rbps=max wbps=max riops=max wiops=max";
/// The files of a cgroup that limit devices, each with the text that removes a limit.
const LIMITS: [(&str, &str); 5] = [
    ("blkio.throttle.read_bps_device", "0"),
    ("blkio.throttle.write_bps_device", "0"),
    ("blkio.throttle.read_iops_device", "0"),
    ("blkio.throttle.write_iops_device", "0"),
    ("io.max", UNLIMITED),
];

/// Creates a cgroup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeCgroup {
    /// Its directory; its name carries our prefix.
    pub path: PathBuf,
}

impl fmt::Display for MakeCgroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "make the cgroup {}", self.path.shown())
    }
}

impl Reversible for MakeCgroup {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        std::fs::create_dir(&self.path).map_err(ActError::io("make the cgroup", &self.path))
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        self.ours(undoing.machine, undoing.run)?;
        // The kernel counts a process for a moment after it has ended.
        until_ok(PATIENCE, || match std::fs::remove_dir(&self.path) {
            Ok(()) => Ok(Undone::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Undone::Nothing),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                let holders = processes(undoing.machine, &self.path);
                Err(ActError::Busy { what: self.path.shown().to_string(), holders })
            }
            Err(error) => Err(ActError::io("remove the cgroup", &self.path)(error)),
        })
    }
}

impl MakeCgroup {
    /// Whether the cgroup exists; an error when it isn't a cgroup of this run.
    fn ours(&self, machine: &Machine<'_>, run: &RunId) -> Result<bool, ActError> {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !names::is_of_run(machine, run, name) {
            let saw = "it doesn't have one of diskproof's names".to_owned();
            return Err(ActError::NotOurs { what: self.path.shown().to_string(), saw });
        }
        Ok(kernel_file::cgroup(machine, &self.path)?.is_some())
    }

    /// Ends the processes in this cgroup, if it is this run's: engines that outlived their agent process would keep mounts and
    /// devices busy. Returns the process ids that it ended.
    pub(crate) fn end_processes(&self, machine: &Machine<'_>, run: &RunId) -> Vec<u32> {
        // The undo reports a cgroup that isn't ours.
        if !self.ours(machine, run).is_ok_and(|there| there) {
            return Vec::new();
        }
        let kill = |pid: &u32| {
            let target = i32::try_from(*pid).ok().and_then(Pid::from_raw);
            target.is_some_and(|target| kill_process(target, Signal::KILL).is_ok())
        };
        let ended = pids(&self.path).into_iter().filter(kill).collect();
        let _ = until_ok(PATIENCE, || if pids(&self.path).is_empty() { Ok(()) } else { Err(()) });
        ended
    }
}

fn processes(machine: &Machine<'_>, cgroup: &Path) -> Vec<Holder> {
    pids(cgroup)
        .into_iter()
        .map(|pid| {
            let comm = std::fs::read_to_string(machine.roots.proc.join(format!("{pid}/comm")));
            Holder { pid, comm: comm.unwrap_or_default().trim_end().to_owned() }
        })
        .collect()
}

fn pids(cgroup: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Enables a controller for a cgroup's children (v2: their limits need it). Done and journalled only when it wasn't enabled
/// before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnableController {
    /// The parent's `cgroup.subtree_control`.
    pub file: PathBuf,
    /// e.g. `io`.
    pub controller: String,
}

impl fmt::Display for EnableController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "enable {} in {}", self.controller, self.file.shown())
    }
}

impl EnableController {
    fn is_enabled(&self) -> Result<bool, ActError> {
        let text = std::fs::read_to_string(&self.file).map_err(ActError::io("read", &self.file))?;
        Ok(text.split_whitespace().any(|word| word.trim_start_matches('+') == self.controller))
    }
}

impl Reversible for EnableController {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        std::fs::write(&self.file, format!("+{}", self.controller))
            .map_err(ActError::io("write", &self.file))?;
        if self.is_enabled()? {
            return Ok(());
        }
        let saw = "it is not".to_owned();
        Err(ActError::Unverified {
            what: self.file.shown().to_string(),
            expected: self.controller.clone(),
            saw,
        })
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let parent = self.file.parent().unwrap_or(Path::new("/"));
        if self.controller != IO || self.file.file_name() != Some("cgroup.subtree_control".as_ref()) {
            let saw = "it is not the io controller of a cgroup's children".to_owned();
            return Err(ActError::NotOurs { what: self.file.shown().to_string(), saw });
        }
        if undoing.rebooted {
            return Ok(Undone::Nothing);
        }
        kernel_file::is_cgroup_root(undoing.machine, parent, &self.file)?;
        if !self.file.exists() || !self.is_enabled()? {
            return Ok(Undone::Nothing);
        }
        if let Some(user) = other_user(undoing.machine, parent) {
            return Ok(Undone::Left(format!("{} uses it too", user.shown())));
        }
        match std::fs::write(&self.file, format!("-{}", self.controller)) {
            Ok(()) => Ok(Undone::Done),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                Ok(Undone::Left("another cgroup uses it since".to_owned()))
            }
            Err(error) => Err(ActError::io("write", &self.file)(error)),
        }
    }
}

/// Another cgroup under the same parent, of another run or program: its limits would vanish with the controller. The run's own
/// cgroup is gone by now.
fn other_user(machine: &Machine<'_>, parent: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(parent).ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.is_dir() && (names::carries_prefix(machine, path) || is_limited(path)))
}

fn is_limited(group: &Path) -> bool {
    std::fs::read_to_string(group.join("io.max")).is_ok_and(|limits| !limits.trim().is_empty())
}

/// Limits one device in a cgroup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetThrottle {
    /// The file of the limits in the run's cgroup.
    pub file: PathBuf,
    /// The device, as `major:minor`.
    pub device: String,
    /// The limit, in the file's own syntax, e.g. `80` or `riops=80 wiops=80`.
    pub limit: String,
    /// The text that removes the limit, e.g. `0`.
    pub none: String,
}

impl fmt::Display for SetThrottle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write \"{} {}\" to {}", self.device, self.limit, self.file.shown())
    }
}

impl Reversible for SetThrottle {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        let line = format!("{} {}", self.device, self.limit);
        std::fs::write(&self.file, line).map_err(ActError::io("write", &self.file))?;
        let saw = std::fs::read_to_string(&self.file).map_err(ActError::io("read", &self.file))?;
        if saw.lines().any(|line| self.is_shown_by(line)) {
            return Ok(());
        }
        Err(ActError::Unverified {
            what: self.file.shown().to_string(),
            expected: format!("{} {}", self.device, self.limit),
            saw,
        })
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if !self.is_limit() {
            let saw = "it is not a limit of a cgroup, or would not be taken back by this".to_owned();
            return Err(ActError::NotOurs { what: self.file.shown().to_string(), saw });
        }
        let group = MakeCgroup { path: self.file.parent().unwrap_or(Path::new("/")).to_owned() };
        if !group.ours(undoing.machine, undoing.run)? {
            return Ok(Undone::Nothing);
        }
        let shown = match std::fs::read_to_string(&self.file) {
            Ok(shown) => shown,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Undone::Nothing),
            Err(error) => return Err(ActError::io("read", &self.file)(error)),
        };
        if !shown.lines().any(|line| line.split(' ').next() == Some(&self.device)) {
            return Ok(Undone::Nothing);
        }
        match std::fs::write(&self.file, format!("{} {}", self.device, self.none)) {
            Ok(()) => Ok(Undone::Done),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(Undone::Nothing),
            Err(error) => Err(ActError::io("write", &self.file)(error)),
        }
    }
}

impl SetThrottle {
    /// Whether the file holds device limits, and `none` is the text that removes one there.
    fn is_limit(&self) -> bool {
        let name = self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_device =
            self.device.split_once(':').is_some_and(|(major, minor)| number(major) && number(minor));
        is_device && LIMITS.iter().any(|(file, none)| *file == name && *none == self.none)
    }

    /// Whether a line shows this limit: the kernel prints all of a device's limits in one line, in its own order.
    fn is_shown_by(&self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        words.next() == Some(&self.device) && {
            let words: Vec<&str> = words.collect();
            self.limit.split(' ').all(|word| words.contains(&word))
        }
    }
}
