//! The rounds of a run: makes the trials that the ledger asks for, by an implementation that the caller passes in.

use crate::error::RunError;
use crate::ledger::{Earlier, Ledger, Next};
use crate::protocol::TrialRequest;
use crate::wishes::Wishes;
use record::event::{Event, Stopped};
use record::id::TrialId;
use record::plan::{Measure, Plan};
use record::trial::TrialRecord;

/// Performs trials and receives events.
pub(crate) trait Hands {
    /// Performs one trial; `None` when the user stopped it.
    fn trial(&mut self, request: TrialRequest) -> Result<Option<TrialRecord>, RunError>;
    /// Passes an event on.
    fn tell(&mut self, event: Event) -> Result<(), RunError>;
    /// Whether the user asked to stop.
    fn is_cancelled(&self) -> bool;
    /// Seconds since this session began.
    fn seconds(&self) -> f64;
    /// What the user wants otherwise than planned.
    fn wishes(&self) -> &Wishes;
}

/// Makes the remaining rounds of a plan, and returns why they ended.
pub(crate) fn conduct(plan: &Plan, earlier: &Earlier, hands: &mut dyn Hands) -> Result<Stopped, RunError> {
    let mut ledger = Ledger::new(plan, earlier);
    loop {
        ledger.heed(hands.wishes());
        match ledger.next(hands.seconds()) {
            Next::Tell(event) => hands.tell(event)?,
            Next::Ended(stopped) => return Ok(stopped),
            Next::Trial { cell, round, trial_seconds, tried } => {
                if hands.is_cancelled() {
                    return Ok(Stopped::Interrupted);
                }
                let id = TrialId { cell: cell.id.clone(), round };
                hands.tell(Event::TrialStarted {
                    cell: id.cell.clone(),
                    round,
                    index: ledger.trials(),
                    tried,
                })?;
                let seed = spec::trial_seed(plan, &id);
                let measure = Measure { trial_seconds, ..plan.measure.clone() };
                let cell = tried.map_or_else(|| cell.clone(), |tried| cell.at_level(tried.level));
                let request =
                    TrialRequest { id, cell, measure, seed, from: None, live: false, together: None };
                let Some(mut record) = hands.trial(request)? else { return Ok(Stopped::Interrupted) };
                record.tried = tried;
                ledger.take(&record);
                let so_far = ledger.estimate(&record.id.cell);
                hands.tell(Event::TrialFinished { record: Box::new(record) })?;
                so_far.map_or(Ok(()), |estimate| hands.tell(estimate))?;
                hands.tell(ledger.spent(hands.seconds()))?;
            }
        }
    }
}
