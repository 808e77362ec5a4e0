//! The guard: the only two ways to get a [`Claimed`] device.

use crate::candidate::claimed::{Claimed, Owner};
use crate::candidate::{Candidate, Scope};
use crate::check::{backing, claim};
use crate::claims::ClaimBook;
use crate::refusal::Refusal;
use host::Runner;
use record::roots::Roots;
use std::path::Path;

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

/// Clears a loop device of our own, over the file `backing`, whose name must begin with [`PREFIX`](crate::PREFIX). Its contents don't matter,
/// but its users do.
///
/// # Errors
/// All checks that failed, and all that could not be made. Nothing was written.
pub fn emulated(roots: &Roots, runner: &dyn Runner, dev: &Path, backing: &Path) -> Result<Claimed, Refusal> {
    let candidate = Candidate::loop_device(roots, dev)?;
    let ours = backing::testify(roots, candidate.block(), backing);
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
