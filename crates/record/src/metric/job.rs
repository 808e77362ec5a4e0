//! The time of a whole job: work that ends when it is done, not when a time is up.

use crate::plan::{Cell, Plan};
use crate::trial::{EngineOutput, Outcome, TrialRecord};
use crate::workload::{Ask, EngineKind, Options};

/// The clock that ends a load may be this much early, in seconds.
const CLOCK: f64 = 0.001;

/// The seconds of a trial's whole job: Bonnie++ from its start to its end, or a load whose jobs go over their data once
/// (`time_based: 0`), from its start until the last job is done. `None`: the trial has no such job, its time was up before, or the
/// engine doesn't tell the begin.
pub(super) fn seconds(plan: &Plan, cell: &Cell, trial: &TrialRecord) -> Option<f64> {
    let engine = trial.engine.as_ref().filter(|_| trial.outcome == Outcome::Measured)?;
    let measured = engine.window.seconds();
    let seconds = match &cell.workload.ask {
        Ask::Bonnie(_) => measured,
        Ask::Options(options) => measured + of_load(plan, cell, engine, &[options])?,
        Ask::JobFile { jobs, .. } => {
            let options: Vec<&Options> = jobs.iter().map(|job| &job.options).collect();
            measured + of_load(plan, cell, engine, &options)?
        }
        Ask::Copy(_) => return None,
    };
    (seconds > 0.0).then_some(seconds)
}

/// The seconds before the measured time of a load that did all of its work; `None` if it didn't, or nobody knows.
fn of_load(plan: &Plan, cell: &Cell, engine: &EngineOutput, jobs: &[&Options]) -> Option<f64> {
    if jobs.is_empty() || jobs.iter().any(|options| options.time_based) {
        return None;
    }
    let limit = |options: &&Options| milliseconds(options.runtime_ms).unwrap_or(plan.measure.trial_seconds);
    let limit = jobs.iter().map(limit).fold(f64::INFINITY, f64::min);
    let phases = engine.phases.iter().map(|phase| phase.seconds);
    let longest = phases.reduce(f64::max).unwrap_or_else(|| engine.window.seconds());
    if longest > limit - CLOCK {
        return None;
    }
    let is_file = matches!(cell.workload.ask, Ask::JobFile { .. });
    let ramp_of = |options: &&Options| {
        // A job file has no ramp but its own.
        milliseconds(options.ramp_time_ms).unwrap_or(if is_file { 0.0 } else { plan.measure.ramp_seconds })
    };
    let ramp = jobs.iter().map(ramp_of).fold(0.0, f64::max);
    // After a ramp fio's logs give the measured time to some milliseconds, and as a mean over the jobs.
    (ramp == 0.0 || cell.workload.engine == EngineKind::Native).then_some(ramp)
}

#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ms")]
fn milliseconds(ms: Option<u64>) -> Option<f64> {
    ms.map(|ms| ms as f64 / 1e3)
}
