//! Exports what is below and mounts it on this machine; or only exports it, or mounts an export of another machine.

use super::{Builder, Built, Stop, Under};
use crate::act::nfs_call;
use crate::act::nfs_export::{self, ExportNfs, LOOPBACK};
use crate::act::nfs_mount::MountNfs;
use crate::act::nfs_server::{StartNfsServer, threads, threads_file};
use crate::act::{Act, Doing};
use crate::error::{ActError, StackError};
use crate::journal::{Journal, Mark, set_by_another};
use crate::layer::nfs;
use crate::machine::Machine;
use crate::volumes::{Failed, guard};
use device::Ground;
use host::{Invocation, Runner, Tool};
use record::nfs::{Nfs, NfsVersion};
use record::printable::Shown as _;
use record::stack::Stack;
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
    mark: Mark,
    acts: Vec<Act>,
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

/// Mounts an export of another machine, as the stack's nfs layer says. After a failure, it undoes what is half done.
///
/// # Errors
/// When the stack has no nfs layer, this kernel has no NFS client, or the mount fails.
pub fn mount(
    machine: &Machine<'_>,
    journal: &mut Journal,
    stack: &Stack,
    source: &NfsSource,
    cancel: &AtomicBool,
) -> Result<Built, StackError> {
    let mark = journal.mark();
    let under = Under::Server;
    let mut builder = Builder::new(machine, journal, &under, cancel);
    let ground = builder.mounted(stack, source);
    builder.finish(ground, mark, stack)
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

impl Builder<'_> {
    /// Exports `directory` and mounts it. `is_mount` says that a file system of ours is mounted there.
    pub(super) fn nfs(&mut self, layer: &Nfs, directory: &Path, is_mount: bool) -> Result<(), Stop> {
        if self.nfs.is_some() {
            return Err(Stop::Unbuildable("what is mounted by NFS is not exported again".to_owned()));
        }
        nfs::plain_path(directory).map_err(Stop::Unbuildable)?;
        if self.limited.is_some() {
            return Err(Stop::Unbuildable(
                "the limits of its emulated volumes would not bind: the NFS server does I/O in threads of the kernel, which no \
                 cgroup reaches. Use disks that are limited by themselves, e.g. a lab guest's, or leave the limits out"
                    .to_owned(),
            ));
        }
        self.needs("nfsd", "server")?;
        if layer.client.is_none() {
            self.needs("nfs", "client")?;
        } else if self.client.is_none() {
            return Err(Stop::Unbuildable("nobody has said where its client is".to_owned()));
        }
        self.serving()?;
        let target = if layer.client.is_none() { Some(self.mount_point()?) } else { None };
        let fsid = self.new_uuid()?;
        let any_port = self.client.is_some_and(|client| client.any_port);
        let mark = self.journal.mark();
        let (options, in_force) = nfs::mount_options(layer).map_err(Stop::Unbuildable)?;
        let mut acts = vec![Act::ExportNfs(ExportNfs {
            path: directory.to_owned(),
            options: nfs::export_options(layer, &fsid, is_mount, any_port),
            fsid,
            table: nfs_export::table(),
            client: self.client.map_or(LOOPBACK.to_owned(), |client| client.address.to_string()),
        })];
        acts.extend(target.clone().map(|target| {
            let (export, server) = (directory.to_owned(), LOOPBACK.to_owned());
            Act::MountNfs(MountNfs {
                export,
                options,
                in_force,
                target,
                server,
                port: None,
                mount_port: None,
            })
        }));
        acts.iter().try_for_each(|act| self.perform(act))?;
        self.nfs = Some(Remounted { directory: Some(directory.to_owned()), target, mark, acts });
        Ok(())
    }

    /// Mounts an export of another machine.
    fn mounted(&mut self, stack: &Stack, source: &NfsSource) -> Result<Ground, Stop> {
        let layer = stack.nfs().ok_or_else(|| Stop::Unbuildable("it has no nfs layer".to_owned()))?;
        self.needs("nfs", "client")?;
        let target = self.mount_point()?;
        let mark = self.journal.mark();
        let (options, in_force) = nfs::mount_options(layer).map_err(Stop::Unbuildable)?;
        let (export, server) = (source.directory.clone(), source.server.to_string());
        let named = format!("{server}:{}", export.to_string_lossy());
        let port = source.port;
        // NFSv4 has no mountd, and refuses an option that names one.
        let mount_port = source.mount_port.filter(|_| layer.version == Some(NfsVersion::V3));
        let act = Act::MountNfs(MountNfs {
            export,
            options,
            in_force,
            target: target.clone(),
            server,
            port,
            mount_port,
        });
        self.perform(&act)?;
        let ground = Ground::served_by(&named, &target, self.machine.roots);
        let ground = ground.map_err(guard).map_err(Failed::at("hand the stack to the engine"))?;
        self.nfs = Some(Remounted { directory: None, target: Some(target), mark, acts: vec![act] });
        Ok(ground)
    }

    /// The file system for the engine: the NFS mount, if there is one on this machine.
    pub(super) fn served_by_nfs(&self, below: Ground) -> Result<Ground, Stop> {
        let Some(Remounted { directory: Some(directory), target: Some(target), .. }) = &self.nfs else {
            return Ok(below);
        };
        let source = format!("{LOOPBACK}:{}", directory.to_string_lossy());
        let ground = below.mounted_by_nfs(&source, target, self.machine.roots);
        Ok(ground.map_err(guard).map_err(Failed::at("hand the stack to the engine"))?)
    }

    fn needs(&self, file_system: &str, what: &str) -> Result<(), Stop> {
        if has(self.machine, file_system) {
            return Ok(());
        }
        Err(Stop::Unbuildable(format!(
            "this kernel has no NFS {what} (module {file_system}); run it where there is one, e.g. in a lab guest"
        )))
    }

    /// Starts the NFS server for the life of the stack, unless it runs already.
    fn serving(&mut self) -> Result<(), Stop> {
        let proc = &self.machine.roots.proc;
        let own = self.journal.run().clone();
        if let Some(run) = set_by_another(self.machine, &own, &threads_file(proc)) {
            return Err(Stop::Unbuildable(format!(
                "run {run} has started the NFS server and will stop it; let that end, or undo it (diskproof undo {run})"
            )));
        }
        if threads(proc) > 0 {
            return Ok(());
        }
        if !Path::new("/run/systemd/system").exists() {
            return Err(Stop::Unbuildable(
                "the NFS server is not running, and this machine has no systemd to start it; start it (rpc.nfsd, rpc.mountd)"
                    .to_owned(),
            ));
        }
        if let Some(file) = names_exports() {
            return Err(Stop::Unbuildable(format!(
                "the NFS server is not running, and starting it would export what {} names; start it yourself if you want \
                 that (systemctl start nfs-server)",
                file.shown()
            )));
        }
        let start = StartNfsServer::reading(self.machine).map_err(Failed::at("start the NFS server"))?;
        self.perform(&Act::StartNfsServer(start))
    }
}

/// Whether the kernel has a file system; loads its module if there is one. The module stays loaded, as with every file system
/// that mount loads.
fn has(machine: &Machine<'_>, file_system: &str) -> bool {
    let known = || {
        let text = std::fs::read_to_string(machine.roots.proc.join("filesystems")).unwrap_or_default();
        text.lines().any(|line| line.split_whitespace().last() == Some(file_system))
    };
    known()
        || (machine.runner.run(&Invocation::new(Tool::Modprobe).args(["-q", file_system])).is_ok() && known())
}

/// The first file that lists directories for export whenever the server starts.
fn names_exports() -> Option<PathBuf> {
    let more = std::fs::read_dir("/etc/exports.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let more = more.filter(|path| path.extension().is_some_and(|extension| extension == "exports"));
    std::iter::once(PathBuf::from("/etc/exports")).chain(more).find(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'))
    })
}
