//! What can't be cut into blocks: whatever needs the results of other blocks.

use super::error::QueueError;
use record::plan::Plan;
use record::stack::Rebuild;
use record::target::TargetKind;
use run::controller::targets_of;

/// Refuses a plan whose rounds depend on each other: nobody who does a block knows the other blocks.
///
/// # Errors
/// The reasons, each with its remedy.
pub fn unfit(plan: &Plan) -> Result<(), QueueError> {
    let mut reasons = Vec::new();
    let measure = &plan.measure;
    if measure.until.is_some() {
        reasons.push(
            "`measure: until` decides by all trials when it is enough: give a number of `rounds` instead"
                .to_owned(),
        );
    }
    if measure.max_trial_seconds.is_some() {
        reasons.push("the trials' length is chosen from earlier rounds: give one length".to_owned());
    }
    for (budget, is_set) in [
        ("time", measure.max_seconds.is_some()),
        ("written", measure.max_written_bytes.is_some()),
        ("money", measure.max_cost.is_some()),
    ] {
        if is_set {
            reasons.push(format!(
                "the budget `{budget}` is that of the whole run: give a number of `rounds` instead"
            ));
        }
    }
    let created = plan.targets.iter().find(|target| {
        matches!(target.kind, TargetKind::Created { .. }) && targets_of(plan).contains(&target.name.as_str())
    });
    if let Some(target) = created {
        reasons.push(format!(
            "target `{}` is created by a driver for one run, but blocks run on machines that are there whenever the queue \
             hands them out: use `diskproof run`, or name machines that exist (`ssh`)",
            target.name
        ));
    }
    if let Some(cell) = plan.cells.iter().find(|cell| cell.find().is_some()) {
        let name = &cell.workload.name;
        reasons.push(format!("workload `{name}` searches a level from round to round: use `diskproof run`"));
    }
    if let Some(cell) = plan.cells.iter().find(|cell| cell.stack.rebuild == Rebuild::Run) {
        let name = &cell.stack.name;
        reasons.push(format!(
            "stack `{name}` stays up over the rounds (`rebuild: run`), but each block takes its stacks down: use `diskproof run`"
        ));
    }
    if reasons.is_empty() { Ok(()) } else { Err(QueueError::Unfit(reasons)) }
}
