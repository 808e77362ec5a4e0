//! Lists every block device of this machine: whether it is free, and why not.

use crate::advice;
use crate::block::Block;
use crate::candidate::{Candidate, Scope};
use crate::check::{claim, exclusive, users};
use crate::claims::ClaimBook;
use crate::identity::{Identity, Strength};
use crate::mountinfo;
use crate::refusal::{Check, Dissent, Refusal};
use crate::sample::{Effort, Sample};
use host::Runner;
use record::roots::Roots;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Major numbers of floppies and optical drives: opening them moves mechanics, and they are no disks to measure.
const LEFT_OUT: [u32; 2] = [2, 11];

/// A block device, as `diskproof devices` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReport {
    /// The path of its device node.
    pub path: PathBuf,
    /// Its names in `/dev/disk/by-id`.
    pub ids: Vec<String>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its world wide name.
    pub wwn: Option<String>,
    /// How reliably these distinguish it from others.
    pub strength: Strength,
    /// Whether no check failed, and all could be made or are covered by another one. The owner's claim is separate.
    pub free: bool,
    /// Checks that could not be made, but are covered: mount namespaces that can't be seen by the exclusive open, processes that
    /// can't be seen by the owner's claim.
    pub spoken_for: Vec<Dissent>,
    /// All checks that failed, and all that could not be made; without the claim.
    pub dissent: Vec<Dissent>,
    /// Whether the owner has claimed this very disk.
    pub claimed: bool,
    /// A sample of blocks all over it; `None` for partitions, and where it can't be read (without root).
    #[serde(default)]
    pub sample: Option<Sample>,
}

/// Lists every disk, partition and loop device in use. Changes nothing and needs no root; without root some checks can't be made,
/// and then no device counts as free.
#[must_use]
pub fn inventory(roots: &Roots, runner: &dyn Runner, book: Option<&ClaimBook>) -> Vec<DiskReport> {
    let all = Block::all(roots).unwrap_or_default();
    let shown = all.iter().filter(|b| !LEFT_OUT.contains(&b.devno.major) && b.size_bytes() != Some(0));
    shown.map(|block| report(roots, runner, book, block)).collect()
}

fn report(roots: &Roots, runner: &dyn Runner, book: Option<&ClaimBook>, block: &Block) -> DiskReport {
    match Candidate::of_block(roots, block) {
        Ok(candidate) => {
            // Opened and closed at once: only to see whether it is possible.
            let held = exclusive::hold(roots, block, candidate.path()).map(drop);
            let locked = exclusive::lock(roots, candidate.path()).map(drop);
            let scope = Scope { min_size_bytes: 0, foreign: true, vouched: false, copies: true };
            let mut dissent = candidate.hear(roots, runner, scope, held.is_ok());
            dissent.extend(held.err());
            dissent.extend(locked.err());
            let hidden = mountinfo::all(roots).ok().and_then(|tables| users::hidden(&tables));
            let mut spoken_for: Vec<_> = hidden.into_iter().filter(|d| !dissent.contains(d)).collect();
            let claim = book.and_then(|b| claim::testify(&candidate, b).ok());
            if claim.as_ref().is_some_and(|claim| claim.word.unseen_processes) {
                let unseen = |d: &mut Dissent| d.witness == Check::Openers && !d.heard;
                spoken_for.extend(dissent.extract_if(.., unseen));
            }
            let sample = (!block.is_partition()).then(|| Sample::of(&candidate, Effort::LIST).ok()).flatten();
            let ids = candidate.ids().to_vec();
            let report = describe(
                candidate.path().to_path_buf(),
                ids,
                candidate.identity(),
                advice::fit(dissent),
                claim.is_some(),
            );
            DiskReport { spoken_for, sample, ..report }
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
        spoken_for: Vec::new(),
        dissent,
        claimed,
        sample: None,
    }
}

impl DiskReport {
    /// The checks that could not be made.
    #[must_use]
    pub fn unheard(&self) -> Vec<Check> {
        self.dissent.iter().filter(|d| !d.heard).map(|d| d.witness).collect()
    }
}
