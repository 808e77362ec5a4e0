//! The relatives of a disk: everything that rests on it, and everything it rests on.

use crate::block::Block;
use crate::btrfs_members::companions;
use crate::devno::DevNo;
use crate::loops::{self, Loop};
use crate::mountinfo::Mount;
use crate::node::block_at;
use record::roots::Roots;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// A device that rests on the disk, and how.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) block: Block,
    pub(crate) link: Link,
}

/// How a device rests on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// It is the disk.
    Itself,
    /// It is a partition of the disk, or of a device that rests on it.
    Partition,
    /// It is stacked on the named device.
    Holds(String),
    /// It is a loop device over the named device or a file on it.
    Loops(String),
}

/// The disk, its partitions, and all devices stacked on them, at any level.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub(crate) members: Vec<Member>,
    /// Holders that sysfs names but doesn't list as block devices.
    pub(crate) strangers: Vec<String>,
    /// Loop devices with an unknown backing file.
    pub(crate) unplaced: Vec<String>,
}

impl Family {
    pub(crate) fn of(roots: &Roots, disk: &Block, mounts: &[Mount]) -> io::Result<Self> {
        let loops = loops::all(roots)?;
        let mut family = Self { members: Vec::new(), strangers: Vec::new(), unplaced: Vec::new() };
        family.unplaced = loops.iter().filter(|l| is_unplaced(l)).map(|l| l.block.name.clone()).collect();
        let mut seen = BTreeSet::from([disk.devno]);
        let mut next = vec![Member { block: disk.clone(), link: Link::Itself }];
        while let Some(member) = next.pop() {
            let found = family.above(roots, &member.block, &loops, mounts)?;
            next.extend(found.into_iter().filter(|m| seen.insert(m.block.devno)));
            family.members.push(member);
        }
        family.members.sort_by_key(|m| (m.link != Link::Itself, m.block.devno));
        Ok(family)
    }

    fn above(
        &mut self,
        roots: &Roots,
        block: &Block,
        loops: &[Loop],
        mounts: &[Mount],
    ) -> io::Result<Vec<Member>> {
        let mut found: Vec<_> =
            block.partitions()?.into_iter().map(|block| Member { block, link: Link::Partition }).collect();
        for name in block.holders()? {
            match Block::by_name(roots, &name) {
                Ok(holder) => found.push(Member { block: holder, link: Link::Holds(block.name.clone()) }),
                Err(_) => self.strangers.push(format!("{name} on {}", block.name)),
            }
        }
        for one in loops.iter().filter(|l| rests_on(roots, l, block.devno, mounts)) {
            found.push(Member { block: one.block.clone(), link: Link::Loops(block.name.clone()) });
        }
        Ok(found)
    }

    pub(crate) fn member(&self, devno: DevNo) -> Option<&Member> {
        self.members.iter().find(|m| m.block.devno == devno)
    }
}

fn is_unplaced(one: &Loop) -> bool {
    one.file.is_none() && one.device.is_none()
}

fn rests_on(roots: &Roots, one: &Loop, devno: DevNo, mounts: &[Mount]) -> bool {
    if one.device.is_some() {
        return one.device == Some(devno);
    }
    match one.file {
        Some((file_system, _)) if !file_system.is_anonymous() => file_system == devno,
        // A file on btrfs has an anonymous device number, so its mount must show the real devices.
        _ => mount_of(mounts, &one.backing).is_some_and(|m| sources(roots, m).contains(&devno)),
    }
}

/// The mount of a path: the one with the longest mount point above it; of several, the last.
pub(crate) fn mount_of<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    mounts
        .iter()
        .enumerate()
        .filter(|(_, m)| path.starts_with(&m.target))
        .max_by_key(|(order, m)| (m.target.components().count(), *order))
        .map(|(_, m)| m)
}

/// The block devices of a mount, as far as they are known: its own number, or for btrfs all members. Empty when it has none or
/// doesn't show them (zfs, overlay, nfs, tmpfs).
pub(crate) fn sources(roots: &Roots, mount: &Mount) -> Vec<DevNo> {
    if !mount.devno.is_anonymous() {
        return vec![mount.devno];
    }
    match block_at(roots, &roots.in_dev(&mount.source)) {
        Ok(devno) => companions(roots, devno).unwrap_or_else(|_| vec![devno]),
        Err(_) => Vec::new(),
    }
}

/// All devices that these rest on, including themselves: the whole disk of a partition, slaves, the device behind a loop device.
/// It doesn't descend below devices in `floor`.
pub(crate) fn below(
    roots: &Roots,
    start: &[DevNo],
    mounts: &[Mount],
    floor: &BTreeSet<DevNo>,
) -> io::Result<BTreeSet<DevNo>> {
    let mut seen = BTreeSet::new();
    let mut next = start.to_vec();
    while let Some(devno) = next.pop() {
        if !seen.insert(devno) || floor.contains(&devno) {
            continue;
        }
        let block = Block::by_devno(roots, devno)?;
        next.push(block.whole()?.devno);
        for name in block.slaves()? {
            next.push(Block::by_name(roots, &name)?.devno);
        }
        let Some(one) = loops::of(roots, block) else { continue };
        next.extend(one.device);
        match one.file {
            Some((file_system, _)) if one.device.is_none() && !file_system.is_anonymous() => {
                next.push(file_system);
            }
            _ if one.device.is_none() => {
                next.extend(mount_of(mounts, &one.backing).map(|m| sources(roots, m)).unwrap_or_default());
            }
            _ => {}
        }
    }
    Ok(seen)
}
