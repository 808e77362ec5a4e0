//! A claim about thin pools: the load was the first to write to their chunks.

use crate::detected::{Detected, WORTH_SAYING, evidence};
use crate::facts::Facts;
use crate::figures::{bytes, percent};
use crate::scene::Scene;
use crate::span::float;
use record::finding::{Claim, Severity};
use record::lvm::{ThinRecord, ThinState};
use record::workload::Layout;

/// The least share of the data with which first writes change the figure.
const PART: f64 = 0.10;

/// The pool allocated chunks for a part of the data worth saying.
pub(super) fn allocated(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let (before, after) = facts.trial.thin_pools.iter().rev().find_map(both)?;
    // Discards free chunks, so the number may fall.
    let chunks = float(after.used_chunks.checked_sub(before.used_chunks)?);
    let new = chunks * float(after.chunk_bytes);
    let data = facts.data_bytes();
    let share = if data > 0.0 { (new / data).min(1.0) } else { 1.0 };
    if new <= 0.0 || share < WORTH_SAYING {
        return None;
    }
    let asked = facts.cell.workload.layout != Layout::Written;
    let again = facts.all_options().iter().any(|options| options.time_based);
    Some(Detected {
        claim: Claim::ChunksAllocated,
        severity: if share < PART || (asked && !again) { Severity::Note } else { Severity::Caveat },
        strength: share,
        evidence: evidence([
            ("allocated_chunks", Some(chunks)),
            ("chunk_bytes", Some(float(after.chunk_bytes))),
            ("allocated_share_of_data", Some(share)),
            ("pool_used_before_bytes", Some(used(before))),
            ("pool_used_after_bytes", Some(used(after))),
            ("pool_metadata_used_bytes", Some(float(after.used_metadata_bytes))),
            ("data_bytes", Some(data)),
        ]),
        text: format!(
            "The thin pool allocated {chunks:.0} chunks of {} during the trial ({}, {} of the data of {}). The first write to a chunk \
             allocates it and writes to the pool's metadata, and may fill the rest of it with zeros; later writes do not.",
            bytes(float(after.chunk_bytes)),
            bytes(new),
            percent(share),
            bytes(data)
        ),
        remedy: remedy(facts, asked, again).to_owned(),
    })
}

fn both(record: &ThinRecord) -> Option<(&ThinState, &ThinState)> {
    Some((record.before.as_ref()?, record.after.as_ref()?))
}

fn used(state: &ThinState) -> f64 {
    float(state.used_chunks) * float(state.chunk_bytes)
}

fn remedy(facts: &Facts<'_>, asked: bool, again: bool) -> &'static str {
    match (asked, again) {
        (true, false) => {
            "The layout asks for first writes, and this is their rate. For writes to allocated chunks, use layout: written, the default."
        }
        (true, true) => {
            "The figure mixes first writes with later ones. For first writes alone, end the trial after one pass over the data \
             (time_based: 0); for later ones, use layout: written, the default."
        }
        (false, _) if facts.cell.workload.only_options().is_some() => {
            "The data was written before the trial, and the load wrote elsewhere too. For writes to allocated chunks, use a file system \
             that writes in place (ext4, xfs), and no trims."
        }
        (false, _) => {
            "The load makes new files, so its writes are first writes. For writes to allocated chunks, measure a workload that \
             overwrites its data (rw: randwrite)."
        }
    }
}
