//! What is mounted at a mount point of ours, and taking it down.

use super::nfs_export;
use super::nfs_server::patience;
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::holders;
use crate::machine::Machine;
use crate::mounts;
use record::mountinfo;
use host::{CommandFailure, Invocation, Tool};
use record::printable::Shown as _;
use std::path::Path;

/// What is mounted there, the last one mounted first.
pub(super) fn top(machine: &Machine<'_>, target: &Path) -> Result<Option<mountinfo::Mount>, ActError> {
    let proc = &machine.roots.proc;
    let all = mounts::read(proc).map_err(ActError::io("read", proc.join("self/mountinfo")))?;
    Ok(all.into_iter().rfind(|entry| entry.point == target))
}

/// Unmounts a file system of this machine; for a while, should it be busy.
pub(super) fn unmount(machine: &Machine<'_>, target: &Path) -> Result<(), ActError> {
    let unmount = Invocation::new(Tool::Umount).arg(target);
    until_ok(patience(&machine.roots.proc, PATIENCE), || {
        let done = machine.runner.run(&unmount);
        done.map(drop)
            .map_err(|failure| busy(machine, target, format!("unmount {}", target.shown()), failure))
    })
}

/// Why what is mounted there could not be taken down: whoever uses it, if anybody can be seen. Else it may be the kernel's NFS server, which
/// is told to forget it.
pub(super) fn busy(machine: &Machine<'_>, target: &Path, doing: String, failure: CommandFailure) -> ActError {
    let holders = holders::of(&machine.roots.proc, target);
    if holders.is_empty() {
        nfs_export::forget(machine);
        return ActError::tool(doing)(failure);
    }
    ActError::Busy { what: target.shown().to_string(), holders }
}
