//! Mounts an export of ours, from this machine or from another.

use super::doing::{Doing, Reversible, Undoing, Undone};
use super::nfs_call;
use super::nfs_export::{is_loopback, loopback};
use super::retry::{PATIENCE, until_ok};
use super::unmount::top;
use crate::error::ActError;
use crate::machine::Machine;
use crate::mounts;
use crate::{holders, names};
use host::{CommandFailure, Invocation, Tool};
use record::mountinfo;
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;

/// The timeout of mount(8): the server may be in its grace period, or not answer.
const MOUNTED_WITHIN: Duration = Duration::from_secs(150);
/// The timeout of umount(8): dirty data are written to the server first.
const UNMOUNTED_WITHIN: Duration = Duration::from_secs(300);
/// The timeout of umount(8) where the server doesn't answer.
const FORCED_WITHIN: Duration = Duration::from_secs(20);
/// How often the server is checked while umount(8) ends the session with it: the kernel would wait for minutes.
const ASKED_EVERY: Duration = Duration::from_secs(5);

/// Mounts an export of ours at one of our mount points. The mount's source and mount point identify it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountNfs {
    /// The exported directory.
    pub export: PathBuf,
    /// Options.
    pub options: Vec<String>,
    /// Options that must be in force afterwards, e.g. `vers=4.2`: the kernel may silently replace one that it doesn't support.
    pub in_force: Vec<String>,
    /// The mount point, in the mounts' directory.
    pub target: PathBuf,
    /// The server's address.
    #[serde(default = "loopback", skip_serializing_if = "is_loopback")]
    pub server: String,
    /// The server's port, if it isn't NFS's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The port of the server's mountd, if its rpcbind isn't asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_port: Option<u16>,
}

impl fmt::Display for MountNfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mount nfs on {}", self.target.shown())
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
        let found = top(doing.machine, &self.target)?;
        let Some(entry) = found.as_ref().filter(|entry| self.is_it(entry)) else {
            return Err(ActError::Unverified {
                what: format!("mount at {}", self.target.shown()),
                expected: format!("nfs of {}", self.source()),
                saw: found.map_or("nothing".to_owned(), |entry| told(&entry)),
            });
        };
        let has = |wanted: &String| entry.super_options.split(',').any(|option| option == wanted);
        match self.in_force.iter().find(|wanted| !has(wanted)) {
            None => Ok(()),
            Some(wanted) => Err(ActError::Unverified {
                what: format!("mount options at {}", self.target.shown()),
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
        while let Some(entry) = top(machine, &self.target)? {
            let ours = names::is_of_run_in(machine, undoing.run, &self.target, &machine.mounts_dir());
            if !ours || !self.is_it(&entry) {
                return Err(ActError::NotOurs {
                    what: format!("mount at {}", self.target.shown()),
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
        format!("{}:{}", self.server, self.export.to_string_lossy())
    }

    /// Whether a mount is ours: NFS, from our server and export.
    fn is_it(&self, entry: &mountinfo::Mount) -> bool {
        mounts::is_nfs(entry) && entry.source.as_os_str() == self.source().as_str()
    }

    /// Unmounts normally while the server answers, and by force when it doesn't or stops answering.
    fn unmount(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        let unmount = Invocation::new(Tool::Umount);
        if self.is_served(machine) {
            let gone = AtomicBool::new(false);
            let with_leave = unmount.clone().timeout(UNMOUNTED_WITHIN).arg(&self.target);
            let done = until_ok(PATIENCE, || {
                let done =
                    self.while_it_serves(machine, &gone, || machine.runner.run_until(&with_leave, &gone));
                done.map(drop).map_err(|failure| self.busy(machine, failure))
            });
            if done.is_ok() || !gone.load(Ordering::Relaxed) {
                return done;
            }
        }
        // Dirty data can't be written any more, and waiting for that has no end.
        let mut forced = unmount.arg("-f");
        if !self.is_from_itself() {
            // A process that still waits for the server keeps the mount busy until the kernel gives up.
            forced = forced.args(["-i", "-l"]);
        }
        let forced = forced.timeout(FORCED_WITHIN).arg(&self.target);
        until_ok(PATIENCE, || {
            // The mount leaves the mount table at once, while umount still tries to end its session with a server that doesn't
            // answer.
            if !self.is_mounted(machine)? {
                return Ok(());
            }
            match machine.runner.run(&forced) {
                Err(failure) if self.is_mounted(machine)? => Err(self.busy(machine, failure)),
                _ => Ok(()),
            }
        })
    }

    /// Runs `act`, and sets `gone` as soon as the server stops answering.
    fn while_it_serves<T>(&self, machine: &Machine<'_>, gone: &AtomicBool, act: impl FnOnce() -> T) -> T {
        scope(|scope| {
            let (acting, ended) = channel::<()>();
            scope.spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(ASKED_EVERY) {
                    if !self.is_served(machine) {
                        return gone.store(true, Ordering::Relaxed);
                    }
                }
            });
            let done = act();
            drop(acting);
            done
        })
    }

    fn is_mounted(&self, machine: &Machine<'_>) -> Result<bool, ActError> {
        Ok(top(machine, &self.target)?.is_some_and(|entry| self.is_it(&entry)))
    }

    fn busy(&self, machine: &Machine<'_>, failure: CommandFailure) -> ActError {
        let holders = holders::of(&machine.roots.proc, &self.target);
        if holders.is_empty() {
            return ActError::tool(format!("unmount {}", self.target.shown()))(failure);
        }
        ActError::Busy { what: self.target.shown().to_string(), holders }
    }

    /// Whether the server is this machine.
    fn is_from_itself(&self) -> bool {
        is_loopback(&self.server) && self.port.is_none()
    }

    /// Whether the server can take writes.
    fn is_served(&self, machine: &Machine<'_>) -> bool {
        if self.is_from_itself() {
            return super::nfs_server::threads(&machine.roots.proc) > 0;
        }
        nfs_call::answers(&self.server, self.port)
    }
}

fn told(entry: &mountinfo::Mount) -> String {
    format!("{} of {}", entry.fs_type, entry.source.shown())
}

#[cfg(test)]
mod tests {
    use super::MountNfs;
    use crate::machine::{Machine, NoHooks};
    use device::Roots;
    use host::{CommandFailure, Invocation, Output, Runner};
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::path::{Path, PathBuf};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    /// A fake kernel and umount(8): the mount is gone at once, but the session with the server never ends.
    struct TakesLeave {
        mountinfo: PathBuf,
        server: Mutex<Option<TcpListener>>,
    }

    impl Runner for TakesLeave {
        fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
            panic!("nothing is mounted any more: {cmd:?}")
        }

        fn run_until(&self, cmd: &Invocation, cancel: &AtomicBool) -> Result<Output, CommandFailure> {
            self.server.lock().unwrap().take();
            std::fs::write(&self.mountinfo, "").unwrap();
            let begun = Instant::now();
            while !cancel.load(Ordering::Relaxed) {
                assert!(begun.elapsed() < Duration::from_secs(60), "nobody saw that the server is gone");
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(CommandFailure::Cancelled { argv: cmd.argv() })
        }
    }

    #[test]
    fn a_server_that_goes_while_leave_is_taken_of_it_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().join("proc"), ..Roots::default() };
        let target = dir.path().join("mnt/diskproof-r-0");
        std::fs::create_dir_all(roots.proc.join("self")).unwrap();
        let mountinfo = roots.proc.join("self/mountinfo");
        let mounted =
            format!("43 27 0:44 / {} rw - nfs4 127.0.0.1:/m/diskproof-r-0 rw\n", target.to_string_lossy());
        std::fs::write(&mountinfo, mounted).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mount = MountNfs {
            export: Path::new("/m/diskproof-r-0").to_owned(),
            options: Vec::new(),
            in_force: Vec::new(),
            target,
            server: "127.0.0.1".to_owned(),
            port: Some(listener.local_addr().unwrap().port()),
            mount_port: None,
        };
        let answering = listener.try_clone().unwrap();
        let runner = TakesLeave { mountinfo, server: Mutex::new(Some(listener)) };
        let machine = Machine::local(&runner, &roots, dir.path(), &NoHooks);
        assert!(mount.is_mounted(&machine).unwrap());
        std::thread::scope(|scope| {
            // Answers the first check, and then no more.
            scope.spawn(move || {
                let (mut line, _) = answering.accept().unwrap();
                line.read_exact(&mut [0; 44]).unwrap();
                for word in [0x8000_0018, 0x6469_736b, 1, 0] {
                    line.write_all(&u32::to_be_bytes(word)).unwrap();
                }
            });
            mount.unmount(&machine).unwrap();
        });
    }
}
