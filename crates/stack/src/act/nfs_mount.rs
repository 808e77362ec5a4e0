//! Mounting our own export, from this machine or from another node.

use super::kind::{Doing, Reversible, Undoing, Undone};
use super::nfs_call;
use super::nfs_export::{is_loopback, loopback};
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::machine::Machine;
use crate::mounts::{self, MountEntry};
use crate::{holders, names};
use host::{Invocation, Tool};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Longest that mount(8) may take: a server in its grace period, or one that doesn't answer.
const MOUNTED_WITHIN: Duration = Duration::from_secs(150);
/// Longest that umount(8) may take: what is dirty is written to the server first.
const UNMOUNTED_WITHIN: Duration = Duration::from_secs(300);
/// The same where the server doesn't answer.
const FORCED_WITHIN: Duration = Duration::from_secs(20);

/// Mounts an export of ours on one of our mount points. It is known again by what is mounted there from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountNfs {
    /// The exported directory.
    pub export: PathBuf,
    /// Options.
    pub options: Vec<String>,
    /// Those that must be in force then, e.g. `vers=4.2`: what the kernel can't do it may do otherwise without a word.
    pub in_force: Vec<String>,
    /// Where; in our mounts' directory.
    pub target: PathBuf,
    /// The server's address.
    #[serde(default = "loopback", skip_serializing_if = "is_loopback")]
    pub server: String,
    /// Its port, should it not be NFS's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The port of its mountd, should its rpcbind not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_port: Option<u16>,
}

impl fmt::Display for MountNfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mount nfs on {}", self.target.display())
    }
}

impl Reversible for MountNfs {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let mut mount = Invocation::new(Tool::Mount).args(["-t", "nfs"]);
        let port = self.port.map(|port| format!("port={port}"));
        let mount_port = self.mount_port.map(|port| format!("mountport={port}"));
        let options: Vec<String> = self.options.iter().cloned().chain(port).chain(mount_port).collect();
        if !options.is_empty() {
            mount = mount.arg("-o").arg(options.join(","));
        }
        doing.run("mount", &mount.arg(self.source()).arg(&self.target).timeout(MOUNTED_WITHIN))?;
        let found = self.top(doing.machine)?;
        let Some(entry) = found.as_ref().filter(|entry| self.is_it(entry)) else {
            return Err(ActError::Unverified {
                what: format!("mount at {}", self.target.display()),
                expected: format!("nfs of {}", self.source()),
                saw: found.map_or("nothing".to_owned(), |entry| told(&entry)),
            });
        };
        let has = |wanted: &String| entry.super_options.split(',').any(|option| option == wanted);
        match self.in_force.iter().find(|wanted| !has(wanted)) {
            None => Ok(()),
            Some(wanted) => Err(ActError::Unverified {
                what: format!("mount options at {}", self.target.display()),
                expected: wanted.clone(),
                saw: format!(
                    "{}; the server decides too (nfsd/versions and nfsd/max_block_size below /proc/fs)",
                    entry.super_options
                ),
            }),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        let mut undone = Undone::Nothing;
        while let Some(entry) = self.top(machine)? {
            let ours = names::is_ours_in(machine, &self.target, &machine.mounts_dir());
            if !ours || !self.is_it(&entry) {
                return Err(ActError::NotOurs {
                    what: format!("mount at {}", self.target.display()),
                    saw: told(&entry),
                });
            }
            self.unmount(machine)?;
            undone = Undone::Done;
        }
        Ok(undone)
    }
}

impl MountNfs {
    fn source(&self) -> String {
        format!("{}:{}", self.server, self.export.display())
    }

    /// What is mounted at our mount point, the last one mounted first.
    fn top(&self, machine: &Machine<'_>) -> Result<Option<MountEntry>, ActError> {
        let proc = &machine.roots.proc;
        let all = mounts::read(proc).map_err(ActError::io("read", proc.join("self/mountinfo")))?;
        Ok(all.into_iter().rfind(|entry| entry.target == self.target))
    }

    fn is_it(&self, entry: &MountEntry) -> bool {
        mounts::is_nfs(entry) && entry.source.as_os_str() == self.source().as_str()
    }

    fn unmount(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        let mut unmount = Invocation::new(Tool::Umount).timeout(UNMOUNTED_WITHIN);
        let served = self.is_served(machine);
        if !served {
            // what is dirty can't be written any more, and waiting for it has no end
            unmount = unmount.arg("-f");
            if !self.is_from_itself() {
                // whoever still waits for the server holds the mount until the kernel has given up on it
                unmount = unmount.args(["-i", "-l"]).timeout(FORCED_WITHIN);
            }
        }
        let unmount = unmount.arg(&self.target);
        until_ok(PATIENCE, || {
            let Err(failure) = machine.runner.run(&unmount) else { return Ok(()) };
            // it is gone from the tree of mounts at once, while umount goes on to take leave of a server that doesn't answer
            if !served && !self.top(machine)?.is_some_and(|entry| self.is_it(&entry)) {
                return Ok(());
            }
            let holders = holders::of(&machine.roots.proc, &self.target);
            if holders.is_empty() {
                return Err(ActError::tool(format!("unmount {}", self.target.display()))(failure));
            }
            Err(ActError::Busy { what: self.target.display().to_string(), holders })
        })
    }

    /// Whether the server is this machine.
    fn is_from_itself(&self) -> bool {
        is_loopback(&self.server) && self.port.is_none()
    }

    /// Whether the server is there to be written to.
    fn is_served(&self, machine: &Machine<'_>) -> bool {
        if self.is_from_itself() {
            return super::nfs_server::threads(&machine.roots.proc) > 0;
        }
        nfs_call::answers(&self.server, self.port)
    }
}

fn told(entry: &MountEntry) -> String {
    format!("{} of {}", entry.fs_type, entry.source.display())
}
