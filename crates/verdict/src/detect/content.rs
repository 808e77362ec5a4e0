//! Claims about the content of blocks: whether the storage kept the data.

use crate::detected::{Detected, evidence};
use crate::figures::{bytes, counted};
use crate::span::float;
use record::finding::{Claim, Finding, Severity};
use record::judged::Checked;
use record::plan::Cell;
use record::trial::{FaultKind, TrialRecord, Verified, VerifyFault};
use std::collections::BTreeMap;

/// The most offsets in the text for each kind; records have more.
const OFFSETS: usize = 4;

/// The sum of what all trials checked, with failed ones; `None` if none did.
pub(crate) fn checked(trials: &[&TrialRecord]) -> Option<Checked> {
    let mut sum: Option<Checked> = None;
    for verified in trials.iter().filter_map(|t| of(t)) {
        let sum = sum.get_or_insert_default();
        sum.trials += 1;
        sum.bytes = sum.bytes.saturating_add(verified.bytes);
        sum.wrong_blocks = sum.wrong_blocks.saturating_add(blocks(verified));
    }
    sum
}

fn of(trial: &TrialRecord) -> Option<&Verified> {
    trial.engine.as_ref()?.verified.as_ref()
}

fn blocks(verified: &Verified) -> u64 {
    verified.faults.iter().map(|f| f.count).fold(0, u64::saturating_add)
}

/// A finding about blocks that didn't hold what was written to them, in any trial, also in one that failed because of it.
pub(crate) fn wrong_content(cell: &Cell, trials: &[&TrialRecord]) -> Option<Finding> {
    let wrong: Vec<(&TrialRecord, &Verified)> =
        trials.iter().filter_map(|t| Some((*t, of(t).filter(|v| !v.faults.is_empty())?))).collect();
    let (trial, worst) = wrong.iter().max_by_key(|(_, v)| blocks(v)).copied()?;
    let mut kinds: BTreeMap<FaultKind, u64> = BTreeMap::new();
    for fault in &worst.faults {
        *kinds.entry(fault.kind).or_default() += fault.count;
    }
    let mut counters =
        evidence([("wrong_blocks", Some(float(blocks(worst)))), ("checked_bytes", Some(float(worst.bytes)))]);
    counters.extend(kinds.iter().map(|(kind, n)| (format!("{}_blocks", name(*kind)), float(*n))));
    let detected = Detected {
        claim: Claim::WrongContent,
        severity: Severity::Void,
        strength: float(blocks(worst)),
        evidence: counters,
        text: text(trial.id.round, worst, if is_copy(trial) { "file" } else { "block" }),
        remedy: remedy(kinds.keys().copied()),
    };
    Some(detected.in_rounds(cell, wrong.iter().map(|(trial, _)| trial.id.round).collect()))
}

/// Whether a trial is a copy, which is compared file by file.
fn is_copy(trial: &TrialRecord) -> bool {
    trial.engine.as_ref().is_some_and(|engine| engine.copied.is_some())
}

fn text(round: u32, verified: &Verified, noun: &str) -> String {
    let faults: Vec<String> = verified.faults.iter().map(of_fault).collect();
    let example = verified.faults.iter().find(|f| !f.example.is_empty());
    let example =
        example.map_or(String::new(), |f| format!(" For example, {}.", f.example.trim_end_matches('.')));
    format!(
        "{} did not hold what was written, in round {}, of {} checked: {}.{example}",
        counted(blocks(verified), noun),
        round + 1,
        bytes(float(verified.bytes)),
        faults.join("; ")
    )
}

fn of_fault(fault: &VerifyFault) -> String {
    let offsets: Vec<String> = fault.offsets_bytes.iter().take(OFFSETS).map(u64::to_string).collect();
    if offsets.is_empty() {
        return format!("{} {} ({}): {}", fault.count, name(fault.kind), meaning(fault.kind), fault.path);
    }
    let more = if fault.count > offsets.len() as u64 { ", ..." } else { "" };
    let noun = if offsets.len() == 1 && more.is_empty() { "offset" } else { "offsets" };
    format!(
        "{} {} ({}) in {} at {noun} {}{more}",
        fault.count,
        name(fault.kind),
        meaning(fault.kind),
        fault.path,
        offsets.join(", ")
    )
}

fn name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Lost => "lost",
        FaultKind::Stale => "stale",
        FaultKind::Torn => "torn",
        FaultKind::Misdirected => "misdirected",
        FaultKind::Corrupt => "corrupt",
    }
}

fn meaning(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Lost => "acknowledged, but the old content is still there",
        FaultKind::Stale => "an earlier write is there, not the latest acknowledged one",
        FaultKind::Torn => "parts come from different writes",
        FaultKind::Misdirected => "content that belongs elsewhere",
        FaultKind::Corrupt => "bytes that were never written there",
    }
}

/// What to check, the likeliest causes of these kinds of fault first.
fn remedy(kinds: impl Iterator<Item = FaultKind>) -> String {
    let suspects: Vec<&str> = kinds.map(suspect).collect();
    format!(
        "Don't trust this storage with data. Suspect {}; check the device (smartctl), its cable and firmware, the machine's \
         memory, the kernel's log (dmesg) and the file system's (scrub or fsck), then run it again.",
        suspects.join(", and ")
    )
}

fn suspect(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Lost => "a cache that acknowledges writes and ignores flushes (lost)",
        FaultKind::Stale => "two paths or caches to the same data that don't know of each other (stale)",
        FaultKind::Torn => "a device that doesn't write such blocks whole, or two writers at once (torn)",
        FaultKind::Misdirected => "firmware, or a layer that maps addresses wrongly (misdirected)",
        FaultKind::Corrupt => "the medium, a cable or memory, or another program that wrote there (corrupt)",
    }
}
