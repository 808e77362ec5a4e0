//! Every block device of this machine: free or not, and why.

use crate::block::Block;
use crate::candidate::{Candidate, Scope};
use crate::claims::ClaimBook;
use crate::identity::{Identity, Strength};
use crate::refusal::{Dissent, Refusal, Witness};
use crate::roots::Roots;
use crate::witness::{claim, exclusive};
use host::Runner;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Floppies and optical drives: opening them moves machinery, and they are no disks to measure.
const LEFT_OUT: [u32; 2] = [2, 11];

/// One block device, as `diskproof devices` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReport {
    /// The kernel's node.
    pub path: PathBuf,
    /// Names in `/dev/disk/by-id`.
    pub ids: Vec<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World wide name.
    pub wwn: Option<String>,
    /// How well that tells it from others.
    pub strength: Strength,
    /// No witness objects, and all could be heard. The owner's claim is asked for separately.
    pub free: bool,
    /// Everyone who objects, and everyone who couldn't be heard; the claim is not among them.
    pub dissent: Vec<Dissent>,
    /// The owner has claimed this very disk.
    pub claimed: bool,
}

/// Every disk, partition and loop device in use. Changes nothing and needs no root; without it some witnesses can't be
/// heard, and then nothing counts as free.
#[must_use]
pub fn inventory(roots: &Roots, runner: &dyn Runner, book: Option<&ClaimBook>) -> Vec<DiskReport> {
    let all = Block::all(roots).unwrap_or_default();
    let shown = all.iter().filter(|b| !LEFT_OUT.contains(&b.devno.major) && b.size_bytes() != Some(0));
    shown.map(|block| report(roots, runner, book, block)).collect()
}

fn report(roots: &Roots, runner: &dyn Runner, book: Option<&ClaimBook>, block: &Block) -> DiskReport {
    match Candidate::of_block(roots, block) {
        Ok(candidate) => {
            let mut dissent = candidate.hear(roots, runner, Scope { min_size_bytes: 0, foreign: true });
            // Opened and closed at once: only a question.
            dissent.extend(exclusive::hold(roots, block, candidate.path()).err());
            dissent.extend(exclusive::lock(roots, candidate.path()).err());
            dissent.sort_by_key(|d| d.witness);
            let claimed = book.is_some_and(|b| claim::testify(&candidate, b).is_ok());
            let ids = candidate.ids().to_vec();
            describe(candidate.path().to_path_buf(), ids, candidate.identity(), dissent, claimed)
        }
        Err(Refusal { dissent, .. }) => {
            let identity = Identity::of(roots, block);
            describe(block.node(roots), Vec::new(), &identity, dissent, false)
        }
    }
}

fn describe(
    path: PathBuf,
    ids: Vec<String>,
    identity: &Identity,
    dissent: Vec<Dissent>,
    claimed: bool,
) -> DiskReport {
    DiskReport {
        path,
        ids,
        size_bytes: identity.size_bytes,
        model: identity.model.clone(),
        serial: identity.serial.clone(),
        wwn: identity.wwn.clone(),
        strength: identity.strength(),
        free: dissent.is_empty(),
        dissent,
        claimed,
    }
}

impl DiskReport {
    /// Witnesses that could not be heard.
    #[must_use]
    pub fn unheard(&self) -> Vec<Witness> {
        self.dissent.iter().filter(|d| !d.heard).map(|d| d.witness).collect()
    }
}
