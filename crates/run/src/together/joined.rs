//! The record of a trial from those of its machines.

use super::exporter::Served;
use crate::nfs_remote;
use crate::protocol::TrialRequest;
use crate::trial::has_wrong_content;
use record::counter::ServerClock;
use record::together::{merged, mounted};
use record::trial::{Outcome, Part, StepTime, TrialRecord};

/// The trial's record: the sums, with the parts. `parts`: each machine's, and whether it ended only because another one had failed.
/// `served`: what the machine saw that exports what they mount.
pub(super) fn joined(
    request: &TrialRequest,
    parts: Vec<(Part, bool)>,
    served: Option<Served>,
) -> TrialRecord {
    let outcome = outcome(&parts);
    let parts: Vec<Part> = parts.into_iter().map(|(part, _)| part).collect();
    let started = parts.iter().map(|part| part.record.started_unix_ms).min().unwrap_or(0);
    let mut record = TrialRecord::new(request.id.clone(), request.seed, started, outcome);
    record.refused = parts.iter().any(|part| part.record.refused);
    record.steps = steps(&parts);
    record.trials_before = parts.iter().filter_map(|part| part.record.trials_before).min();
    if let Some(first) = parts.first() {
        record.topology = first.record.topology.clone();
    }
    record.engine = merged(&parts);
    if record.engine.is_none() && record.outcome == Outcome::Measured {
        record.outcome = Outcome::Failed("the results of the machines have no common time".to_owned());
    }
    let mut record = match served {
        Some(served) => above(served, record, &parts),
        None => record,
    };
    let is_cut_off = record.cut_off || parts.iter().any(|part| part.record.cut_off);
    record.parts = parts;
    record.cut_off = record.outcome != Outcome::Measured && is_cut_off && !has_wrong_content(&record);
    record
}

/// The sums of all clients on what the exporting machine saw once.
fn above(served: Served, mut sums: TrialRecord, parts: &[Part]) -> TrialRecord {
    let each = || parts.iter().map(|part| &part.record);
    sums.built = each().next().map(|first| first.built.clone()).unwrap_or_default();
    sums.unread = each().flat_map(|record| record.unread.iter().cloned()).collect();
    sums.unread.dedup();
    sums.cache_before = each().flat_map(|record| record.cache_before.iter().cloned()).collect();
    sums.cache_after = each().flat_map(|record| record.cache_after.iter().cloned()).collect();
    sums.evidence.samples = mounted(parts);
    sums.evidence.others_complete = each().all(|record| record.evidence.others_complete);
    // The clients' clocks were compared with the controller's too.
    let theirs = parts.iter().filter_map(|part| part.clock_before).map(|clock| clock.uncertain_ns).max();
    sums.evidence.server_clock = served.clock.map(|clock| ServerClock {
        uncertain_ns: clock.uncertain_ns.saturating_add(theirs.unwrap_or(0)),
        ..clock
    });
    nfs_remote::joined(sums, served.record)
}

/// Measured if all machines measured. The reason of a failure names the machines where it began.
fn outcome(parts: &[(Part, bool)]) -> Outcome {
    let failed = || parts.iter().filter(|(part, _)| part.record.outcome != Outcome::Measured);
    let began_it = failed().any(|(_, abandoned)| !abandoned);
    let counted = failed().filter(|(_, abandoned)| !began_it || !abandoned);
    let reasons: Vec<String> = counted
        .filter_map(|(part, _)| match &part.record.outcome {
            Outcome::Failed(why) => Some(format!("machine {}: {why}", part.target)),
            Outcome::Measured => None,
        })
        .collect();
    match reasons.as_slice() {
        [] => Outcome::Measured,
        some => Outcome::Failed(some.join("; ")),
    }
}

/// Each step as long as on the slowest machine, in the order of their first occurrence.
fn steps(parts: &[Part]) -> Vec<StepTime> {
    let mut longest: Vec<StepTime> = Vec::new();
    for step in parts.iter().flat_map(|part| &part.record.steps) {
        match longest.iter_mut().find(|known| known.step == step.step) {
            Some(known) => known.seconds = known.seconds.max(step.seconds),
            None => longest.push(step.clone()),
        }
    }
    longest
}
