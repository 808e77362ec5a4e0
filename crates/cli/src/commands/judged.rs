//! Judges stored records, and caches the judgement until the run or the rules change.

use crate::exit::{Exit, Failure};
use record::finding::{Claim, Finding};
use record::id::RunId;
use record::judged::{RunView, Status};
use record::trial::TrialRecord;
use store::{RunHead, Store, StoreError};
use verdict::{Input, JUDGE};

/// Returns a judged run with its tags. A stored judgement by the same rules is used again, so a run of 100,000 trials is judged once.
///
/// # Errors
/// There is no such run, or it can't be read.
pub(crate) fn view(store: &Store, run: &RunId) -> Result<RunView, Failure> {
    let kept = store.judgement(run, JUDGE).map_err(unreadable)?;
    let kept: Option<RunView> = kept.and_then(|text| serde_json::from_str(&text).ok());
    let mut view = kept.map_or_else(|| anew(store, run), Ok)?;
    view.tags = store.tags().map_err(unreadable)?.remove(run).unwrap_or_default();
    Ok(view)
}

/// Judges a run from its records, without the stored judgement, and stores the new one instead.
///
/// # Errors
/// There is no such run, or it can't be read.
pub(crate) fn anew(store: &Store, run: &RunId) -> Result<RunView, Failure> {
    let head = store.head(run).map_err(unreadable)?;
    let mut trials = Vec::new();
    let each = |mut trial: TrialRecord| {
        // The engine's raw output was parsed when the record was made; it is by far the largest part.
        if let Some(engine) = &mut trial.engine {
            engine.raw = String::new();
        }
        trials.push(trial);
    };
    store.trials(run, each).map_err(unreadable)?;
    let view = verdict::judge(&input(run, &head, &trials));
    if let Ok(text) = serde_json::to_string(&view) {
        // A store that can't be written is fine: then the run is judged again the next time.
        let _ = store.cache_judgement(run, JUDGE, head.revision, &text);
    }
    Ok(view)
}

/// The judge's input for a run.
pub(crate) fn input<'a>(run: &'a RunId, head: &'a RunHead, trials: &'a [TrialRecord]) -> Input<'a> {
    Input {
        run,
        plan: &head.plan,
        environment: &head.environment,
        volumes: &head.volumes,
        trials,
        stopped: &head.stopped,
    }
}

/// The failure of a store's error: a run that doesn't exist is the user's fault, everything else the machine's.
pub(crate) fn unreadable(error: StoreError) -> Failure {
    match error {
        StoreError::NoSuchRun { .. }
        | StoreError::NoRuns { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::NoRunOf { .. }
        | StoreError::NoSuchTag { .. }
        | StoreError::NotTagged { .. }
        | StoreError::TagTaken { .. }
        | StoreError::NotATag { .. }
        | StoreError::NotAStore { .. } => Failure::input(error),
        StoreError::DuplicateTrial { .. } | StoreError::RunExists { .. } | StoreError::Unstorable { .. } => {
            Failure::ours(error)
        }
        _ => Failure::machine(error),
    }
}

/// The exit code of a run.
///
/// # Errors
/// A planned cell has no measurement, or diskproof's checks refused trials of one: then the result isn't complete. Or a block didn't hold what was
/// written to it: then no figure counts, even if the trials went on.
pub(crate) fn exit_of(view: &RunView) -> Result<Exit, Failure> {
    let mut unmeasured = view.cells.iter().filter(|cell| cell.trials.done == 0 && cell.trials.failed > 0);
    if let Some(first) = unmeasured.next() {
        return Err(Failure::machine(format!(
            "{} of {} cells could not be measured (the first: {} {}); the findings say why",
            1 + unmeasured.count(),
            view.cells.len(),
            first.stack,
            first.workload
        )));
    }
    let refused = |finding: &&Finding| finding.evidence.contains_key(verdict::REFUSED_TRIALS);
    if let Some(refusal) = view.findings.iter().find(refused) {
        return Err(Failure::machine(format!(
            "diskproof's checks refused trials of {}: {}",
            refusal.cell, refusal.text
        )));
    }
    if let Some(wrong) = view.findings.iter().find(|f| f.claim == Claim::WrongContent) {
        return Err(Failure::machine(format!("the storage didn't keep what was written: {}", wrong.text)));
    }
    let missed = view.expectations.iter().any(|e| e.status == Status::Missed);
    Ok(if missed { Exit::NotMet } else { Exit::Fine })
}
