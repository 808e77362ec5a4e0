//! The record of a trial from those of its machines.

use crate::protocol::TrialRequest;
use record::together::merged;
use record::trial::{Outcome, Part, StepTime, TrialRecord};

/// The trial's record: the sums, with the parts. `parts`: each machine's, and whether it ended only because another one had failed.
pub(super) fn joined(request: &TrialRequest, parts: Vec<(Part, bool)>) -> TrialRecord {
    let outcome = outcome(&parts);
    let parts: Vec<Part> = parts.into_iter().map(|(part, _)| part).collect();
    let started = parts.iter().map(|part| part.record.started_unix_ms).min().unwrap_or(0);
    let mut record = TrialRecord::new(request.id.clone(), request.seed, started, outcome);
    record.refused = parts.iter().any(|part| part.record.refused);
    record.cut_off = record.outcome != Outcome::Measured && parts.iter().any(|part| part.record.cut_off);
    record.steps = steps(&parts);
    record.trials_before = parts.iter().filter_map(|part| part.record.trials_before).min();
    if let Some(first) = parts.first() {
        record.topology = first.record.topology.clone();
    }
    record.engine = merged(&parts);
    if record.engine.is_none() && record.outcome == Outcome::Measured {
        record.outcome = Outcome::Failed("the results of the machines have no common time".to_owned());
    }
    record.parts = parts;
    record
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
