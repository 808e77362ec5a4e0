//! What controller and node say to each other: one JSON document per line, requests down, replies up.
//!
//! The controller sends one request at a time and reads replies until the one that ends it. [`Request::Cancel`] may come in
//! between, and [`Request::GoOn`] does where the node asked for a turn of another one.
//!
//! A stack that another node mounts takes two of them: the server is asked to [`Request::Serve`] it, the client for the trial; in
//! between the client asks by [`Reply::Turn`] for what the server must do ([`Request::Turn`]), and waits. Then the server takes it down
//! ([`Request::Withdraw`]). The end of the node's input means [`Request::Close`].

use crate::fault::Fault;
use record::environment::Environment;
use record::event::Event;
use record::id::{RunId, TrialId};
use record::plan::{Cell, Measure};
use record::printable::{indented, printable_noun};
use record::provision::ProvisionStep;
use record::trial::TrialRecord;
use record::version::FormatVersion;
use record::volume::{Volume, VolumeFacts};
use record::workload::CacheStart;
use serde::{Deserialize, Serialize};
use stack::{NfsClient, NfsSource};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of this protocol. Both ends are the same binary; anything else is refused.
pub const PROTOCOL: FormatVersion = FormatVersion { major: 1, minor: 4 };

/// What the controller asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// First of all. Answered by [`Reply::Hello`].
    Hello {
        /// The controller's [`PROTOCOL`].
        protocol: FormatVersion,
    },
    /// Carry out what comes before anything is built. Answered by [`Reply::Provisioned`].
    Provision {
        /// In this order.
        steps: Vec<ProvisionStep>,
        /// Also where nothing changed since they were carried out.
        anew: bool,
    },
    /// Provide and verify volumes. Answered by [`Reply::Opened`].
    Open {
        /// The run they belong to.
        run: RunId,
        /// All volumes that any cell uses.
        volumes: Vec<Volume>,
        /// The most data that any trial lays out on a lent directory, by the volume's name.
        space_bytes: BTreeMap<String, u64>,
        /// Programs that the cells need, by name.
        needs_tools: Vec<String>,
    },
    /// Build, prepare, measure, undo. Answered by [`Reply::Trial`].
    Trial(Box<TrialRequest>),
    /// Build a stack up to its export, for another node. Answered by [`Reply::Served`], or by [`Reply::Trial`] of a trial that failed
    /// with that.
    Serve {
        /// The trial that the other node is going to perform on it.
        trial: Box<TrialRequest>,
        /// The other node.
        client: NfsClient,
    },
    /// What the client asked of the server. Answered by [`Reply::Turned`].
    Turn {
        /// What.
        turn: Turn,
    },
    /// The server has done, or failed at, what the client asked for: an answer to [`Reply::Turn`].
    GoOn {
        /// The server's CLOCK_MONOTONIC when it had done it, or why it failed.
        done: Result<u64, String>,
    },
    /// Take down what is served. Answered by [`Reply::Trial`] with what the server saw.
    Withdraw,
    /// Undo everything of the open run. Answered by [`Reply::Closed`].
    Close,
    /// End what is under way as soon as it can be ended cleanly. Has no answer of its own.
    Cancel,
    /// Undo what earlier runs on this node left behind. Answered by [`Reply::Undone`].
    Undo {
        /// Only this run.
        run: Option<RunId>,
        /// A disk that never returns, by its name or serial number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        give_up: Option<String>,
    },
}

/// One trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialRequest {
    /// Which.
    pub id: TrialId,
    /// What is built and asked.
    pub cell: Cell,
    /// For how long.
    pub measure: Measure,
    /// Seed of its random choices.
    pub seed: u64,
    /// What it is mounted from, if another node serves it: nothing else is built then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NfsSource>,
}

/// What the node that loads a ground needs of the one that serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum Turn {
    /// Bring its caches to the state that the trial begins with.
    Settle {
        /// The data files, below what is exported.
        files: Vec<PathBuf>,
        /// That state.
        cache: CacheStart,
    },
    /// Look at the files and the devices, and count from now on.
    Begin {
        /// The data files, below what is exported.
        files: Vec<PathBuf>,
    },
    /// Tell the time.
    Clock,
    /// Count no longer, and look again.
    End,
}

/// What the node answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The node is there.
    Hello {
        /// The node's [`PROTOCOL`].
        protocol: FormatVersion,
        /// What machine it is on.
        environment: Box<Environment>,
    },
    /// Something happened; the answer is still to come.
    Event {
        /// What.
        event: Event,
    },
    /// The steps were carried out, skipped, or one failed.
    Provisioned {
        /// The machine as it is now, with what became of each step.
        environment: Box<Environment>,
        /// Why it ended before its time, if it did.
        failed: Option<String>,
    },
    /// Volumes are there.
    Opened {
        /// What they are.
        volumes: Vec<VolumeFacts>,
    },
    /// The stack is there and exported.
    Served {
        /// The exported directory.
        directory: PathBuf,
    },
    /// The node that serves the ground must do something before the trial can go on; the answer, [`Request::GoOn`], is awaited.
    Turn {
        /// What.
        turn: Turn,
    },
    /// Done.
    Turned {
        /// The node's CLOCK_MONOTONIC.
        monotonic_ns: u64,
    },
    /// The trial is over and its stack is gone.
    Trial {
        /// The record.
        record: Box<TrialRecord>,
        /// Set when the trial was ended by [`Request::Cancel`]: the record is not a measurement.
        cancelled: bool,
    },
    /// Everything of the run is undone.
    Closed,
    /// What was left behind by earlier runs, and what became of it.
    Undone {
        /// One line per run.
        lines: Vec<String>,
        /// Whether nothing is left.
        clean: bool,
    },
    /// The request failed; nothing else will come for it.
    Failed {
        /// Whose fault.
        blame: Fault,
        /// Why, with its chain.
        error: String,
    },
}

impl Reply {
    /// The same, with every text that a person is shown fit for that: who answers at the other end may not be us. What is kept or measured
    /// stays as it is; the judged run is made printable when it is read.
    pub(crate) fn shown(self) -> Self {
        match self {
            Self::Event { event } => Self::Event { event: printable_noun(&event).unwrap_or(event) },
            Self::Provisioned { environment, failed } => {
                Self::Provisioned { environment, failed: failed.map(|text| indented(&text).into_owned()) }
            }
            Self::Undone { lines, clean } => {
                Self::Undone { lines: lines.iter().map(|line| indented(line).into_owned()).collect(), clean }
            }
            Self::Failed { blame, error } => Self::Failed { blame, error: indented(&error).into_owned() },
            other => other,
        }
    }
}
