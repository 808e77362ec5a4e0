//! The backing file of our own loop device.

use crate::PREFIX;
use crate::block::Block;
use crate::loops;
use crate::refusal::{Check, Dissent};
use record::printable::Shown as _;
use record::roots::Roots;
use std::path::{Path, PathBuf};

/// Checks that a loop device shows exactly the whole of our file: by name, by the path that the kernel reports, and by inode.
pub(crate) fn testify(roots: &Roots, block: &Block, backing: &Path) -> Result<(), Dissent> {
    let object = |saw: String| {
        let remedy = "detach it (losetup -d) and let diskproof make its own";
        Err(Dissent::new(Check::Backing, saw, remedy))
    };
    let name = backing.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.starts_with(PREFIX) {
        return object(format!(
            "{} wasn't made by diskproof: its name doesn't begin with {PREFIX}",
            backing.shown()
        ));
    }
    let Some(found) = loops::of(roots, block.clone()) else {
        return object(format!("{} is not a loop device, or not attached", block.label()));
    };
    let canonical = std::fs::canonicalize(backing).unwrap_or_else(|_| PathBuf::from(backing));
    if found.backing != canonical {
        return object(format!(
            "{} rests on {}, not on {}",
            block.label(),
            found.backing.shown(),
            canonical.shown()
        ));
    }
    let file = match loops::file_at(&canonical) {
        Ok(file) => file,
        Err(error) => return object(format!("{}: {error}", canonical.shown())),
    };
    if found.device.is_some() || found.file != Some(file) {
        return object(format!(
            "{} rests on another file that was called {}",
            block.label(),
            canonical.shown()
        ));
    }
    match found.span {
        Some((0, 0)) => Ok(()),
        Some(_) => object(format!("{} shows only a part of {}", block.label(), canonical.shown())),
        None => Err(Dissent::unheard(
            Check::Backing,
            format!("it is unknown which file {} is over", block.label()),
            "ask again as root",
        )),
    }
}
