//! The guard: the only two ways to get a [`Claimed`] device.

use crate::block::Block;
use crate::candidate::{Candidate, Claimed, Owner, Scope};
use crate::check::claim;
use crate::claims::ClaimBook;
use crate::loops;
use crate::refusal::{Check, Dissent, Refusal};
use crate::roots::Roots;
use host::Runner;
use record::printable::Shown as _;
use std::path::{Path, PathBuf};

/// The beginning of the name of every file and directory that we create.
pub const PREFIX: &str = "diskproof-";

/// Clears a real disk, by its name in `/dev/disk/by-id` (or, where it has none, by the path of its node): its owner has claimed
/// it, and every check says that it is free.
///
/// # Errors
/// All checks that failed, and all that could not be made. Nothing was written.
pub fn disk(
    roots: &Roots,
    runner: &dyn Runner,
    book: &ClaimBook,
    id: &str,
    min_size_bytes: u64,
) -> Result<Claimed, Refusal> {
    let candidate = Candidate::by_id(roots, id)?;
    let owner = claim::testify(&candidate, book);
    let shown = candidate.to_string();
    let vouched = owner.as_ref().is_ok_and(|claim| claim.word.unseen_processes);
    let scope = Scope { min_size_bytes, foreign: true, vouched, copies: true };
    match (candidate.cleared_within(roots, runner, scope), owner) {
        (Ok(cleared), Ok(claim)) => {
            Ok(cleared.claimed(Owner::Claim { book: book.path().to_path_buf(), claim }))
        }
        (Ok(_), Err(objection)) => Err(Refusal::of(shown, vec![objection])),
        (Err(refusal), Ok(_)) => Err(refusal),
        (Err(mut refusal), Err(objection)) => {
            refusal.dissent.insert(0, objection);
            Err(refusal)
        }
    }
}

/// Clears a loop device of our own, over the file `backing`, whose name must begin with [`PREFIX`]. Its contents don't matter,
/// but its users do.
///
/// # Errors
/// All checks that failed, and all that could not be made. Nothing was written.
pub fn emulated(roots: &Roots, runner: &dyn Runner, dev: &Path, backing: &Path) -> Result<Claimed, Refusal> {
    let candidate = Candidate::loop_device(roots, dev)?;
    let ours = backing_is(roots, candidate.block(), backing);
    let shown = candidate.to_string();
    let scope = Scope { min_size_bytes: 0, foreign: false, vouched: false, copies: false };
    match (candidate.cleared_within(roots, runner, scope), ours) {
        (Ok(cleared), Ok(())) => Ok(cleared.claimed(Owner::OurLoop { backing: backing.to_path_buf() })),
        (Ok(_), Err(objection)) => Err(Refusal::of(shown, vec![objection])),
        (Err(refusal), Ok(())) => Err(refusal),
        (Err(mut refusal), Err(objection)) => {
            refusal.dissent.push(objection);
            Err(refusal)
        }
    }
}

/// Checks that a loop device shows exactly the whole of our file: by name, by the path that the kernel reports, and by inode.
pub(crate) fn backing_is(roots: &Roots, block: &Block, backing: &Path) -> Result<(), Dissent> {
    let object = |saw: String| {
        let remedy = "detach it (losetup -d) and let diskproof make its own";
        Err(Dissent::new(Check::Backing, saw, remedy))
    };
    let name = backing.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.starts_with(PREFIX) {
        return object(format!(
            "{} isn't a file of ours: its name doesn't begin with {PREFIX}",
            backing.shown()
        ));
    }
    let Some(found) = loops::of(roots, block.clone()) else {
        return object(format!("{} is no loop device, or not attached", block.label()));
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
            format!("{} can't be asked what it rests on", block.label()),
            "ask again as root",
        )),
    }
}
