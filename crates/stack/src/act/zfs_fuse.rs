//! ZFS as a process, where the kernel has none: one zfs-fuse for the whole machine.

use super::doing::{Doing, Reversible, Undoing, Undone};
use super::retry::until_ok;
use crate::error::ActError;
use crate::machine::Machine;
use crate::names;
use host::{Invocation, Tool};
use record::printable::Shown as _;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long it may take to start, and to stop.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts zfs-fuse. The file in its arguments, whose name carries our prefix, identifies the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartZfsFuse {
    /// The file for its process id; in the mounts' directory.
    pub pid_file: PathBuf,
    /// The largest size of its cache, in MiB.
    pub arc_mib: Option<u64>,
    /// The cgroup that limits it, since it does the I/O on behalf of the engine.
    pub cgroup_procs: Option<PathBuf>,
}

impl fmt::Display for StartZfsFuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "start zfs-fuse ({})", self.pid_file.shown())
    }
}

impl Reversible for StartZfsFuse {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        // The kernel's cache of the device below would hide what ZFS does; other file systems don't have such a cache either.
        let mut start = Invocation::new(Tool::ZfsFuse)
            .arg("--pidfile")
            .arg(&self.pid_file)
            .args(["--disable-block-cache", "--no-kstat-mount"]);
        if let Some(mib) = self.arc_mib {
            start = start.args(["--max-arc-size", &mib.to_string()]);
        }
        doing.run("start zfs-fuse", &start)?;
        let machine = *doing.machine;
        until_ok(PATIENCE, || ask(&machine))?;
        let pid =
            self.processes(&machine).first().map(|(pid, _)| *pid).ok_or_else(|| ActError::Unverified {
                what: "zfs-fuse".to_owned(),
                expected: format!("a process with {}", self.pid_file.shown()),
                saw: "none; it ended at once".to_owned(),
            })?;
        match &self.cgroup_procs {
            Some(procs) => std::fs::write(procs, pid.to_string()).map_err(ActError::io("write", procs)),
            None => Ok(()),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        if !names::is_of_run_in(machine, undoing.run, &self.pid_file, &machine.mounts_dir()) {
            let saw = "it doesn't have one of diskproof's names".to_owned();
            return Err(ActError::NotOurs { what: self.pid_file.shown().to_string(), saw });
        }
        let mut undone = Undone::Nothing;
        let running = self.processes(machine);
        if let Some((pid, _)) = running.first() {
            nothing_imported(machine, *pid)?;
        }
        for (_, process) in &running {
            // A process that has exited by itself is no failure.
            let _ = pidfd_send_signal(process, Signal::TERM);
            undone = Undone::Done;
        }
        let ended = until_ok(PATIENCE, || if self.processes(machine).is_empty() { Ok(()) } else { Err(()) });
        if ended.is_err() {
            for (_, process) in self.processes(machine) {
                let _ = pidfd_send_signal(&process, Signal::KILL);
            }
            let gone = || self.processes(machine).first().map_or(Ok(()), |(pid, _)| Err(*pid));
            until_ok(PATIENCE, gone).map_err(|pid| ActError::Unverified {
                what: format!("zfs-fuse (pid {pid})"),
                expected: "it ends".to_owned(),
                saw: "it does not".to_owned(),
            })?;
        }
        match std::fs::remove_file(&self.pid_file) {
            Ok(()) => Ok(Undone::Done),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(undone),
            Err(error) => Err(ActError::io("remove", &self.pid_file)(error)),
        }
    }
}

impl StartZfsFuse {
    /// The processes that this act started: the file is in their arguments. A process descriptor holds each one, so that a reused
    /// process id can't be mistaken for it.
    fn processes(&self, machine: &Machine<'_>) -> Vec<(u32, rustix::fd::OwnedFd)> {
        let is_it =
            |pid: u32| arguments(&machine.roots.proc, pid).is_some_and(|all| all.contains(&self.pid_file));
        running(&machine.roots.proc)
            .into_iter()
            .filter_map(|pid| {
                let held = pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()?;
                is_it(pid).then_some((pid, held))
            })
            .collect()
    }

    /// The process that serves the pool, for counters of CPU and I/O.
    pub(crate) fn pid(&self, machine: &Machine<'_>) -> Option<u32> {
        self.processes(machine).first().map(|(pid, _)| *pid)
    }
}

/// Every zfs-fuse process of this machine, with its process id file.
pub(crate) fn daemons(proc: &Path) -> Vec<(u32, Option<PathBuf>)> {
    let file = |pid| {
        let all = arguments(proc, pid)?;
        let at = all.iter().position(|word| matches!(word.to_str(), Some("-p" | "--pidfile")))?;
        all.get(at + 1).cloned()
    };
    running(proc).into_iter().map(|pid| (pid, file(pid))).collect()
}

/// Running processes of that name; a zombie has no arguments.
fn running(proc: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(proc) else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let named = |pid: &u32| {
        let comm = std::fs::read_to_string(proc.join(format!("{pid}/comm"))).unwrap_or_default();
        comm.trim_end() == Tool::ZfsFuse.name() && arguments(proc, *pid).is_some_and(|all| !all.is_empty())
    };
    numbers.filter(named).collect()
}

fn arguments(proc: &Path, pid: u32) -> Option<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStringExt as _;
    let text = std::fs::read(proc.join(format!("{pid}/cmdline"))).ok()?;
    let words = text.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    Some(words.map(|word| PathBuf::from(std::ffi::OsString::from_vec(word.to_vec()))).collect())
}

/// Asks the process, and returns its answer.
fn ask(machine: &Machine<'_>) -> Result<String, ActError> {
    let list = Invocation::new(Tool::Zpool).args(["list", "-H", "-o", "name"]);
    let output = machine.runner.run(&list).map_err(ActError::tool("ask zfs-fuse for its pools"))?;
    Ok(output.stdout)
}

/// Refuses to stop it while a pool is imported: the pool would lose its process.
fn nothing_imported(machine: &Machine<'_>, pid: u32) -> Result<(), ActError> {
    let pools = ask(machine).unwrap_or_default();
    let names: Vec<&str> =
        pools.lines().filter(|name| !name.is_empty() && *name != "no pools available").collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(ActError::Unverified {
        what: format!("zfs-fuse (pid {pid})"),
        expected: "no pools".to_owned(),
        saw: format!("{} (zpool export it)", names.join(", ")),
    })
}
