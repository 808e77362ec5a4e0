//! The owner's claim on a disk.

use crate::candidate::Candidate;
use crate::claims::{Claim, ClaimBook};
use crate::refusal::{Check, Dissent};

/// The claim on this disk; an error unless it is the owner's claim on this very disk.
pub(crate) fn testify(disk: &Candidate, book: &ClaimBook) -> Result<Claim, Dissent> {
    let found = disk.identity();
    let by_name = disk.asked_by().and_then(|name| book.named(name));
    match (book.find(found), by_name) {
        (Some(claim), None) => Ok(claim.clone()),
        (Some(claim), Some(named)) if claim == named => Ok(claim.clone()),
        (_, Some(named)) => Err(changed(disk, named)),
        (None, None) => Err(similar(disk, book).unwrap_or_else(|| {
            Dissent::new(
                Check::Claim,
                format!("nobody has claimed {disk} ({found})"),
                format!("if everything on it may be erased, claim it once: diskproof claim {}", disk.short()),
            )
        })),
    }
}

/// The claimed name leads to another disk now.
fn changed(disk: &Candidate, named: &Claim) -> Dissent {
    let saw = format!("{disk} was claimed as {}, but is now {}", named.identity, disk.identity());
    Dissent::new(Check::Claim, saw, reclaim(disk))
}

/// A claimed disk has the same serial number or WWN, but differs otherwise.
fn similar(disk: &Candidate, book: &ClaimBook) -> Option<Dissent> {
    let claim = book.claims().iter().find(|c| c.identity.same_name(disk.identity()))?;
    let saw = format!("the claim is on {}, but {disk} is {}", claim.identity, disk.identity());
    Some(Dissent::new(Check::Claim, saw, reclaim(disk)))
}

fn reclaim(disk: &Candidate) -> String {
    let name = disk.short();
    format!(
        "if the disk that is there now may be erased: diskproof unclaim {name}, then diskproof claim {name}"
    )
}
