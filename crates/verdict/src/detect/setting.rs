//! Claims about the settings of the workload.

use crate::detected::{Detected, WORTH_SAYING, evidence};
use crate::figures::bytes;
use crate::scene::Scene;
use record::finding::{Claim, Severity};
use record::topology::is_memory_fs;

/// The data set fits into memory, I/O is buffered, and the page cache took part.
pub(super) fn smaller_than_memory(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    if facts.direct() == Some(true) || facts.fs().is_some_and(is_memory_fs) {
        return None;
    }
    let (data, memory) = (facts.data_bytes(), facts.memory_total()?);
    let took_part = |s: record::finding::Served| s.page_cache >= WORTH_SAYING;
    let cached = scene.shares.read.is_some_and(took_part) || scene.shares.write.is_some_and(took_part);
    let unseen = scene.shares.read.is_some_and(|s| s.unknown >= 0.5);
    if data >= memory || !(cached || unseen) {
        return None;
    }
    Some(Detected {
        claim: Claim::SmallerThanMemory,
        severity: Severity::Caveat,
        strength: 1.0 - data / memory,
        evidence: evidence([("data_bytes", Some(data)), ("memory_bytes", Some(memory))]),
        text: format!(
            "The data set of {} fits in this machine's memory of {}, and I/O is buffered, so the page cache can hold all of it.",
            bytes(data),
            bytes(memory)
        ),
        remedy: format!(
            "For a storage figure use direct: 1, or size: {} or more (twice memory) over all jobs.",
            bytes(2.0 * memory)
        ),
    })
}

/// Several jobs on one file.
pub(super) fn shared_file(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    if !facts.engine.shared_files {
        return None;
    }
    let jobs = facts.options().map(|o| o.numjobs);
    let direct = facts.direct() == Some(true);
    let who = jobs.map_or("Several jobs".to_owned(), |n| format!("{n} jobs"));
    Some(Detected {
        claim: Claim::SharedFile,
        severity: if direct { Severity::Note } else { Severity::Caveat },
        strength: jobs.map_or(1.0, f64::from),
        evidence: evidence([("jobs", jobs.map(f64::from)), ("data_bytes", Some(facts.data_bytes()))]),
        text: if direct {
            format!("{who} use the same file: they contend for its locks and may visit the same blocks.")
        } else {
            format!("{who} use the same file: one job may find in memory what another has just read.")
        },
        remedy: "Give each job its own file (leave out filename), or its own region (offset_increment)."
            .to_owned(),
    })
}
