//! Records the state around a load, on the node that has the devices: topology, counters, files, caches.

use crate::protocol::TrialRequest;
use device::Place;
use observe::{Config, Exclusive, Roots, Subjects};
use record::extents::{FileExtents, Residency};
use record::lvm::{ThinRecord, ThinState};
use record::lvm_cache::CacheState;
use record::printable::chain;
use record::stack::{Layer, Stack};
use record::topology::{BlockKind, BlockNode, Topology};
use record::trial::TrialRecord;
use record::zfs::{PoolRecord, PoolState};
use stack::{ActError, BcacheDevice, Built, Machine};
use std::path::{Path, PathBuf};

/// The topology below a stack, as far as this node sees it.
pub(crate) fn topology(built: &Built) -> Topology {
    let roots = Roots::default();
    match built.nfs.as_ref().map(|nfs| (&nfs.directory, &nfs.target)) {
        Some((Some(directory), Some(target))) => {
            observe::topology_exported(&roots, &direct(built), directory, target)
        }
        _ => observe::topology(&roots, &direct(built), directory(built)),
    }
}

/// What to sample during a load.
pub(crate) fn config(
    machine: &Machine<'_>,
    built: &Built,
    request: &TrialRequest,
    topology: &Topology,
    cgroup: Option<PathBuf>,
) -> Config {
    let roots = Roots::default();
    Config {
        hz: request.measure.sample_hz,
        subjects: Subjects {
            devices: topology.nodes.iter().map(|node| node.name.clone()).collect(),
            cgroup,
            exclusive: exclusive(built, &request.cell.stack),
            network: observe::networked(&roots, topology),
            arc: built.pool.is_some(),
            nfs: built.nfs.as_ref().and_then(|nfs| nfs.target.clone()),
        },
        roots,
        engine_pid: None,
        servers: built.pool.iter().filter_map(|pool| pool.process(machine)).collect(),
    }
}

/// The state just before a load, as far as it isn't in the record yet.
pub(crate) struct Before {
    /// The data files, by paths on the node that stores them.
    stored: Vec<PathBuf>,
    backing: Vec<PathBuf>,
    pool: PoolState,
    caches: Vec<Option<CacheState>>,
    thin_pools: Vec<(String, Option<ThinState>)>,
}

impl Before {
    /// Records the state before the load.
    pub(crate) fn look(
        machine: &Machine<'_>,
        built: &Built,
        stored: Vec<PathBuf>,
        record: &mut TrialRecord,
    ) -> Self {
        // First, because the counters of bcache take some seconds.
        let of_lvm = built.caches.iter().map(|cache| cache.state(machine));
        let caches = of_lvm.chain(built.bcaches.iter().map(BcacheDevice::state)).collect();
        let pool = built.pool.as_ref().map(|pool| pool.state(machine)).unwrap_or_default();
        record.files_before = extents(&stored, &mut record.unread);
        record.server_before = residency(served(built, &stored), &mut record.unread);
        let backing = backing_files(&record.topology);
        record.backing_before = residency(&backing, &mut record.unread);
        Self { stored, backing, pool, caches, thin_pools: built.thin_pools(machine) }
    }

    /// Records the same state just after the load. An error is the reason why the files' disk usage is unknown.
    pub(crate) fn look_again(
        self,
        machine: &Machine<'_>,
        built: &Built,
        record: &mut TrialRecord,
    ) -> Result<(), ActError> {
        let mut before = self.caches.into_iter();
        let of_lvm = built.caches.iter().zip(before.by_ref());
        record.caches = of_lvm.map(|(cache, before)| cache.record(machine, before)).collect();
        let pools = self.thin_pools.into_iter().zip(built.thin_pools(machine));
        record.thin_pools =
            pools.map(|((pool, before), (_, after))| ThinRecord { pool, before, after }).collect();
        record.backing_after = residency(&self.backing, &mut record.unread);
        record.server_after = residency(served(built, &self.stored), &mut record.unread);
        if let Some(pool) = &built.pool {
            // The disk usage of files is known only after ZFS has written them to the devices.
            pool.settle(machine, false)?;
            record.pool = Some(PoolRecord {
                implementation: pool.implementation.clone(),
                guid: pool.guid.clone(),
                before: self.pool,
                after: pool.state(machine),
            });
        }
        record.files_after = extents(&self.stored, &mut record.unread);
        record.caches.extend(built.bcaches.iter().zip(before).map(|(device, before)| device.record(before)));
        Ok(())
    }
}

/// The data files, if this node serves them by NFS; else none.
fn served<'f>(built: &Built, stored: &'f [PathBuf]) -> &'f [PathBuf] {
    if built.nfs.as_ref().is_some_and(|nfs| nfs.directory.is_some()) { stored } else { &[] }
}

/// The places that only the engine should use; `None` for an existing directory, which other processes may use.
fn exclusive(built: &Built, stack: &Stack) -> Option<Exclusive> {
    let devices = built.ground.devices();
    if devices.is_empty() {
        return None;
    }
    // A process that serves a user's own layer or ZFS may have the devices open: that is no foreign I/O.
    let served = stack.layers.iter().any(|layer| matches!(layer, Layer::Command(_) | Layer::Zfs(_)));
    let mut held = if served { Vec::new() } else { devices.to_vec() };
    if let Place::Block(path) = built.ground.place() {
        held.push(path.clone());
    }
    held.sort();
    held.dedup();
    Some(Exclusive { directory: directory(built).map(Path::to_path_buf), devices: held })
}

/// The devices directly under test: the block device, or else those of the mount and the volumes.
fn direct(built: &Built) -> Vec<PathBuf> {
    match built.ground.place() {
        Place::Block(path) => vec![path.clone()],
        Place::Directory(_) => built.ground.devices().to_vec(),
    }
}

fn directory(built: &Built) -> Option<&Path> {
    match built.ground.place() {
        Place::Directory(path) => Some(path),
        Place::Block(_) => None,
    }
}

/// The files behind loop devices in the topology, without duplicates.
fn backing_files(topology: &Topology) -> Vec<PathBuf> {
    let file = |node: &BlockNode| match &node.kind {
        BlockKind::Loop { backing_file, .. } => backing_file.clone(),
        _ => None,
    };
    let mut files: Vec<PathBuf> = topology.nodes.iter().filter_map(file).collect();
    files.sort();
    files.dedup();
    files
}

/// The extents of all files, or an empty list.
fn extents(files: &[PathBuf], unread: &mut Vec<String>) -> Vec<FileExtents> {
    all_or_none(files, unread, device::extents::of_file)
}

/// The page cache residency of all files, or an empty list.
pub(crate) fn residency(files: &[PathBuf], unread: &mut Vec<String>) -> Vec<Residency> {
    all_or_none(files, unread, device::extents::residency)
}

/// All results or an empty list: a partial list would look complete. The reason goes to `unread`.
fn all_or_none<T, E: std::error::Error>(
    files: &[PathBuf],
    unread: &mut Vec<String>,
    look: impl Fn(&Path) -> Result<T, E>,
) -> Vec<T> {
    match files.iter().map(|file| look(file)).collect::<Result<_, _>>() {
        Ok(all) => all,
        Err(error) => {
            let why = chain(&error);
            if !unread.contains(&why) {
                unread.push(why);
            }
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{extents, residency};
    use std::path::PathBuf;

    #[test]
    fn why_a_file_could_not_be_looked_into_is_kept_once() {
        let mut unread = Vec::new();
        let files = [PathBuf::from("/no/such/file"), PathBuf::from("/no/such/other")];
        assert!(extents(&files, &mut unread).is_empty());
        assert!(extents(&files, &mut unread).is_empty());
        assert_eq!(unread.len(), 1, "{unread:?}");
        assert!(unread[0].contains("/no/such/file") && unread[0].contains("No such file"), "{unread:?}");
        assert!(residency(&[], &mut unread).is_empty() && unread.len() == 1);
    }
}
