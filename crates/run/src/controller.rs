//! The controller: has the nodes carry out a plan, and passes their events on. Needs no privileges.

use crate::agent_link::{AgentLink, out_of_turn};
use crate::how::together;
use crate::lane::Shared;
use crate::nfs_remote;
use crate::one_machine::Found;
use crate::protocol::{Reply, Request};
use crate::session::Session;
use record::environment::Environment;
use record::event::{Event, Stopped};
use record::id::{LOCAL, RunId};
use record::plan::Plan;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

pub use crate::agent_link::NodeAt;
pub use crate::error::{RunError, Sink, SinkError};
pub use crate::how::{How, space_of, targets_of, volumes_of};

/// Carries out `plan` and returns why it stopped. Machines that share nothing work at the same time. Every finished trial has passed
/// through `sink` before the next one begins on its machine.
///
/// `cancel` ends the current trial, undoes everything and returns [`Stopped::Interrupted`].
///
/// # Errors
/// When a node refuses the volumes or is lost, or when the sink fails. Everything that was built has been undone by then, unless
/// the error says otherwise.
pub fn execute(
    plan: &Plan,
    how: &How,
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<Stopped, RunError> {
    sink(Event::RunStarted {
        run: how.run.clone(),
        trials: plan.cells.len() as u64 * u64::from(plan.measure.rounds),
        forecast_seconds: how.forecast_seconds,
    })
    .map_err(RunError::Sink)?;
    let begun = Instant::now();
    let mut lines: Vec<AgentLink> = how.nodes.iter().map(AgentLink::to).collect::<Result<_, _>>()?;
    let machines = hello(&mut lines, cancel, sink)?;
    let ready = together(&machines);
    let found = Found::of(plan, how, &machines)?;
    nfs_remote::tell_apart(plan, &lines)?;
    ready.map_or(Ok(()), |environment| sink(Event::NodeReady { environment })).map_err(RunError::Sink)?;
    for text in &found.remarks {
        sink(Event::Warning { text: text.clone() }).map_err(RunError::Sink)?;
    }
    let stop = AtomicBool::new(cancel.load(Ordering::Relaxed));
    let shared = Shared { plan, how, names: &found.names, begun, stop: &stop };
    let stopped = std::thread::scope(|scope| {
        let mut session = Session::begin(scope, &shared, &found.lanes, lines, machines, cancel, &mut *sink);
        session.carry_out()
    })?;
    sink(Event::RunFinished { stopped: stopped.clone() }).map_err(RunError::Sink)?;
    Ok(stopped)
}

/// Runs the provisioning steps of `plan` on its machines, and nothing else.
///
/// # Errors
/// A node is lost, a step fails, or the sink fails.
pub fn provision(plan: &Plan, how: &How, cancel: &AtomicBool, sink: &mut Sink<'_>) -> Result<(), RunError> {
    let mut lines: Vec<AgentLink> = how.nodes.iter().map(AgentLink::to).collect::<Result<_, _>>()?;
    let machines = hello(&mut lines, cancel, sink)?;
    let found = Found::of(plan, how, &machines)?;
    let stop = AtomicBool::new(cancel.load(Ordering::Relaxed));
    let shared = Shared { plan, how, names: &found.names, begun: Instant::now(), stop: &stop };
    std::thread::scope(|scope| {
        let mut session = Session::begin(scope, &shared, &found.lanes, lines, machines, cancel, &mut *sink);
        session.provision().map(drop)
    })
}

/// Greets all nodes at the same time, and returns their machines in the order of `lines`.
fn hello(
    lines: &mut [AgentLink],
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<Vec<(String, Environment)>, RunError> {
    let (speaker, heard) = channel();
    let (told, greeted) = std::thread::scope(|scope| {
        let greeting: Vec<_> = lines
            .iter_mut()
            .map(|line| {
                let speaker = speaker.clone();
                scope.spawn(move || {
                    line.hello(cancel, &mut |event| speaker.send(event).map_err(SinkError::from))
                })
            })
            .collect();
        drop(speaker);
        let told = heard.iter().try_for_each(|event| sink(event).map_err(RunError::Sink));
        let greeted: Vec<_> =
            greeting.into_iter().map(|one| one.join().map_err(|_| RunError::Panicked)).collect();
        (told, greeted)
    });
    told?;
    let machines = lines.iter().zip(greeted);
    machines.map(|(line, machine)| Ok((line.target.clone(), *machine??))).collect()
}

/// What an undo did on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// One line per run.
    pub lines: Vec<String>,
    /// Whether nothing is left of the runs that have ended.
    pub clean: bool,
    /// Whether a run is still going on, which was left alone.
    pub going_on: bool,
}

/// Undoes what earlier runs left on the node: the run that `run` names, or else all runs that have no living owner.
///
/// `give_up` names a disk that won't come back.
///
/// # Errors
/// When the node can't be started or fails.
pub fn undo(node_argv: &[OsString], run: Option<RunId>, give_up: Option<&str>) -> Result<Undo, RunError> {
    let never = AtomicBool::new(false);
    let mut silent = |_| Ok(());
    let at = NodeAt { target: LOCAL.to_owned(), argv: node_argv.to_vec(), remote: false, hosted: Vec::new() };
    let mut line = AgentLink::to(&at)?;
    line.hello(&never, &mut silent)?;
    match line.ask(&Request::Undo { run, give_up: give_up.map(str::to_owned) }, &never, &mut silent)? {
        Reply::Undone { lines, clean, going_on } => Ok(Undo { lines, clean, going_on }),
        other => Err(out_of_turn(&other)),
    }
}
