//! Why a run could not continue, and the consumer of its events, which may be the reason.

use crate::fault::Fault;
use crate::link::LinkError;
use record::event::Event;
use record::id::LOCAL;
use record::printable::chain;
use thiserror::Error;

/// Why a run could not continue.
#[derive(Debug, Error)]
pub enum RunError {
    /// The error of one of several machines.
    #[error("target {target}")]
    On {
        /// The name of the machine.
        target: String,
        /// What failed there.
        source: Box<RunError>,
    },
    /// The plan has a cell for this target, but no node was given for it.
    #[error("there is no agent process for target {0}")]
    NoNode(String),
    /// One target mounts from another, but no route between them was given.
    #[error("it is unknown how target {client} reaches {server}")]
    NoRoute {
        /// The target that mounts.
        client: String,
        /// The target that serves.
        server: String,
    },
    /// The connection to the node broke.
    #[error("the connection to the agent process is lost")]
    Link(#[from] LinkError),
    /// The node speaks another protocol version.
    #[error(
        "the agent process speaks protocol {theirs}, this diskproof {ours}: use the same version on both machines"
    )]
    Protocol {
        /// The node's version.
        theirs: String,
        /// The controller's version.
        ours: String,
    },
    /// The node refused or failed.
    #[error("{error}")]
    Node {
        /// Whose fault it is.
        blame: Fault,
        /// The error with all its sources.
        error: String,
    },
    /// The node's answer doesn't fit the request.
    #[error("the agent process sent an unexpected answer: {0}")]
    OutOfTurn(String),
    /// A target could not be provisioned.
    #[error("provisioning {} failed: {error}", machine(.target))]
    Provision {
        /// The name of the target.
        target: String,
        /// The step that failed, and the end of its output.
        error: String,
    },
    /// Two names of one machine would use the same disk or directory.
    #[error(
        "`{first}` and `{second}` are one machine, and both use {what}: leave one of the two out of `targets`, or give each a \
         volume of its own (`volumes: {{ NAME: {{ ..., target: {second} }} }}`)"
    )]
    OneVolume {
        /// The first name.
        first: String,
        /// The second name.
        second: String,
        /// The disk or directory.
        what: String,
    },
    /// Two machines that mount one NFSv4 export have one name.
    #[error(
        "`{first}` and `{second}` both call themselves {name}: an NFSv4 server takes them for one client and drops what the other has \
         open. Give each machine a host name of its own (hostnamectl set-hostname), or write `nfs: {{ version: 3 }}`"
    )]
    OneNfsName {
        /// The first machine.
        first: String,
        /// The second machine.
        second: String,
        /// The host name.
        name: String,
    },
    /// Two machines failed in one trial.
    #[error("{}; and {}", chain(.0.as_ref()), chain(.1.as_ref()))]
    Both(Box<RunError>, Box<RunError>),
    /// Machines were lost; the others went on to the end of their work.
    #[error("{}", lacking(.targets, *.missing))]
    Missing {
        /// The names of the lost machines.
        targets: Vec<String>,
        /// The number of trials that they did not make; `None` if the run would have decided itself how many it makes.
        missing: Option<u64>,
        /// Why the first of them was lost.
        source: Box<RunError>,
    },
    /// A part of this program has panicked.
    #[error("a part of diskproof has panicked")]
    Panicked,
    /// The consumer of the events can't continue, e.g. because the store's disk is full.
    #[error("can't keep what was measured")]
    Sink(#[source] SinkError),
}

fn lacking(targets: &[String], missing: Option<u64>) -> String {
    let names = targets.join(", ");
    let trials = match missing {
        Some(1) => "1 trial of it is missing".to_owned(),
        Some(n) => format!("{n} trials of it are missing"),
        None => "its further trials are missing".to_owned(),
    };
    let trials =
        if targets.len() > 1 { trials.replace(" it ", " them ").replace("its ", "their ") } else { trials };
    let lost = if targets.len() > 1 { "machines" } else { "machine" };
    let verb = if targets.len() > 1 { "were" } else { "was" };
    format!("{lost} {names} {verb} lost, and {trials}; the other machines went on to the end of their work")
}

fn machine(target: &str) -> String {
    if target == LOCAL { "this machine".to_owned() } else { format!("target {target}") }
}

/// Why a consumer of events can't continue.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

impl RunError {
    /// Whether the node itself reported the error.
    pub(crate) fn is_of_node(&self) -> bool {
        match self {
            Self::On { source, .. } => source.is_of_node(),
            other => matches!(other, Self::Node { .. }),
        }
    }

    /// This error, and another one unless it is about the same machines.
    pub(crate) fn and(self, other: Self) -> Self {
        let known = self.names();
        match other.names().iter().all(|name| known.contains(name)) {
            true => self,
            false => Self::Both(Box::new(self), Box::new(other)),
        }
    }

    /// Which of a trial's machines the error is about: all of them if it names none of them.
    pub(crate) fn machines_of(&self, trial: &[String]) -> Vec<String> {
        let names = self.names();
        let named: Vec<String> =
            trial.iter().filter(|name| names.contains(&name.as_str())).cloned().collect();
        if named.is_empty() { trial.to_vec() } else { named }
    }

    /// The machines that it names.
    fn names(&self) -> Vec<&str> {
        match self {
            Self::On { target, .. } => vec![target],
            Self::Both(first, second) => [first.names(), second.names()].concat(),
            // An error of this machine doesn't name it.
            Self::Link(_) | Self::Node { .. } | Self::OutOfTurn(_) => vec![LOCAL],
            _ => Vec::new(),
        }
    }

    /// Whether the node is still there and answered, with an error or with something else than was asked for.
    pub(crate) fn is_an_answer(&self) -> bool {
        self.is_of_node() || matches!(self, Self::OutOfTurn(_))
    }

    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            // A broken connection between two machines counts as a fault of the machine.
            Self::OneVolume { .. } | Self::OneNfsName { .. } => Fault::User,
            Self::On { source, .. } if matches!(**source, Self::Link(_)) => Fault::Machine,
            Self::On { source, .. } | Self::Missing { source, .. } => source.fault(),
            // A failed undo leaves something, whatever else was lost.
            Self::Both(_, second) if second.fault() == Fault::Ours => Fault::Ours,
            Self::Both(first, _) => first.fault(),
            Self::Node { blame, .. } => *blame,
            Self::Sink(_)
            | Self::Provision { .. }
            | Self::Link(LinkError::Spawn { .. } | LinkError::Silent { .. } | LinkError::Hung { .. }) => {
                Fault::Machine
            }
            Self::Link(_)
            | Self::Panicked
            | Self::Protocol { .. }
            | Self::OutOfTurn(_)
            | Self::NoNode(_)
            | Self::NoRoute { .. } => Fault::Ours,
        }
    }
}

/// The first failure of two, and the second one if it is about other machines.
pub(crate) fn both(first: Result<(), RunError>, second: Result<(), RunError>) -> Result<(), RunError> {
    match (first, second) {
        (Err(first), Err(second)) => Err(first.and(second)),
        (first, second) => first.and(second),
    }
}

/// A consumer of events. An error ends the run; finished trials are kept.
pub type Sink<'a> = dyn FnMut(Event) -> Result<(), SinkError> + 'a;
