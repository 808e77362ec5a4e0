//! The rounds of a run: makes the trials that the ledger asks for, by an implementation that the caller passes in.

use crate::error::RunError;
use crate::ledger::{Earlier, Ledger, Next};
use crate::protocol::TrialRequest;
use crate::wishes::Wishes;
use record::event::{Event, Stopped};
use record::id::TrialId;
use record::plan::{Cell, Measure, Plan};
use record::trial::TrialRecord;
use spec::Lanes;
use std::collections::BTreeMap;

/// Performs trials and receives events.
pub(crate) trait Hands {
    /// Whether a trial of this cell can begin: its machines do nothing now.
    fn is_free(&self, cell: &Cell) -> bool;
    /// Begins a trial. Trials of other machines may be under way.
    fn begin(&mut self, request: TrialRequest) -> Result<(), RunError>;
    /// Waits for the end of any trial that is under way, and passes events on meanwhile.
    fn ended(&mut self) -> Result<Ended, RunError>;
    /// Passes an event on.
    fn tell(&mut self, event: Event) -> Result<(), RunError>;
    /// Whether the user asked to stop.
    fn is_cancelled(&self) -> bool;
    /// Seconds since this session began.
    fn seconds(&self) -> f64;
    /// Which machines take turns, as found out when they were connected; `None`: as the plan says.
    fn lanes(&self) -> Option<&Lanes> {
        None
    }
    /// What the user wants otherwise than planned.
    fn wishes(&self) -> &Wishes;
}

/// How a trial ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It was made, or failed.
    Done(Box<TrialRecord>),
    /// The user stopped it.
    Stopped(TrialId),
    /// It was cut off, since machines are lost.
    Lost {
        /// What is known of the trial.
        record: Box<TrialRecord>,
        /// The lost machines.
        targets: Vec<String>,
        /// Why the run can't go on, if no machine is left.
        ends: Option<RunError>,
    },
}

/// Why the rounds ended, and the number of trials that lost machines did not make.
#[derive(Debug)]
pub(crate) struct Conducted {
    pub(crate) stopped: Stopped,
    pub(crate) missing: Option<u64>,
}

/// Makes the remaining rounds of a plan. The trials of one machine come one after another, each after the record of the one before
/// has been passed on.
pub(crate) fn conduct(plan: &Plan, earlier: &Earlier, hands: &mut dyn Hands) -> Result<Conducted, RunError> {
    let mut ledger = Ledger::new(plan, earlier, hands.lanes());
    let (mut is_stopped, mut levels, mut places) = (false, BTreeMap::new(), BTreeMap::new());
    loop {
        ledger.heed(hands.wishes());
        let next = match is_stopped {
            true if ledger.is_running() => Next::Wait,
            true => Next::Ended(Stopped::Interrupted),
            false => ledger.next(hands.seconds(), &|cell| hands.is_free(cell)),
        };
        match next {
            Next::Tell(event) => hands.tell(event)?,
            Next::Ended(stopped) => return Ok(Conducted { stopped, missing: ledger.missing() }),
            Next::Trial { cell, .. } if hands.is_cancelled() => {
                let id = TrialId { cell: cell.id.clone(), round: 0 };
                ledger.give_up(&id);
                is_stopped = true;
            }
            Next::Trial { cell, round, trial_seconds, tried } => {
                let id = TrialId { cell: cell.id.clone(), round };
                let index = ledger.index();
                hands.tell(Event::TrialStarted { cell: id.cell.clone(), round, index, tried })?;
                let seed = spec::trial_seed(plan, &id);
                let measure = Measure { trial_seconds, ..plan.measure.clone() };
                levels.extend(tried.map(|tried| (id.cell.clone(), tried)));
                let cell = &match spec::drawn(plan, cell, round) {
                    Some(drawn) => {
                        let names = drawn.stack.volumes.iter().map(|volume| volume.name.clone()).collect();
                        places.insert(id.cell.clone(), names);
                        drawn
                    }
                    None => cell.clone(),
                };
                let cell = tried.map_or_else(|| cell.clone(), |tried| cell.at_level(tried.level));
                let request =
                    TrialRequest { id, cell, measure, seed, from: None, live: false, together: None };
                hands.begin(request)?;
            }
            Next::Wait => match hands.ended()? {
                Ended::Done(mut record) => {
                    record.drawn = places.remove(&record.id.cell).unwrap_or_default();
                    record.tried = levels.remove(&record.id.cell);
                    keep(&mut ledger, *record, hands)?;
                }
                Ended::Stopped(trial) => {
                    ledger.give_up(&trial);
                    is_stopped = true;
                }
                Ended::Lost { mut record, targets, ends } => {
                    record.tried = levels.remove(&record.id.cell);
                    record.drawn = places.remove(&record.id.cell).unwrap_or_default();
                    ledger.give_up(&record.id);
                    targets.iter().for_each(|target| ledger.lose(target));
                    hands.tell(Event::TrialFinished { record })?;
                    if let Some(error) = ends {
                        return Err(error);
                    }
                }
            },
        }
    }
}

/// Takes the record into account and passes it on.
fn keep(ledger: &mut Ledger<'_>, record: TrialRecord, hands: &mut dyn Hands) -> Result<(), RunError> {
    ledger.take(&record);
    let so_far = ledger.estimate(&record.id.cell);
    hands.tell(Event::TrialFinished { record: Box::new(record) })?;
    so_far.map_or(Ok(()), |estimate| hands.tell(estimate))?;
    hands.tell(ledger.spent(hands.seconds()))
}

#[cfg(test)]
mod tests;
