//! The controller: has a plan carried out by a node, and passes on what becomes of it. Needs no privileges.

use crate::blame::Blame;
use crate::ledger::Earlier;
use crate::link::{Heard, Link, LinkError};
use crate::protocol::{PROTOCOL, Reply, Request, TrialRequest};
use crate::rounds::{Hands, conduct};
use record::event::{Event, Stopped};
use record::id::RunId;
use record::plan::Plan;
use record::trial::TrialRecord;
use record::volume::{Volume, VolumeKind};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How a plan is to be carried out.
#[derive(Debug)]
pub struct How {
    /// The run's id.
    pub run: RunId,
    /// The command that starts a node.
    pub node_argv: Vec<OsString>,
    /// Trials that earlier sittings of this run have finished.
    pub earlier: Earlier,
}

/// A run that could not go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The line to the node broke.
    #[error("lost the node")]
    Link(#[from] LinkError),
    /// The node is another version.
    #[error("the node speaks protocol {theirs}, this controller {ours}: use the same diskproof on both")]
    Protocol {
        /// Node's.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// The node refused or failed.
    #[error("{error}")]
    Node {
        /// Whose fault.
        blame: Blame,
        /// Why, with its chain.
        error: String,
    },
    /// The node answered something else than was asked.
    #[error("the node answered out of turn: {0}")]
    OutOfTurn(String),
    /// Whoever consumes the events can't go on, e.g. the store's disk is full.
    #[error("can't keep what was measured")]
    Sink(#[source] SinkError),
}

/// Why a consumer of events can't go on.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

impl RunError {
    /// Whose fault it is.
    #[must_use]
    pub fn blame(&self) -> Blame {
        match self {
            Self::Node { blame, .. } => *blame,
            Self::Sink(_) | Self::Link(LinkError::Spawn { .. }) => Blame::Machine,
            Self::Link(_) | Self::Protocol { .. } | Self::OutOfTurn(_) => Blame::Ours,
        }
    }
}

/// A consumer of events. Returning an error ends the run; what was measured before stays.
pub type Sink<'a> = dyn FnMut(Event) -> Result<(), SinkError> + 'a;

/// Carries out `plan` and returns why it stopped. Every finished trial has passed through `sink` before the next begins.
///
/// `cancel` ends the trial under way, undoes, and returns [`Stopped::Interrupted`].
///
/// # Errors
/// When the node refuses the volumes, is lost, or when the sink fails. Everything that was built has been undone by then,
/// unless the error says otherwise.
pub fn execute(
    plan: &Plan,
    how: &How,
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<Stopped, RunError> {
    let forecast = spec::forecast(plan);
    sink(Event::RunStarted {
        run: how.run.clone(),
        trials: plan.cells.len() as u64 * u64::from(plan.measure.rounds),
        forecast_seconds: forecast.seconds,
    })
    .map_err(RunError::Sink)?;
    let begun = Instant::now();
    let mut session = Session { link: Link::start(&how.node_argv)?, begun, cancel, told: false, sink };
    let stopped = session.hello().and_then(|()| session.open(plan, &how.run)).and_then(|opened| {
        if !opened {
            return Ok(Stopped::Interrupted);
        }
        let stopped = conduct(plan, &how.earlier, &mut session);
        let closed = session.close();
        stopped.and_then(|s| closed.map(|()| s))
    })?;
    (session.sink)(Event::RunFinished { stopped: stopped.clone() }).map_err(RunError::Sink)?;
    Ok(stopped)
}

/// Undoes what earlier runs left on the node; `run` names one, else all that have no living owner.
///
/// Returns one line per run and whether nothing is left.
///
/// # Errors
/// When the node can't be started or fails.
pub fn undo(node_argv: &[OsString], run: Option<RunId>) -> Result<(Vec<String>, bool), RunError> {
    let never = AtomicBool::new(false);
    let mut session = Session {
        link: Link::start(node_argv)?,
        begun: Instant::now(),
        cancel: &never,
        told: false,
        sink: &mut |_| Ok(()),
    };
    session.hello()?;
    match session.ask(&Request::Undo { run })? {
        Reply::Undone { lines, clean } => Ok((lines, clean)),
        other => Err(out_of_turn(&other)),
    }
}

/// All volumes that any cell of a plan uses, each once.
#[must_use]
pub fn volumes_of(plan: &Plan) -> Vec<Volume> {
    let mut all: BTreeMap<String, Volume> = BTreeMap::new();
    for volume in plan.cells.iter().flat_map(|c| c.stack.all_volumes()) {
        all.entry(volume.name.clone()).or_insert_with(|| volume.clone());
    }
    all.into_values().collect()
}

/// The most data that any cell lays out, by the name of the lent directory it is laid out in.
fn space_of(plan: &Plan) -> BTreeMap<String, u64> {
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for cell in &plan.cells {
        let data = cell.workload.data_bytes();
        for volume in cell.stack.all_volumes().filter(|v| matches!(v.kind, VolumeKind::Directory { .. })) {
            let need = most.entry(volume.name.clone()).or_default();
            *need = data.max(*need);
        }
    }
    most
}

struct Session<'a, 's> {
    link: Link,
    begun: Instant,
    cancel: &'a AtomicBool,
    told: bool,
    sink: &'a mut Sink<'s>,
}

impl Session<'_, '_> {
    fn hello(&mut self) -> Result<(), RunError> {
        match self.ask(&Request::Hello { protocol: PROTOCOL })? {
            Reply::Hello { protocol, environment } if protocol == PROTOCOL => {
                (self.sink)(Event::NodeReady { environment }).map_err(RunError::Sink)
            }
            Reply::Hello { protocol, .. } => {
                Err(RunError::Protocol { theirs: protocol.to_string(), ours: PROTOCOL.to_string() })
            }
            other => Err(out_of_turn(&other)),
        }
    }

    /// Whether the volumes are there; `false` when the user asked to stop meanwhile.
    fn open(&mut self, plan: &Plan, run: &RunId) -> Result<bool, RunError> {
        let request =
            Request::Open { run: run.clone(), volumes: volumes_of(plan), space_bytes: space_of(plan) };
        match self.ask(&request) {
            Ok(Reply::Opened { volumes }) => {
                (self.sink)(Event::VolumesReady { volumes }).map_err(RunError::Sink)?;
                Ok(true)
            }
            Ok(other) => Err(out_of_turn(&other)),
            Err(RunError::Node { .. }) if self.cancel.load(Ordering::Relaxed) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn close(&mut self) -> Result<(), RunError> {
        match self.ask(&Request::Close)? {
            Reply::Closed => Ok(()),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Sends a request and returns what ends it, passing events on and the user's wish to stop down.
    fn ask(&mut self, request: &Request) -> Result<Reply, RunError> {
        self.link.send(request)?;
        loop {
            if !self.told && self.cancel.load(Ordering::Relaxed) {
                self.told = true;
                self.link.send(&Request::Cancel)?;
            }
            match self.link.wait(Duration::from_millis(50))? {
                Heard::Silence => {}
                Heard::Reply(Reply::Event { event }) => (self.sink)(event).map_err(RunError::Sink)?,
                Heard::Reply(Reply::Failed { blame, error }) => return Err(RunError::Node { blame, error }),
                Heard::Reply(reply) => return Ok(reply),
            }
        }
    }
}

impl Hands for Session<'_, '_> {
    fn trial(&mut self, request: TrialRequest) -> Result<Option<TrialRecord>, RunError> {
        match self.ask(&Request::Trial(Box::new(request)))? {
            Reply::Trial { cancelled: true, .. } => Ok(None),
            Reply::Trial { record, .. } => Ok(Some(*record)),
            other => Err(out_of_turn(&other)),
        }
    }

    fn tell(&mut self, event: Event) -> Result<(), RunError> {
        (self.sink)(event).map_err(RunError::Sink)
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

fn out_of_turn(reply: &Reply) -> RunError {
    let mut text = format!("{reply:?}");
    text.truncate(text.char_indices().nth(200).map_or(text.len(), |(i, _)| i));
    RunError::OutOfTurn(text)
}
