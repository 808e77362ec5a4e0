//! Finds and unmounts the mounts at one of our mount points.

use super::nfs_export;
use super::nfs_threads::patience;
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::holders;
use crate::machine::Machine;
use crate::mounts;
use host::{CommandFailure, Invocation, Tool};
use record::mountinfo;
use record::printable::Shown as _;
use std::path::Path;

/// The last mount at this mount point.
pub(super) fn top(machine: &Machine<'_>, target: &Path) -> Result<Option<mountinfo::Mount>, ActError> {
    let proc = &machine.roots.proc;
    let all = mounts::read(proc).map_err(ActError::io("read", proc.join("self/mountinfo")))?;
    Ok(all.into_iter().rfind(|entry| entry.point == target))
}

/// Unmounts a local file system; retries for a while if it is busy.
pub(super) fn unmount(machine: &Machine<'_>, target: &Path) -> Result<(), ActError> {
    let unmount = Invocation::new(Tool::Umount).arg(target);
    until_ok(patience(&machine.roots.proc, PATIENCE), || {
        let done = machine.runner.run(&unmount);
        done.map(drop)
            .map_err(|failure| busy(machine, target, format!("unmount {}", target.shown()), failure))
    })
}

/// The error for a failed unmount: it names the processes that use the mount, if any can be seen. Else it may be the kernel's NFS
/// server, so this makes it forget the file system.
pub(super) fn busy(machine: &Machine<'_>, target: &Path, doing: String, failure: CommandFailure) -> ActError {
    let holders = holders::of(&machine.roots.proc, target);
    if holders.is_empty() {
        nfs_export::forget(machine);
        return ActError::tool(doing)(failure);
    }
    ActError::Busy { what: target.shown().to_string(), holders }
}
