//! What is below, exported and mounted again on this machine.

use super::{Builder, Stop};
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
use host::{Invocation, Tool};
use record::nfs::Nfs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A directory that is exported by NFS and mounted again on the same machine.
#[derive(Debug, Clone)]
pub struct Remounted {
    /// The directory that the server exports.
    pub directory: PathBuf,
    /// Where it is mounted.
    pub target: PathBuf,
    mark: Mark,
    acts: [Act; 2],
}

impl Remounted {
    /// The path by which the server knows a file that lies below the mount.
    #[must_use]
    pub fn at_server(&self, file: &Path) -> Option<PathBuf> {
        file.strip_prefix(&self.target).ok().map(|rest| self.directory.join(rest))
    }

    /// Does something while nothing is mounted or exported: what is exported can't be taken apart.
    ///
    /// # Errors
    /// Taking it down, what is done then, or putting it up again fails.
    pub fn while_down(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        act: impl FnOnce() -> Result<(), ActError>,
    ) -> Result<(), StackError> {
        journal.undo_to(machine, self.mark).map_err(|undo| StackError::Act {
            step: "unmount NFS for a moment".to_owned(),
            source: ActError::Unverified {
                what: self.target.display().to_string(),
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
    /// Exports `directory` and mounts it. `is_mount`: a file system of ours is mounted there.
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
        for (file_system, what) in [("nfsd", "server"), ("nfs", "client")] {
            if !has(self.machine, file_system) {
                return Err(Stop::Unbuildable(format!(
                    "this kernel has no NFS {what} (module {file_system}); run it where there is one, e.g. in a lab guest"
                )));
            }
        }
        self.serving()?;
        let target = self.mount_point()?;
        let fsid = self.new_uuid()?;
        let export = ExportNfs {
            path: directory.to_owned(),
            options: nfs::export_options(layer, &fsid, is_mount),
            fsid,
            table: nfs_export::table(),
        };
        let (options, in_force) = nfs::mount_options(layer);
        let mount = MountNfs { export: directory.to_owned(), options, in_force, target: target.clone() };
        let remounted = Remounted {
            directory: directory.to_owned(),
            target,
            mark: self.journal.mark(),
            acts: [Act::ExportNfs(export), Act::MountNfs(mount)],
        };
        remounted.acts.iter().try_for_each(|act| self.perform(act))?;
        self.nfs = Some(remounted);
        Ok(())
    }

    /// What an engine gets: the mount, if there is one.
    pub(super) fn served_by_nfs(&self, below: Ground) -> Result<Ground, Stop> {
        let Some(Remounted { directory, target, .. }) = &self.nfs else { return Ok(below) };
        let source = format!("{LOOPBACK}:{}", directory.display());
        let ground = below.mounted_by_nfs(&source, target, self.machine.roots);
        Ok(ground.map_err(guard).map_err(Failed::at("hand the stack to the engine"))?)
    }

    /// The server runs, or is started for as long as the stack stands.
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
                file.display()
            )));
        }
        let start = StartNfsServer::reading(self.machine).map_err(Failed::at("start the NFS server"))?;
        self.perform(&Act::StartNfsServer(start))
    }
}

/// Whether the kernel has a file system, its module loaded if there is one: a module stays, as with every file system that mount
/// loads.
fn has(machine: &Machine<'_>, file_system: &str) -> bool {
    let known = || {
        let text = std::fs::read_to_string(machine.roots.proc.join("filesystems")).unwrap_or_default();
        text.lines().any(|line| line.split_whitespace().last() == Some(file_system))
    };
    known()
        || (machine.runner.run(&Invocation::new(Tool::Modprobe).args(["-q", file_system])).is_ok() && known())
}

/// The first file that names directories to be exported by whoever starts the server.
fn names_exports() -> Option<PathBuf> {
    let more = std::fs::read_dir("/etc/exports.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let more = more.filter(|path| path.extension().is_some_and(|extension| extension == "exports"));
    std::iter::once(PathBuf::from("/etc/exports")).chain(more).find(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'))
    })
}
