//! The protocol between controller and node: one JSON document per line, requests to the node, replies from it.
//!
//! The controller sends one request at a time and reads replies until the final one. Only [`Request::Cancel`] and [`Request::Alive`] may
//! come in between, and [`Request::GoOn`] after the node sent a [`Reply::Turn`].
//!
//! A trial over NFS takes two nodes: the controller asks the server to [`Request::Serve`] the stack, and the client for the
//! trial. When the client needs the server, it sends [`Reply::Turn`] and waits; the controller forwards that as
//! [`Request::Turn`]. At the end the server takes the stack down ([`Request::Withdraw`]). The end of the node's input means
//! [`Request::Close`].
//!
//! In a trial that several machines load at the same time, each node gets a [`Request::Trial`] with [`TrialRequest::together`]. It
//! prepares, says [`Reply::Ready`] and waits. The controller asks it for its clocks ([`Request::Clock`]), then names the moment of
//! the start ([`Request::Start`]). After the load the node says [`Reply::Rested`] and waits again, until the load of all machines has
//! ended ([`Request::Finish`]). [`Request::Abandon`] ends the trial at any moment.
//!
//! If these machines mount what another one serves, both go together: the server serves all of them, and the controller asks it to
//! settle and to begin once, when all clients want that.

use crate::fault::Fault;
use crate::guest_host::HostSnapshot;
use record::clock::Reading;
use record::environment::Environment;
use record::event::Event;
use record::id::{RunId, TrialId};
use record::plan::{Cell, Measure};
use record::printable::{indented, printable_noun};
use record::provision::ProvisionStep;
use record::topology::Topology;
use record::trial::TrialRecord;
use record::version::FormatVersion;
use record::volume::{Volume, VolumeFacts};
use record::workload::CacheStart;
use serde::{Deserialize, Serialize};
use stack::{NfsClient, NfsSource, Shared};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The version of this protocol. Both ends are the same binary; any other version is refused.
pub const PROTOCOL: FormatVersion = FormatVersion { major: 1, minor: 9 };

/// How often each end says that it is there.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(2);
/// After this long without a word, a node takes its controller for lost. With the time to notice it, that is below 10 s.
pub(crate) const LOST_AFTER: Duration = Duration::from_secs(8);
/// After this long without a word, the controller takes a node for lost. A node on a machine without free processors or memory is slow
/// to speak, and it may be at work.
pub(crate) const SILENT_AFTER: Duration = Duration::from_secs(60);
/// After this long without progress, a node takes its own work for hung: as long as the kernel waits before it reports a hung task.
pub(crate) const HUNG_AFTER: Duration = Duration::from_secs(120);

/// A request of the controller.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Say hello: the first request. Answered by [`Reply::Hello`].
    Hello {
        /// The controller's [`PROTOCOL`].
        protocol: FormatVersion,
    },
    /// Run the provisioning steps before anything is built. Answered by [`Reply::Provisioned`].
    Provision {
        /// The steps, in this order.
        steps: Vec<ProvisionStep>,
        /// Run them even where nothing has changed since the last time.
        anew: bool,
    },
    /// Provide and verify volumes. Answered by [`Reply::Opened`].
    Open {
        /// The run they belong to.
        run: RunId,
        /// All volumes that any cell uses.
        volumes: Vec<Volume>,
        /// The most bytes that any trial lays out in an existing directory, by the volume's name.
        space_bytes: BTreeMap<String, u64>,
        /// The names of programs that the cells need.
        needs_tools: Vec<String>,
        /// In how many seconds the run's time budget is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ends_in_seconds: Option<f64>,
        /// The existing directories that other machines of the run use at the same time.
        #[serde(default)]
        shared: Shared,
    },
    /// Build, prepare, measure and undo one trial. Answered by [`Reply::Trial`].
    Trial(Box<TrialRequest>),
    /// Build a stack up to its export, for other nodes. Answered by [`Reply::Served`], or by [`Reply::Trial`] if that failed.
    Serve {
        /// The trial that the other nodes will perform on it. If several do that together, each gets a folder of its own.
        trial: Box<TrialRequest>,
        /// The other nodes' addresses.
        clients: Vec<NfsClient>,
    },
    /// Do on the server what the client asked for. Answered by [`Reply::Turned`].
    Turn {
        /// What to do.
        turn: Turn,
    },
    /// The server did what the client asked for, or failed: the answer to [`Reply::Turn`].
    GoOn {
        /// The server's CLOCK_MONOTONIC in nanoseconds after it was done, or why it failed.
        done: Result<u64, String>,
    },
    /// Say what time it is. Answered by [`Reply::Clock`].
    Clock,
    /// Begin the load at this moment, or at once if it is past: the answer to [`Reply::Ready`].
    Start {
        /// The node's CLOCK_MONOTONIC, in nanoseconds.
        at_ns: u64,
    },
    /// Say what lies below files and block devices that back disks of a guest of this machine. Answered by [`Reply::BelowGuest`].
    BelowGuest {
        /// The files and block devices.
        backings: Vec<PathBuf>,
    },
    /// Take a snapshot of them and of the devices below. Answered by [`Reply::GuestHost`].
    GuestHost {
        /// The files and block devices.
        backings: Vec<PathBuf>,
        /// The kernel's names of the devices.
        devices: Vec<String>,
    },
    /// The load of all machines has ended: the answer to [`Reply::Rested`].
    Finish,
    /// End the current trial, since another machine failed. The run goes on. Has no answer of its own.
    Abandon,
    /// Take the export and its stack down. Answered by [`Reply::Trial`] with the server's record.
    Withdraw,
    /// Undo everything of the open run. Answered by [`Reply::Closed`].
    Close,
    /// End the current work as soon as that is possible cleanly. Has no answer of its own.
    Cancel,
    /// The controller is there. It comes every few seconds over a network; a node that hears nothing for [`LOST_AFTER`] takes the
    /// controller for lost. Has no answer.
    Alive,
    /// Undo what earlier runs left on this node. Answered by [`Reply::Undone`].
    Undo {
        /// Only this run.
        run: Option<RunId>,
        /// A disk that won't come back, by its name or serial number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        give_up: Option<String>,
    },
}

/// One trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialRequest {
    /// The trial's id.
    pub id: TrialId,
    /// The stack and the workload.
    pub cell: Cell,
    /// Durations and stopping rules.
    pub measure: Measure,
    /// The seed of its random choices.
    pub seed: u64,
    /// The export to mount, if another node serves it; then the node builds nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NfsSource>,
    /// Whether the controller wants [`Event::LoadSampled`] while the load runs.
    #[serde(default)]
    pub live: bool,
    /// Set if other machines run the same load at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
}

/// A node's place among the machines that load the same directory at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Together {
    /// The names of the other machines in the run.
    pub others: Vec<String>,
}

/// A request of the node that loads a file system to the node that serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum Turn {
    /// Bring the server's caches to the state in which the trial begins.
    Settle {
        /// The data files, relative to the export.
        files: Vec<PathBuf>,
        /// The cache state.
        cache: CacheStart,
    },
    /// Record files and devices, and start sampling.
    Begin {
        /// The data files, relative to the export.
        files: Vec<PathBuf>,
    },
    /// Return the clock.
    Clock,
    /// Stop sampling, and record files and devices again.
    End,
}

/// A reply of the node.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The node is there.
    Hello {
        /// The node's [`PROTOCOL`].
        protocol: FormatVersion,
        /// The machine on which it runs.
        environment: Box<Environment>,
        /// The name by which an NFSv4 server tells the machine from other clients; `None`: unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nfs_name: Option<String>,
    },
    /// An event; the final reply is still to come.
    Event {
        /// The event.
        event: Event,
    },
    /// The provisioning steps ran or were skipped, or one failed.
    Provisioned {
        /// The machine as it is now, with the outcome of each step.
        environment: Box<Environment>,
        /// Why the provisioning ended early, if it did.
        failed: Option<String>,
    },
    /// The volumes are open.
    Opened {
        /// The facts of each volume.
        volumes: Vec<VolumeFacts>,
    },
    /// The stack is built and exported.
    Served {
        /// The exported directory.
        directory: PathBuf,
    },
    /// The server must do something before the trial can continue; the node waits for [`Request::GoOn`].
    Turn {
        /// What the server must do.
        turn: Turn,
    },
    /// The server did it.
    Turned {
        /// The node's CLOCK_MONOTONIC in nanoseconds.
        monotonic_ns: u64,
    },
    /// The node's clocks.
    Clock {
        /// Both clocks.
        reading: Reading,
    },
    /// What lies below each file or block device, in the order of the request.
    BelowGuest {
        /// Their topologies.
        below: Vec<Topology>,
    },
    /// The snapshot of a guest's host.
    GuestHost {
        /// The files and counters.
        snapshot: Box<HostSnapshot>,
    },
    /// The node is there. It comes every few seconds, and may come between any other replies; a controller that hears nothing for
    /// [`SILENT_AFTER`] takes the node for lost.
    Alive,
    /// The node's work hangs in the kernel, so the final reply may never come: the node is lost. It comes as [`Reply::Alive`] does.
    Hung {
        /// What hangs, and what it waits for.
        what: String,
    },
    /// Everything is prepared for the load; the node waits for [`Request::Start`].
    Ready,
    /// The load has ended; the node waits for [`Request::Finish`].
    Rested {
        /// Its clocks when its engine started.
        began: Reading,
        /// Its clocks when its engine had ended.
        ended: Reading,
    },
    /// The trial is over and its stack is undone, unless it is persistent.
    Trial {
        /// The record.
        record: Box<TrialRecord>,
        /// Set when [`Request::Cancel`] ended the trial: the record is not a measurement.
        cancelled: bool,
    },
    /// Everything of the run is undone.
    Closed,
    /// The leftovers of earlier runs, and what became of them.
    Undone {
        /// One line per run.
        lines: Vec<String>,
        /// Whether nothing is left.
        clean: bool,
        /// Whether a run is still going on. It undoes its own changes, so nothing of it was touched.
        #[serde(default)]
        going_on: bool,
    },
    /// The request failed; no other reply will follow.
    Failed {
        /// Whose fault.
        blame: Fault,
        /// The error with all its sources.
        error: String,
    },
}

impl Reply {
    /// Makes every text that a person sees printable, since another program may answer at the other end. Records and measured
    /// values stay as they are; the judged run is made printable when it is read.
    pub(crate) fn shown(self) -> Self {
        match self {
            Self::Event { event } => Self::Event { event: printable_noun(&event).unwrap_or(event) },
            Self::Provisioned { environment, failed } => {
                Self::Provisioned { environment, failed: failed.map(|text| indented(&text).into_owned()) }
            }
            Self::Undone { lines, clean, going_on } => {
                let lines = lines.iter().map(|line| indented(line).into_owned()).collect();
                Self::Undone { lines, clean, going_on }
            }
            Self::Failed { blame, error } => Self::Failed { blame, error: indented(&error).into_owned() },
            Self::Hung { what } => Self::Hung { what: indented(&what).into_owned() },
            other => other,
        }
    }
}
