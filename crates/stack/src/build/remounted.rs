//! What is exported by NFS or mounted from there.

use crate::act::{Act, Doing, nfs_call};
use crate::error::{ActError, StackError};
use crate::journal::{Journal, Mark};
use crate::machine::Machine;
use host::{Invocation, Runner, Tool};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The timeout for giving up on a server.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(20);

/// A directory that this machine exports by NFS, mounts, or both.
#[derive(Debug, Clone)]
pub struct Remounted {
    /// The directory that this machine exports; `None` when another machine does.
    pub directory: Option<PathBuf>,
    /// The mount point; `None` when it is mounted on another machine.
    pub target: Option<PathBuf>,
    /// Its beginning in the journal.
    pub(super) mark: Mark,
    /// What puts it up.
    pub(super) acts: Vec<Act>,
}

/// The machine that mounts an export of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsClient {
    /// The client's address, as the server sees it.
    pub address: Ipv4Addr,
    /// Whether its requests may come from unprivileged ports, because of the network path.
    pub any_port: bool,
}

/// An export that a machine mounts from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsSource {
    /// The server's address, as the client sees it.
    pub server: Ipv4Addr,
    /// The server's port, if it isn't NFS's own.
    pub port: Option<u16>,
    /// The port of the server's mountd, if its rpcbind can't be asked; for NFSv3.
    #[serde(default)]
    pub mount_port: Option<u16>,
    /// The directory, as the server names it.
    pub directory: PathBuf,
}

impl NfsSource {
    /// Whether the server answers; a slow one is asked again, for at most half a minute.
    #[must_use]
    pub fn answers(&self) -> bool {
        nfs_call::answers(&self.server.to_string(), self.port)
    }
}

impl Remounted {
    fn shown(&self) -> String {
        let path = self.target.as_ref().or(self.directory.as_ref());
        path.map_or_else(String::new, |path| path.shown().to_string())
    }

    /// The server's path of a file below the mount.
    #[must_use]
    pub fn at_server(&self, file: &Path) -> Option<PathBuf> {
        let rest = file.strip_prefix(self.target.as_ref()?).ok()?;
        Some(self.directory.as_ref()?.join(rest))
    }

    /// Makes the kernel end all I/O that waits for a lost server, with EIO. The mount stays until it is undone.
    pub fn give_up(&self, runner: &dyn Runner) {
        if let Some(target) = &self.target {
            // umount fails because the mount is busy; what matters is that it aborts the waiting I/O first.
            let _ = runner
                .run(&Invocation::new(Tool::Umount).args(["-i", "-f"]).arg(target).timeout(GIVEN_UP_WITHIN));
        }
    }

    /// Runs `act` while nothing is mounted or exported: ZFS can't export a pool while NFS exports a directory of it.
    ///
    /// # Errors
    /// When taking it down, `act`, or putting it up again fails.
    pub fn while_down(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        act: impl FnOnce() -> Result<(), ActError>,
    ) -> Result<(), StackError> {
        journal.undo_to(machine, self.mark).map_err(|undo| StackError::Act {
            step: "unmount NFS for a moment".to_owned(),
            source: ActError::Unverified {
                what: self.shown(),
                expected: "it can be unmounted".to_owned(),
                saw: "it can't".to_owned(),
            },
            undo: Some(Box::new(undo)),
        })?;
        let failed = |step: String| move |source| StackError::Act { step, source, undo: None };
        act().map_err(failed("settle what NFS exports".to_owned()))?;
        for again in &self.acts {
            let (mut silent, cancel, mut argv) = (|_| {}, AtomicBool::new(false), Vec::new());
            let mut doing = Doing { machine, progress: &mut silent, cancel: &cancel, argv: &mut argv };
            journal.perform(again, &mut doing).map_err(failed(again.to_string()))?;
        }
        Ok(())
    }
}
