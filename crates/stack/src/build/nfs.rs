//! Exports what is below and mounts it on this machine; or only exports it, or mounts an export of another machine.

use super::remounted::{NfsClient, NfsSource, Remounted};
use super::{Builder, Built, Stop, Under};
use crate::act::Act;
use crate::act::nfs_export::{self, ExportNfs, LOOPBACK};
use crate::act::nfs_mount::MountNfs;
use crate::act::nfs_server::StartNfsServer;
use crate::act::nfs_threads::{threads, threads_file};
use crate::error::{ActError, StackError};
use crate::journal::{Journal, set_by_another};
use crate::layer::nfs;
use crate::machine::Machine;
use crate::volumes::Failed;
use device::Ground;
use host::{Invocation, Tool};
use record::nfs::{Nfs, NfsVersion};
use record::printable::Shown as _;
use record::stack::Stack;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

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
        let is_local = self.clients.is_empty();
        if is_local && layer.client.is_some() {
            return Err(Stop::Unbuildable("nobody has said where its client is".to_owned()));
        }
        if is_local {
            self.needs("nfs", "client")?;
        }
        self.serving()?;
        let target = if is_local { Some(self.mount_point()?) } else { None };
        let fsid = self.new_uuid()?;
        let mark = self.journal.mark();
        let (options, in_force) = nfs::mount_options(layer, !is_local).map_err(Stop::Unbuildable)?;
        let export = |(client, any_port): (String, bool)| {
            Act::ExportNfs(ExportNfs {
                path: directory.to_owned(),
                options: nfs::export_options(layer, &fsid, is_mount, any_port),
                fsid: fsid.clone(),
                table: nfs_export::table(),
                client,
            })
        };
        let mut acts: Vec<Act> = addresses(self.clients).into_iter().map(export).collect();
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
        let (options, in_force) = nfs::mount_options(layer, true).map_err(Stop::Unbuildable)?;
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
        let ground = ground.map_err(ActError::guard).map_err(Failed::at("hand the stack to the engine"))?;
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
        Ok(ground.map_err(ActError::guard).map_err(Failed::at("hand the stack to the engine"))?)
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
                "run {run} has started the NFS server and will stop it; wait until that ends, or undo it (diskproof undo {run})"
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

/// The addresses to export to, each once, and whether requests from there may come from unprivileged ports. Clients behind one
/// address have one export.
fn addresses(clients: &[NfsClient]) -> BTreeMap<String, bool> {
    if clients.is_empty() {
        return BTreeMap::from([(LOOPBACK.to_owned(), false)]);
    }
    let mut all: BTreeMap<String, bool> = BTreeMap::new();
    for client in clients {
        *all.entry(client.address.to_string()).or_default() |= client.any_port;
    }
    all
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

#[cfg(test)]
mod tests {
    use super::{NfsClient, addresses};
    use std::net::Ipv4Addr;

    #[test]
    fn each_address_is_exported_to_once() {
        let at = |last, any_port| NfsClient { address: Ipv4Addr::new(10, 0, 2, last), any_port };
        let of = |clients: &[NfsClient]| addresses(clients).into_iter().collect::<Vec<_>>();
        assert_eq!(of(&[]), [("127.0.0.1".to_owned(), false)], "mounted by the same machine");
        let several = of(&[at(9, false), at(2, false), at(2, true)]);
        assert_eq!(several, [("10.0.2.2".to_owned(), true), ("10.0.2.9".to_owned(), false)]);
    }
}
