//! The kernel's NFS server, where it doesn't run: systemd starts it with all that it needs, and the undo stops every unit that
//! wasn't active before.

use super::doing::{Doing, Reversible, Undoing, Undone};
use super::nfs_export;
use crate::error::ActError;
use crate::machine::Machine;
use crate::mounts;
use host::{Invocation, Tool};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For how long the server may hold a directory that is no longer exported.
const LETS_GO_WITHIN: Duration = Duration::from_secs(30);
/// The unit to start.
const SERVER: &str = "nfs-server.service";
/// The units that Debian starts along with it, in the order of stopping.
const UNITS: [&str; 12] = [
    SERVER,
    "nfs-mountd.service",
    "nfs-idmapd.service",
    "nfsdcld.service",
    "rpc-svcgssd.service",
    "rpc-statd-notify.service",
    "proc-fs-nfsd.mount",
    "rpc-statd.service",
    "rpcbind.service",
    "rpcbind.socket",
    "rpcbind.target",
    "run-rpc_pipefs.mount",
];
/// The units among them that NFS mounts from other servers need too.
const CLIENTS: [&str; 5] =
    ["rpc-statd.service", "rpcbind.service", "rpcbind.socket", "rpcbind.target", "run-rpc_pipefs.mount"];

/// Starts the NFS server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartNfsServer {
    /// The kernel's file with the number of server threads.
    pub threads: PathBuf,
    /// The export table.
    pub table: PathBuf,
    /// Units that were active before; they are left alone.
    pub active_before: Vec<String>,
}

impl fmt::Display for StartNfsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "start the NFS server")
    }
}

impl StartNfsServer {
    /// Records the units that are active now.
    pub(crate) fn reading(machine: &Machine<'_>) -> Result<Self, ActError> {
        Ok(Self {
            threads: threads_file(&machine.roots.proc),
            table: nfs_export::table(),
            active_before: active(machine)?,
        })
    }
}

impl Reversible for StartNfsServer {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        doing.run("start the NFS server", &Invocation::new(Tool::Systemctl).args(["start", SERVER]))?;
        if threads(&doing.machine.roots.proc) == 0 {
            return Err(ActError::Unverified {
                what: self.threads.shown().to_string(),
                expected: "threads that serve".to_owned(),
                saw: "none".to_owned(),
            });
        }
        // Nobody was served before, so nobody has anything to reclaim: without this, clients would wait for up to 90 s. A kernel
        // that has ended the grace period itself refuses, which does no harm.
        let _ = std::fs::write(self.threads.with_file_name("v4_end_grace"), "Y");
        Ok(())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        if self.threads != threads_file(&machine.roots.proc) || self.table != nfs_export::table() {
            return Err(ActError::NotOurs {
                what: "NFS server".to_owned(),
                saw: format!("{} is not the table of exports", self.table.shown()),
            });
        }
        if undoing.rebooted {
            return Ok(Undone::Nothing);
        }
        let started: Vec<String> =
            active(machine)?.into_iter().filter(|unit| !self.active_before.contains(unit)).collect();
        if started.is_empty() {
            return Ok(Undone::Nothing);
        }
        let exports = nfs_export::exports(&self.table)?;
        if let Some(export) = exports.iter().find(|export| nfs_export::is_of_ours(machine, export)) {
            return Err(ActError::Unverified {
                what: "NFS server".to_owned(),
                expected: "no exports of ours".to_owned(),
                saw: format!(
                    "{} (exportfs -u {}:{})",
                    export.path.shown(),
                    export.client,
                    export.path.shown()
                ),
            });
        }
        if let Some(export) = exports.first() {
            return Ok(Undone::Left(format!(
                "it exports {} to {} by now",
                export.path.shown(),
                export.client
            )));
        }
        let proc = &machine.roots.proc;
        let mounted = mounts::read(proc).map_err(ActError::io("read", proc.join("self/mountinfo")))?;
        let needed = mounted.iter().any(mounts::is_nfs);
        let stop: Vec<&String> =
            started.iter().filter(|unit| !needed || !CLIENTS.contains(&unit.as_str())).collect();
        if stop.is_empty() {
            return Ok(Undone::Left("what is left of it serves other NFS mounts by now".to_owned()));
        }
        let stop = Invocation::new(Tool::Systemctl).arg("stop").args(stop);
        machine.runner.run(&stop).map_err(ActError::tool("stop the NFS server"))?;
        match threads(proc) {
            0 => Ok(Undone::Done),
            some => Err(ActError::Unverified {
                what: self.threads.shown().to_string(),
                expected: "no threads".to_owned(),
                saw: some.to_string(),
            }),
        }
    }
}

/// The units that are known and not `inactive`: active, starting, or failing to stop.
fn active(machine: &Machine<'_>) -> Result<Vec<String>, ActError> {
    // Status 3: not all of them are active; 4: one is not known.
    let ask = Invocation::new(Tool::Systemctl).arg("is-active").args(UNITS).accept([0, 3, 4]);
    let said = machine.runner.run(&ask).map_err(ActError::tool("ask which services run"))?;
    Ok(among(&said.stdout))
}

/// Parses one state per line, in the order of the request.
fn among(said: &str) -> Vec<String> {
    let running = |state: &str| matches!(state, "active" | "activating" | "reloading" | "deactivating");
    let pairs = UNITS.iter().zip(said.lines().map(str::trim));
    pairs.filter(|(_, state)| running(state)).map(|(unit, _)| (*unit).to_owned()).collect()
}

/// The number of NFS server threads; 0 where the server isn't running or the kernel has none.
pub(crate) fn threads(proc: &Path) -> u32 {
    let text = std::fs::read_to_string(threads_file(proc)).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// How long the server may keep a file system that it exported; more than `usual` where one runs. It forgets an export at some
/// later time, and shows nowhere what it still holds.
pub(crate) fn patience(proc: &Path, usual: Duration) -> Duration {
    if threads(proc) > 0 { usual.max(LETS_GO_WITHIN) } else { usual }
}

pub(crate) fn threads_file(proc: &Path) -> PathBuf {
    proc.join("fs/nfsd/threads")
}

#[cfg(test)]
mod tests {
    use super::{UNITS, among, threads};

    #[test]
    fn what_runs_is_told_by_the_states_in_order() {
        let mut states = vec!["inactive"; UNITS.len()];
        (states[1], states[6], states[8]) = ("active", "activating", "failed");
        let said = format!("{}\n", states.join("\n"));
        assert_eq!(among(&said), ["nfs-mountd.service", "proc-fs-nfsd.mount"]);
        assert!(among("").is_empty());
    }

    #[test]
    fn a_server_that_is_not_there_has_no_threads() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(threads(proc.path()), 0);
        let dir = proc.path().join("fs/nfsd");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("threads"), "8\n").unwrap();
        assert_eq!(threads(proc.path()), 8);
    }
}
