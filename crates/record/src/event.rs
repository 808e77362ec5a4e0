//! Events: what a run tells while it runs. The progress display, the log and the store are its consumers.

use crate::environment::Environment;
use crate::id::{CellId, RunId};
use crate::trial::TrialRecord;
use crate::volume::VolumeFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that happened. `--json` prints these, one per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run has begun.
    RunStarted {
        /// Its id.
        run: RunId,
        /// Trials planned in all.
        trials: u64,
        /// Forecast of the whole.
        forecast_seconds: f64,
    },
    /// The node answered.
    NodeReady {
        /// What it is.
        environment: Box<Environment>,
    },
    /// The targets were provisioned, or one could not be.
    Provisioned {
        /// What they are now, with what became of each step.
        environment: Box<Environment>,
    },
    /// A step that may take longer than two seconds has begun or moved on.
    Step {
        /// Cell, if it belongs to one.
        cell: Option<CellId>,
        /// What is being done, e.g. `writing vol[2]`, `measure`.
        step: String,
        /// Done so far, 0..=1, where known.
        done: Option<f64>,
    },
    /// The volumes are there and verified.
    VolumesReady {
        /// What they are.
        volumes: Vec<VolumeFacts>,
    },
    /// A trial has begun.
    TrialStarted {
        /// Which cell.
        cell: CellId,
        /// Which round, from 0.
        round: u32,
        /// Its place in the whole order, from 0.
        index: u64,
    },
    /// A trial has ended.
    TrialFinished {
        /// The record.
        record: Box<TrialRecord>,
    },
    /// A round of a run that stops when it is enough has ended.
    RoundFinished {
        /// Rounds made.
        rounds: u32,
        /// The most there may be.
        most_rounds: u32,
        /// Figures or ratios that are asked for.
        asked: u64,
        /// Of these, not yet as asked.
        open: u64,
        /// The one that is farthest from it; `None` when none is open.
        widest: Option<Widest>,
        /// About how many more rounds it will take; `None` when none is open, or nobody can tell yet.
        more_rounds: Option<u32>,
    },
    /// From now on the trials of a workload are longer than those of the pilot rounds, which no longer count.
    LengthChosen {
        /// Name of the workload.
        workload: String,
        /// Machine it runs on.
        target: String,
        /// Measured seconds of a trial so far.
        pilot_seconds: f64,
        /// Measured seconds from now on.
        trial_seconds: f64,
        /// About how many rounds of these it will take.
        rounds: u32,
        /// About how many rounds of the short ones it would have taken.
        rounds_of_pilots: u32,
    },
    /// Something the user should know now.
    Warning {
        /// In words.
        text: String,
    },
    /// The run has ended.
    RunFinished {
        /// Why.
        stopped: Stopped,
    },
}

/// An interval that is wider than asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Widest {
    /// The cell.
    pub cell: CellId,
    /// The cell that it is compared with; `None` when its own figure is asked for.
    pub against: Option<CellId>,
    /// Relative half-width, or the difference that isn't excluded; `None` when there is no interval yet.
    pub width: Option<f64>,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Stopped {
    /// All rounds were done.
    RoundsDone {
        /// How many.
        rounds: u32,
    },
    /// What was asked of the intervals was reached.
    Enough {
        /// Rounds made.
        rounds: u32,
    },
    /// The time budget was spent.
    TimeSpent,
    /// The budget of bytes written was spent: another round would have gone beyond it.
    WrittenSpent,
    /// The budget of money was spent.
    CostSpent,
    /// The user asked.
    Interrupted,
    /// It could not go on.
    Failed {
        /// Why, with its chain.
        error: String,
    },
    /// It never said: the process died, and nobody resumed the run yet.
    Unfinished,
}
