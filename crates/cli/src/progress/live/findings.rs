//! Findings of one trial, as they come. The result judges all trials together, and may say more or less.

use record::environment::Environment;
use record::event::Stopped;
use record::finding::{Claim, Finding};
use record::id::RunId;
use record::plan::Plan;
use record::trial::TrialRecord;
use record::volume::VolumeFacts;
use verdict::Input;

/// The findings that one trial of the cell at `place` shows by itself.
pub(super) fn of_trial(
    plan: &Plan,
    place: usize,
    environment: &Environment,
    volumes: &[VolumeFacts],
    record: &TrialRecord,
) -> Vec<Finding> {
    let cells = vec![plan.cells[place].clone()];
    let alone =
        Plan { targets: plan.targets.clone(), ..Plan::new(String::new(), cells, plan.measure.clone()) };
    let input = Input {
        run: &RunId(String::new()),
        plan: &alone,
        environment,
        volumes,
        trials: std::slice::from_ref(record),
        stopped: &Stopped::Unfinished,
    };
    let of_trials = |finding: &Finding| !finding.rounds.is_empty() || finding.claim == Claim::TrialsFailed;
    verdict::judge(&input).findings.into_iter().filter(of_trials).collect()
}
