//! Events that a run emits while it runs. The progress display, the log and the store consume them.

use crate::environment::Environment;
use crate::find::Tried;
use crate::id::{CellId, RunId};
use crate::trial::TrialRecord;
use crate::volume::VolumeFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of how many machines that run a load together the rates are known now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesHeard {
    /// Machines whose rates are known.
    pub heard: u32,
    /// All machines of the load.
    pub of: u32,
}

/// One event of a run. `--json` prints events, one per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run has begun.
    RunStarted {
        /// Identity of the run.
        run: RunId,
        /// Number of planned trials.
        trials: u64,
        /// Forecast duration of the whole run.
        forecast_seconds: f64,
    },
    /// The agent process answered.
    NodeReady {
        /// The machine it runs on.
        environment: Box<Environment>,
    },
    /// The machines were provisioned, or one of them could not be.
    Provisioned {
        /// The machines after provisioning, with the result of each step.
        environment: Box<Environment>,
    },
    /// A step that may take longer than two seconds has begun or has made progress.
    Step {
        /// The cell, if the step belongs to one.
        cell: Option<CellId>,
        /// The current work, e.g. `writing vol[2]`, `measure`.
        step: String,
        /// Progress so far, 0..=1, where known.
        done: Option<f64>,
    },
    /// The volumes exist and are verified.
    VolumesReady {
        /// The volumes.
        volumes: Vec<VolumeFacts>,
    },
    /// A trial has begun.
    TrialStarted {
        /// The cell.
        cell: CellId,
        /// The round, from 0.
        round: u32,
        /// The trial's place in the whole order, from 0.
        index: u64,
        /// The level that it tries, if its cell is a search.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tried: Option<Tried>,
    },
    /// A trial has ended.
    TrialFinished {
        /// The record of the trial.
        record: Box<TrialRecord>,
    },
    /// The figure of a cell over its trials so far. It follows each trial from the cell's second one on.
    CellEstimated {
        /// The cell.
        cell: CellId,
        /// Name of the metric: the one that decides when to stop, or that the workload is judged by.
        of: String,
        /// Unit of the next three fields.
        unit: String,
        /// Mean over the trials.
        estimate: f64,
        /// Lower end of its interval, never below 0. In a run that stops when its goal is reached, it is the interval of the stop rule.
        low: f64,
        /// Upper end of its interval.
        high: f64,
        /// Confidence of the interval, e.g. 0.95.
        confidence: f64,
        /// Number of trials that count.
        trials: u32,
    },
    /// A round has ended, in a run that stops when its goal is reached.
    RoundFinished {
        /// Number of finished rounds.
        rounds: u32,
        /// The largest number of rounds.
        most_rounds: u32,
        /// Number of figures or ratios that the goal applies to.
        asked: u64,
        /// Number of these that have not reached the goal yet.
        open: u64,
        /// The one farthest from the goal; `None` when none is open.
        widest: Option<Widest>,
        /// About how many more rounds the run needs; `None` when none is open, or when no estimate is possible yet.
        more_rounds: Option<u32>,
    },
    /// From now on the trials of a workload are longer than its pilot trials, and the pilot rounds no longer count.
    LengthChosen {
        /// Name of the workload.
        workload: String,
        /// Machine it runs on.
        target: String,
        /// Measured seconds of a trial so far.
        pilot_seconds: f64,
        /// Measured seconds of a trial from now on.
        trial_seconds: f64,
        /// About how many rounds of the longer trials the run needs.
        rounds: u32,
        /// About how many rounds of pilot trials it would have needed.
        rounds_of_pilots: u32,
    },
    /// The load that runs now, by the kernel's counters of the devices directly under it. It comes at most twice a second, and only if the
    /// controller asks for it: the live view does.
    LoadSampled {
        /// The cell.
        cell: CellId,
        /// I/Os per second that these devices completed since the event before; `None`: no device is known below the load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iops: Option<f64>,
        /// Bytes per second that they moved; `None` likewise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_per_second: Option<f64>,
        /// Mean time that an I/O waited for them, in milliseconds; `None` when none completed.
        wait_ms: Option<f64>,
        /// I/Os per second that the load itself completed, mean of the last half second or of one step of a long trial; `None`: unknown,
        /// since the engine doesn't tell it while it runs, or the measured time has just begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load_iops: Option<f64>,
        /// 99th percentile of the latencies of these I/Os, in milliseconds; `None`: unknown, or there were fewer than 100.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load_p99_ms: Option<f64>,
        /// Bytes that these devices moved in the same time over those of the load, at most 1; `None`: unknown, or the load moved nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_share: Option<f64>,
        /// Whose rates these are the sums of, if several machines run the load together; `None`: it is one machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machines: Option<MachinesHeard>,
    },
    /// What the run has used of its budgets so far. It follows each trial.
    Spent {
        /// Seconds, those of earlier sessions included.
        seconds: f64,
        /// Bytes that the trials wrote, including the layout of the data.
        written_bytes: f64,
        /// Price of the volumes for these seconds; `None` when the experiment has no prices.
        cost: Option<f64>,
    },
    /// The changes of a machine that are not undone yet. It follows each change of them.
    ChangesToUndo {
        /// Name of the machine.
        target: String,
        /// The changes in words, the oldest first. An undo takes back the last one first.
        changes: Vec<String>,
    },
    /// The user has skipped a cell: it gets no more trials in this run.
    CellSkipped {
        /// The cell.
        cell: CellId,
        /// The round, from 0, in which the user skipped it.
        round: u32,
    },
    /// Something the user should know now.
    Warning {
        /// The text of the warning.
        text: String,
    },
    /// The run has ended.
    RunFinished {
        /// The reason.
        stopped: Stopped,
    },
}

impl Event {
    /// Returns the event with the name of the machine that sent it, where it has one: an agent process doesn't know its name.
    #[must_use]
    pub fn of_target(self, name: &str) -> Self {
        match self {
            Self::ChangesToUndo { changes, .. } => Self::ChangesToUndo { target: name.to_owned(), changes },
            other => other,
        }
    }
}

/// An interval that is wider than requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Widest {
    /// The cell.
    pub cell: CellId,
    /// The cell that it is compared with; `None` when the goal applies to the cell's own figure.
    pub against: Option<CellId>,
    /// Relative half-width, or the smallest difference that is excluded; `None` when there is no interval yet.
    pub width: Option<f64>,
}

/// The reason why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Stopped {
    /// All rounds were done.
    RoundsDone {
        /// Number of rounds.
        rounds: u32,
    },
    /// The goal for the intervals was reached.
    Enough {
        /// Number of finished rounds.
        rounds: u32,
    },
    /// The time budget was used up.
    TimeSpent,
    /// The budget of written bytes was used up: another round would have exceeded it.
    WrittenSpent,
    /// The budget of money was used up.
    CostSpent,
    /// The user ended it at the end of a round.
    Requested {
        /// Number of finished rounds.
        rounds: u32,
    },
    /// The user interrupted it.
    Interrupted,
    /// An error ended it.
    Failed {
        /// The error, with its causes.
        error: String,
    },
    /// diskproof didn't run it: the trials were imported from files of other tools.
    Imported {
        /// Number of files.
        files: u64,
    },
    /// Its blocks were given to a queue, and not all their trials are stored yet.
    Queued {
        /// Number of blocks of the run.
        blocks: u64,
    },
    /// The process died without ending the run, and nobody has resumed it yet.
    Unfinished,
}
