//! Finds a device again that was used earlier, perhaps in another boot: by its identity, never by its name. An undo checks here
//! before it writes to a device.

use crate::block::Block;
use crate::candidate::Candidate;
use crate::claims::ClaimBook;
use crate::devno::DevNo;
use crate::family::below;
use crate::identity::Identity;
use crate::loops::{self, file_at};
use crate::mountinfo;
use record::printable::Shown as _;
use record::roots::Roots;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The present place of a claimed disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// It is at this node, and its claim is still valid.
    Here(PathBuf),
    /// No disk of this machine is it.
    Away,
    /// It is unknown or must not be written to, for this reason.
    Barred(String),
}

/// Finds a disk by its serial number, WWN, model and size, first at its old place. It must be claimed in `book`.
///
/// # Errors
/// When the disks of this machine can't be listed.
pub fn whereabouts(
    roots: &Roots,
    book: &ClaimBook,
    identity: &Identity,
    was: (u32, u32),
) -> io::Result<Whereabouts> {
    let is_it = |block: &Block| {
        let whole = !block.is_partition();
        let found = Candidate::of_block(roots, block).ok().filter(|_| whole)?;
        identity.is_same_disk(found.identity()).then_some(found)
    };
    let was = DevNo { major: was.0, minor: was.1 };
    let there = Block::by_devno(roots, was).ok().and_then(|block| is_it(&block));
    let all: Vec<Candidate> = match there {
        Some(found) => vec![found],
        None => Block::all(roots)?.iter().filter_map(is_it).collect(),
    };
    Ok(match all.as_slice() {
        [] => Whereabouts::Away,
        [one] if book.find(one.identity()).is_some() => Whereabouts::Here(one.path().to_path_buf()),
        [one] => Whereabouts::Barred(format!(
            "{} is here, but its owner has taken the claim back; claim it again (diskproof claim {})",
            one.path().shown(),
            one.short()
        )),
        [one, other, ..] => Whereabouts::Barred(format!(
            "{} and {} both say that they are it",
            one.path().shown(),
            other.path().shown()
        )),
    })
}

/// What is behind a loop device of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopOver {
    /// Nothing: it is not attached, doesn't exist, or is no loop device.
    Nothing,
    /// The file of this name, or the file that had it before it was deleted.
    File(PathBuf),
    /// Another file, or a device: only the name fits.
    Another(PathBuf),
}

/// What is behind a loop device: by the name that the kernel reports, and by the inode.
#[must_use]
pub fn loop_over(roots: &Roots, devno: (u32, u32)) -> LoopOver {
    let block = Block::by_devno(roots, DevNo { major: devno.0, minor: devno.1 });
    let Some(found) = block.ok().and_then(|block| loops::of(roots, block)) else { return LoopOver::Nothing };
    let printed = found.backing.to_string_lossy();
    let Some(name) = printed.strip_suffix(" (deleted)") else {
        let same = file_at(&found.backing).is_ok_and(|file| found.file == Some(file));
        return if same && found.device.is_none() {
            LoopOver::File(found.backing)
        } else {
            LoopOver::Another(found.backing)
        };
    };
    let name = PathBuf::from(name);
    // Another file may have the name by now.
    if name.exists() { LoopOver::Another(name) } else { LoopOver::File(name) }
}

/// The first device below a block device that is neither claimed nor a loop device over a file that `is_ours`; `None` when there
/// is none.
///
/// # Errors
/// When the devices below it can't be read.
pub fn rests_on_others(
    roots: &Roots,
    devno: (u32, u32),
    book: &ClaimBook,
    is_ours: &dyn Fn(&Path) -> bool,
) -> io::Result<Option<String>> {
    let of_ours = |block: &Block| {
        let devno = (block.devno.major, block.devno.minor);
        let on_file = matches!(loop_over(roots, devno), LoopOver::File(file) if is_ours(&file));
        on_file || Candidate::of_block(roots, block).is_ok_and(|disk| book.find(disk.identity()).is_some())
    };
    let floor: BTreeSet<DevNo> =
        Block::all(roots)?.iter().filter(|block| of_ours(block)).map(|block| block.devno).collect();
    let top = DevNo { major: devno.0, minor: devno.1 };
    let beneath = below(roots, &[top], &mountinfo::own(roots)?, &floor)?;
    if beneath.is_disjoint(&floor) {
        return Ok(Some(Block::by_devno(roots, top)?.label()));
    }
    let foreign = crate::ground::foreign_end(roots, beneath.difference(&floor))?;
    Ok(foreign.map(|block| block.label()))
}
