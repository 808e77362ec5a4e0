//! The input of the judge.

use record::environment::Environment;
use record::event::Stopped;
use record::id::RunId;
use record::plan::Plan;
use record::trial::TrialRecord;
use record::volume::VolumeFacts;

/// The input: a run from the store.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The run's id.
    pub run: &'a RunId,
    /// What was to be done.
    pub plan: &'a Plan,
    /// The machine.
    pub environment: &'a Environment,
    /// The volumes that the run found.
    pub volumes: &'a [VolumeFacts],
    /// All trials, in any order.
    pub trials: &'a [TrialRecord],
    /// Why the run ended.
    pub stopped: &'a Stopped,
}
