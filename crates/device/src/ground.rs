//! The device or file system under test: what a built stack gives to an engine. Engines accept nothing else, and a [`Ground`]
//! comes only from devices that passed the guard, or from an existing directory.

use crate::block::Block;
use crate::candidate::claimed::Claimed;
use crate::devno::DevNo;
use crate::family::{below, mount_of, sources};
use crate::lend::LentDir;
use crate::loops;
use crate::mountinfo::{self, Mount};
use crate::node::block_at;
use host::Runner;
use record::printable::Shown as _;
use record::roots::Roots;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The place of the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A block device, which is written from end to end.
    Block(PathBuf),
    /// A directory, in which files are created.
    Directory(PathBuf),
}

/// A device or file system that is safe to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    place: Place,
    devices: Vec<PathBuf>,
}

/// Why a place is not safe to load.
#[derive(Debug, Error)]
pub enum GroundError {
    /// It can't be examined.
    #[error("cannot tell what {} rests on", .path.shown())]
    Look {
        /// The place.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Nothing is mounted there.
    #[error("nothing is mounted at {}; a load there would hit the file system around it", .path.shown())]
    NotMounted {
        /// The place.
        path: PathBuf,
    },
    /// It rests on devices that were not claimed.
    #[error("{} rests on something that is none of this stack's volumes: {on}", .path.shown())]
    Elsewhere {
        /// The place.
        path: PathBuf,
        /// The device that it rests on.
        on: String,
    },
}

impl Ground {
    /// The load goes to a claimed device itself.
    #[must_use]
    pub fn block(device: &Claimed) -> Self {
        let path = device.path().to_path_buf();
        Self { place: Place::Block(path.clone()), devices: vec![path] }
    }

    /// The load goes to a directory with a mounted file system that rests only on these devices.
    ///
    /// # Errors
    /// When nothing is mounted there, or something that rests on other devices.
    pub fn directory_on(devices: &[&Claimed], mount: &Path, roots: &Roots) -> Result<Self, GroundError> {
        let (entry, mounts) = mounted_at(roots, mount)?;
        let under = sources(roots, &entry);
        if under.is_empty() {
            let on = format!("{} {}", entry.kind, entry.source.shown());
            return Err(GroundError::Elsewhere { path: mount.to_path_buf(), on });
        }
        only_on(devices, mount, roots, &under, &mounts)?;
        Ok(Self { place: Place::Directory(mount.to_path_buf()), devices: paths(devices) })
    }

    /// The load goes to what was built on these devices: a block device that rests on nothing else, or a directory with such a
    /// mount. File systems that don't show their devices (zfs, nfs, overlay...) are checked only for the mount itself: files in
    /// it can't harm anything outside it.
    ///
    /// # Errors
    /// When it doesn't exist, or rests on other devices.
    pub fn resting_on(devices: &[&Claimed], place: Place, roots: &Roots) -> Result<Self, GroundError> {
        match &place {
            Place::Block(path) => {
                let look = |source| GroundError::Look { path: path.clone(), source };
                let devno = block_at(roots, path).map_err(look)?;
                let mounts = mountinfo::own(roots).map_err(look)?;
                only_on(devices, path, roots, &[devno], &mounts)?;
            }
            Place::Directory(path) => {
                let (entry, mounts) = mounted_at(roots, path)?;
                let under = sources(roots, &entry);
                if !under.is_empty() {
                    only_on(devices, path, roots, &under, &mounts)?;
                }
            }
        }
        Ok(Self { place, devices: paths(devices) })
    }

    /// The load goes to the mounted dataset of a ZFS pool. The pool's devices, including its log and cache, must be exactly
    /// these.
    ///
    /// # Errors
    /// When something else is mounted there, or the pool's devices are unknown or others.
    pub fn directory_on_pool(
        devices: &[&Claimed],
        pool: &str,
        mount: &Path,
        roots: &Roots,
        runner: &dyn Runner,
    ) -> Result<Self, GroundError> {
        let look = |source| GroundError::Look { path: mount.to_path_buf(), source };
        let elsewhere = |on| GroundError::Elsewhere { path: mount.to_path_buf(), on };
        let (entry, mounts) = mounted_at(roots, mount)?;
        if !matches!(entry.kind.as_str(), "zfs" | "fuse.zfs") || entry.source != Path::new(pool) {
            return Err(elsewhere(format!("{} {}", entry.kind, entry.source.shown())));
        }
        let members = crate::pool::devices_of(runner, pool).map_err(|e| look(io::Error::other(e)))?;
        let mut tops = Vec::new();
        for member in &members {
            tops.push(block_at(roots, &roots.in_dev(member)).map_err(look)?);
        }
        if tops.is_empty() {
            return Err(elsewhere(format!("pool {pool}, which names no devices")));
        }
        only_on(devices, mount, roots, &tops, &mounts)?;
        let beneath = below(roots, &tops, &mounts, &BTreeSet::new()).map_err(look)?;
        match devices.iter().find(|device| !beneath.contains(&device.number())) {
            Some(unused) => {
                Err(elsewhere(format!("pool {pool}, which leaves {} out", unused.path().shown())))
            }
            None => Ok(Self { place: Place::Directory(mount.to_path_buf()), devices: paths(devices) }),
        }
    }

    /// The same directory, mounted again from the NFS server that exports it as `source`.
    ///
    /// # Errors
    /// When something else is mounted there.
    pub fn mounted_by_nfs(self, source: &str, mount: &Path, roots: &Roots) -> Result<Self, GroundError> {
        Ok(Self { devices: self.devices, ..Self::served_by(source, mount, roots)? })
    }

    /// A mount of a directory that another machine exports as `source`. That machine's guard has checked what it rests on.
    ///
    /// # Errors
    /// When something else is mounted there.
    pub fn served_by(source: &str, mount: &Path, roots: &Roots) -> Result<Self, GroundError> {
        let (entry, _) = mounted_at(roots, mount)?;
        if !matches!(entry.kind.as_str(), "nfs" | "nfs4") || entry.source != Path::new(source) {
            let on = format!("{} {}", entry.kind, entry.source.shown());
            return Err(GroundError::Elsewhere { path: mount.to_path_buf(), on });
        }
        Ok(Self { place: Place::Directory(mount.to_path_buf()), devices: Vec::new() })
    }

    /// The load goes to an existing directory.
    #[must_use]
    pub fn lent(directory: &LentDir) -> Self {
        Self { place: Place::Directory(directory.access()), devices: Vec::new() }
    }

    /// The place of the load.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The devices that it rests on, as far as they are claimed; empty for an existing directory.
    #[must_use]
    pub fn devices(&self) -> &[PathBuf] {
        &self.devices
    }
}

fn paths(devices: &[&Claimed]) -> Vec<PathBuf> {
    devices.iter().map(|d| d.path().to_path_buf()).collect()
}

/// The mount with exactly this directory as its mount point, and all mounts.
fn mounted_at(roots: &Roots, path: &Path) -> Result<(Mount, Vec<Mount>), GroundError> {
    let look = |source| GroundError::Look { path: path.to_path_buf(), source };
    let canonical = std::fs::canonicalize(path).map_err(look)?;
    let mounts = mountinfo::own(roots).map_err(look)?;
    match mount_of(&mounts, &canonical) {
        Some(entry) if entry.target == canonical => Ok((entry.clone(), mounts.clone())),
        _ => Err(GroundError::NotMounted { path: path.to_path_buf() }),
    }
}

/// Checks that each of these rests on the claimed devices and on nothing else.
fn only_on(
    devices: &[&Claimed],
    path: &Path,
    roots: &Roots,
    start: &[DevNo],
    mounts: &[Mount],
) -> Result<(), GroundError> {
    let look = |source| GroundError::Look { path: path.to_path_buf(), source };
    let ours: BTreeSet<DevNo> = devices.iter().map(|d| d.number()).collect();
    for top in start {
        let beneath = below(roots, &[*top], mounts, &ours).map_err(look)?;
        let foreign = foreign_end(roots, beneath.difference(&ours)).map_err(look)?;
        let top = Block::by_devno(roots, *top).map_err(look)?;
        if foreign.is_some() || beneath.is_disjoint(&ours) {
            let end = foreign.filter(|end| *end != top).map(|end| format!(", which ends in {}", end.label()));
            let on = format!("{}{}", top.label(), end.unwrap_or_default());
            return Err(GroundError::Elsewhere { path: path.to_path_buf(), on });
        }
    }
    Ok(())
}

/// The first of these devices that rests on no other device.
pub(crate) fn foreign_end<'d>(
    roots: &Roots,
    devices: impl Iterator<Item = &'d DevNo>,
) -> io::Result<Option<Block>> {
    for devno in devices {
        let block = Block::by_devno(roots, *devno)?;
        let stacked = block.is_partition() || !block.slaves()?.is_empty();
        if !stacked && loops::of(roots, block.clone()).is_none() {
            return Ok(Some(block));
        }
    }
    Ok(None)
}
