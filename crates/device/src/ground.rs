//! What a built stack hands to an engine. No engine takes anything else, and a [`Ground`] is only made from devices that
//! passed the guard, or from a lent directory.

use crate::block::Block;
use crate::candidate::Claimed;
use crate::devno::DevNo;
use crate::family::{below, mount_of, sources};
use crate::lend::LentDir;
use crate::loops;
use crate::mountinfo::{self, Mount};
use crate::roots::Roots;
use host::Runner;
use record::printable::Shown as _;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where load goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A block device, written to from end to end.
    Block(PathBuf),
    /// A directory: files are made in it.
    Directory(PathBuf),
}

/// What is safe to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    place: Place,
    devices: Vec<PathBuf>,
}

/// A place that is no safe ground.
#[derive(Debug, Error)]
pub enum GroundError {
    /// It can't be looked at.
    #[error("cannot tell what {} rests on", .path.shown())]
    Look {
        /// Which place.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing is mounted there.
    #[error("nothing is mounted at {}; a load there would hit the file system around it", .path.shown())]
    NotMounted {
        /// Which place.
        path: PathBuf,
    },
    /// It rests on devices that were not given over.
    #[error("{} rests on something that is none of this stack's volumes: {on}", .path.shown())]
    Elsewhere {
        /// Which place.
        path: PathBuf,
        /// What it rests on.
        on: String,
    },
}

impl Ground {
    /// A claimed device itself.
    #[must_use]
    pub fn block(device: &Claimed) -> Self {
        let path = device.path().to_path_buf();
        Self { place: Place::Block(path.clone()), devices: vec![path] }
    }

    /// A directory at which a file system is mounted that rests on nothing but these devices.
    ///
    /// # Errors
    /// Nothing is mounted there, or something that rests on other devices.
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

    /// What was built on these devices: a block device that rests on nothing else, or a directory at which something is
    /// mounted that doesn't. Of file systems that don't tell what they rest on (zfs, nfs, overlay...) only the
    /// mount itself is checked: files in it can't hurt what is not in it.
    ///
    /// # Errors
    /// It isn't there, or rests on other devices.
    pub fn resting_on(devices: &[&Claimed], place: Place, roots: &Roots) -> Result<Self, GroundError> {
        match &place {
            Place::Block(path) => {
                let look = |source| GroundError::Look { path: path.clone(), source };
                let devno = roots.block_at(path).map_err(look)?;
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

    /// A directory at which the dataset of a ZFS pool is mounted whose devices, those of its log and cache too, are these and no
    /// others.
    ///
    /// # Errors
    /// Something else is mounted there; the pool's devices can't be told, or are others.
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
            tops.push(roots.block_at(&roots.relocate(member)).map_err(look)?);
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

    /// This ground's directory, mounted again from the NFS server that exports it as `source`.
    ///
    /// # Errors
    /// Something else is mounted there.
    pub fn mounted_by_nfs(self, source: &str, mount: &Path, roots: &Roots) -> Result<Self, GroundError> {
        Ok(Self { devices: self.devices, ..Self::served_by(source, mount, roots)? })
    }

    /// A directory that another node exports as `source`, mounted here: what it rests on is cleared, claimed or lent there.
    ///
    /// # Errors
    /// Something else is mounted there.
    pub fn served_by(source: &str, mount: &Path, roots: &Roots) -> Result<Self, GroundError> {
        let (entry, _) = mounted_at(roots, mount)?;
        if !matches!(entry.kind.as_str(), "nfs" | "nfs4") || entry.source != Path::new(source) {
            let on = format!("{} {}", entry.kind, entry.source.shown());
            return Err(GroundError::Elsewhere { path: mount.to_path_buf(), on });
        }
        Ok(Self { place: Place::Directory(mount.to_path_buf()), devices: Vec::new() })
    }

    /// A lent directory.
    #[must_use]
    pub fn lent(directory: &LentDir) -> Self {
        Self { place: Place::Directory(directory.access()), devices: Vec::new() }
    }

    /// Where load goes.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The devices it rests on, as far as they are ours to know; empty for a lent directory.
    #[must_use]
    pub fn devices(&self) -> &[PathBuf] {
        &self.devices
    }
}

fn paths(devices: &[&Claimed]) -> Vec<PathBuf> {
    devices.iter().map(|d| d.path().to_path_buf()).collect()
}

/// The mount whose root is this very directory, and all others.
fn mounted_at(roots: &Roots, path: &Path) -> Result<(Mount, Vec<Mount>), GroundError> {
    let look = |source| GroundError::Look { path: path.to_path_buf(), source };
    let canonical = std::fs::canonicalize(path).map_err(look)?;
    let mounts = mountinfo::own(roots).map_err(look)?;
    match mount_of(&mounts, &canonical) {
        Some(entry) if entry.target == canonical => Ok((entry.clone(), mounts.clone())),
        _ => Err(GroundError::NotMounted { path: path.to_path_buf() }),
    }
}

/// Everything under each of these must end in the claimed devices, and in nothing else.
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

/// The first of these that rests on nothing else.
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
