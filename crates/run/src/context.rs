//! What the trials of a node share.

use crate::protocol::Turn;
use engine::Engine;
use record::clock::Reading;
use record::event::Event;
use record::id::CellId;
use record::trial::{StepTime, TrialStep};
use record::workload::EngineKind;
use stack::Journal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use thiserror::Error;

/// A callback for progress: the cell (if there is one), the step, and the share of it that is done (if known).
pub(crate) type Teller<'a> = Box<dyn Fn(Option<&CellId>, &str, Option<f64>) + 'a>;

/// What all trials of a node share.
pub(crate) struct Bench<'a> {
    /// The directory for the engines' own small files.
    pub(crate) scratch: PathBuf,
    /// Set to end the current work.
    pub(crate) cancel: &'a AtomicBool,
    /// Set while an engine lays out data or loads.
    pub(crate) loading: &'a AtomicBool,
    /// Reports the current step.
    pub(crate) step: Teller<'a>,
    /// Passes any other event on.
    pub(crate) tell: Box<dyn Fn(Event) + 'a>,
    /// The node that serves the file system under test, if it is another one.
    pub(crate) server: Option<&'a dyn Server>,
    /// The other machines that run the same load at the same time, if there are some.
    pub(crate) others: Option<&'a dyn Others>,
}

impl Bench<'_> {
    /// Tells what an undo would take back now.
    pub(crate) fn tell_changes(&self, journal: &Journal) {
        (self.tell)(Event::ChangesToUndo { target: String::new(), changes: journal.changes() });
    }
}

/// The node that serves the file system under test, reached through the controller.
pub(crate) trait Server {
    /// Has the server do something and waits; returns the server's CLOCK_MONOTONIC in nanoseconds.
    fn turn(&self, turn: Turn) -> Result<u64, TurnError>;
}

/// Why the node that serves the file system under test didn't do what it was asked for.
#[derive(Debug, Error)]
pub(crate) enum TurnError {
    #[error("the agent process of the machine that serves it: {0}")]
    Failed(String),
    #[error(
        "the agent process of the machine that serves it: the controller sent something else than the result"
    )]
    OutOfTurn,
    #[error("the agent process of the machine that serves it: the controller is gone")]
    Gone,
}

/// The other machines that run the same load at the same time, reached through the controller.
pub(crate) trait Others {
    /// Says that everything is prepared and waits for the others; returns the moment of the start, on CLOCK_MONOTONIC in nanoseconds.
    fn meet(&self) -> Result<u64, MeetError>;
    /// Says that the load has ended and waits for the others.
    fn part(&self, began: Reading, ended: Reading) -> Result<(), MeetError>;
}

/// Why the machines didn't start or end together.
#[derive(Debug, Error)]
pub(crate) enum MeetError {
    #[error("it was ended before all machines were ready")]
    Ended,
    #[error("the controller sent something else than the start or the end of the load")]
    OutOfTurn,
    #[error("the controller is gone")]
    Gone,
    #[error(
        "`{volume}` is not shared: machine {other} has made its folder elsewhere; name a directory that is the same on all machines, \
         e.g. a mount of the same NFS export"
    )]
    Apart { volume: String, other: String },
}

/// Measures and reports the steps of a trial.
pub(crate) struct Steps<'a> {
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) cell: &'a CellId,
    pub(crate) times: Vec<StepTime>,
}

impl Steps<'_> {
    pub(crate) fn time<T>(&mut self, step: TrialStep, act: impl FnOnce() -> T) -> T {
        (self.bench.step)(Some(self.cell), step.name(), None);
        let begun = Instant::now();
        self.bench.loading.store(matches!(step, TrialStep::Prepare | TrialStep::Measure), Ordering::Relaxed);
        let result = act();
        self.bench.loading.store(false, Ordering::Relaxed);
        self.times.push(StepTime { step, seconds: begun.elapsed().as_secs_f64() });
        result
    }
}

/// The engine for a workload. Files that an engine keeps between runs are in the state directory.
pub(crate) fn engine_for(kind: EngineKind, state_dir: &Path) -> Box<dyn Engine> {
    match kind {
        EngineKind::Corpus => Box::new(engine::corpus::CorpusEngine::new(state_dir.join("corpora"))),
        EngineKind::Bonnie => Box::new(engine::bonnie::BonnieEngine),
        EngineKind::Fio => Box::new(engine::fio::FioEngine),
        EngineKind::Native => Box::new(engine::native::NativeEngine::default()),
    }
}
