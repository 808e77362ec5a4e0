//! The controller: has the nodes carry out a plan, and passes their events on. Needs no privileges.

use crate::agent_link::{AgentLink, out_of_turn};
use crate::ledger::Earlier;
use crate::nfs_remote::{self, Route};
use crate::protocol::{Reply, Request, TrialRequest};
use crate::rounds::{Hands, conduct};
use crate::together;
use crate::watch::Watch;
use crate::wishes::Wishes;
use record::environment::Environment;
use record::event::{Event, Stopped};
use record::id::{LOCAL, RunId};
use record::plan::{Cell, Plan};
use record::provision::{ProvisionStep, Provisioned};
use record::trial::TrialRecord;
use record::volume::{Volume, VolumeFacts, VolumeKind};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub use crate::agent_link::NodeAt;
pub use crate::error::{RunError, Sink, SinkError};

/// How a plan is carried out.
#[derive(Debug)]
pub struct How {
    /// The run's id.
    pub run: RunId,
    /// The nodes: one for each target on which the plan builds or loads a cell.
    pub nodes: Vec<NodeAt>,
    /// The network routes between targets, where one mounts a file system that another serves.
    pub routes: Vec<Route>,
    /// Trials that earlier sessions of this run finished.
    pub earlier: Earlier,
    /// Carry out the provisioning steps again, even where nothing has changed since the last time.
    pub provision_anew: bool,
    /// What the user wants otherwise than planned while the run goes on.
    pub wishes: Arc<Wishes>,
    /// Whether [`Event::LoadSampled`] is wanted. It costs the measured machine a little.
    pub live: bool,
}

/// Carries out `plan` and returns why it stopped. Every finished trial has passed through `sink` before the next begins.
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
    let forecast = spec::forecast(plan);
    sink(Event::RunStarted {
        run: how.run.clone(),
        trials: plan.cells.len() as u64 * u64::from(plan.measure.rounds),
        forecast_seconds: forecast.seconds,
    })
    .map_err(RunError::Sink)?;
    let begun = Instant::now();
    let lines = how.nodes.iter().map(AgentLink::to).collect::<Result<_, _>>()?;
    let (routes, volumes) = (how.routes.clone(), Vec::new());
    let mut session = Session { lines, routes, machines: Vec::new(), volumes, begun, cancel, how, sink };
    let provisioned = session.hello().and_then(|()| session.provision(plan, how.provision_anew));
    let opened = provisioned.and_then(|done| if done { session.open(plan, &how.run) } else { Ok(false) });
    let stopped = opened.and_then(|opened| {
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
    let at = NodeAt { target: LOCAL.to_owned(), argv: node_argv.to_vec(), hosted: Vec::new() };
    let mut line = AgentLink::to(&at)?;
    line.hello(&never, &mut silent)?;
    match line.ask(&Request::Undo { run, give_up: give_up.map(str::to_owned) }, &never, &mut silent)? {
        Reply::Undone { lines, clean, going_on } => Ok(Undo { lines, clean, going_on }),
        other => Err(out_of_turn(&other)),
    }
}

/// All volumes that the plan's cells use on a target, each once.
#[must_use]
pub fn volumes_of(plan: &Plan, target: &str) -> Vec<Volume> {
    let mut all: BTreeMap<String, Volume> = BTreeMap::new();
    for volume in cells_of(plan, target).flat_map(|c| c.stack.all_volumes()) {
        all.entry(volume.name.clone()).or_insert_with(|| volume.clone());
    }
    all.into_values().collect()
}

/// The targets on which the plan builds or loads a cell, in the order of the cells.
#[must_use]
pub fn targets_of(plan: &Plan) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for target in plan.cells.iter().flat_map(Cell::machines) {
        if !all.contains(&target) {
            all.push(target);
        }
    }
    all
}

fn cells_of<'p>(plan: &'p Plan, target: &'p str) -> impl Iterator<Item = &'p Cell> {
    plan.cells.iter().filter(move |cell| cell.is_built_on(target))
}

/// The most bytes that any cell lays out in each existing directory of a target, by the volume's name.
#[must_use]
pub fn space_of(plan: &Plan, target: &str) -> BTreeMap<String, u64> {
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for cell in cells_of(plan, target) {
        let data = spec::space_bytes(cell);
        for volume in cell.stack.all_volumes().filter(|v| matches!(v.kind, VolumeKind::Directory { .. })) {
            let need = most.entry(volume.name.clone()).or_default();
            *need = data.max(*need);
        }
    }
    most
}

struct Session<'a, 's> {
    lines: Vec<AgentLink>,
    routes: Vec<Route>,
    /// The machines of the nodes, in the order of `lines`.
    machines: Vec<Environment>,
    begun: Instant,
    cancel: &'a AtomicBool,
    how: &'a How,
    sink: &'a mut Sink<'s>,
    /// The volumes' facts; empty until the volumes are open.
    volumes: Vec<VolumeFacts>,
}

impl Session<'_, '_> {
    fn hello(&mut self) -> Result<(), RunError> {
        for line in &mut self.lines {
            self.machines.push(*line.hello(self.cancel, self.sink)?);
        }
        let Some(environment) = self.environment() else { return Ok(()) };
        self.tell(Event::NodeReady { environment })
    }

    /// The environment of the first target, with those of the other targets in it.
    fn environment(&self) -> Option<Box<Environment>> {
        let targets = self.lines.iter().map(|line| line.target.clone());
        let mut machines = targets.zip(self.machines.iter().cloned());
        let (_, first) = machines.next()?;
        Some(Box::new(Environment { elsewhere: machines.collect(), ..first }))
    }

    /// Runs the provisioning steps on all targets; `false` when the user asked to stop meanwhile.
    fn provision(&mut self, plan: &Plan, anew: bool) -> Result<bool, RunError> {
        let mut failure = None;
        for (line, machine) in self.lines.iter_mut().zip(&mut self.machines) {
            let steps: Vec<ProvisionStep> = plan.provision_of(&line.target).cloned().collect();
            if steps.is_empty() {
                continue;
            }
            match line.ask(&Request::Provision { steps, anew }, self.cancel, self.sink)? {
                Reply::Provisioned { environment, failed } => {
                    *machine = *environment;
                    failure = failed.map(|error| RunError::Provision { target: line.target.clone(), error });
                }
                other => return Err(out_of_turn(&other)),
            }
            if failure.is_some() {
                break;
            }
        }
        // The record is kept even if a step failed.
        if let (Some(environment), false) = (self.environment(), plan.provision.is_empty()) {
            for text in not_idempotent(&environment) {
                self.tell(Event::Warning { text })?;
            }
            self.tell(Event::Provisioned { environment })?;
        }
        match failure {
            Some(_) if self.is_cancelled() => Ok(false),
            Some(failure) => Err(failure),
            None => Ok(true),
        }
    }

    /// Opens the volumes on all targets; `false` when the user asked to stop meanwhile.
    fn open(&mut self, plan: &Plan, run: &RunId) -> Result<bool, RunError> {
        let mut all = Vec::new();
        for line in &mut self.lines {
            let request = Request::Open {
                run: run.clone(),
                volumes: volumes_of(plan, &line.target),
                space_bytes: space_of(plan, &line.target),
                needs_tools: spec::tools_on(plan, &line.target),
                shared: together::shared(plan, &line.target),
            };
            match line.ask(&request, self.cancel, self.sink) {
                Ok(Reply::Opened { volumes }) => {
                    all.extend(volumes.into_iter().map(|v| VolumeFacts { target: line.target.clone(), ..v }));
                }
                Ok(other) => return Err(out_of_turn(&other)),
                Err(error) if error.is_of_node() && self.cancel.load(Ordering::Relaxed) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.volumes.clone_from(&all);
        (self.sink)(Event::VolumesReady { volumes: all }).map_err(RunError::Sink)?;
        Ok(true)
    }

    /// Closes all nodes, even if one of them fails, and returns the first failure.
    fn close(&mut self) -> Result<(), RunError> {
        let mut outcome = Ok(());
        for line in &mut self.lines {
            let closed = match line.ask(&Request::Close, self.cancel, self.sink) {
                Ok(Reply::Closed) => Ok(()),
                Ok(other) => Err(out_of_turn(&other)),
                Err(error) => Err(error),
            };
            outcome = outcome.and(closed);
        }
        outcome
    }
}

impl Hands for Session<'_, '_> {
    fn trial(&mut self, request: TrialRequest) -> Result<Option<TrialRecord>, RunError> {
        let request = TrialRequest { live: self.how.live, ..request };
        if request.cell.is_together() {
            return together::trial(&mut self.lines, &request, self.cancel, self.sink);
        }
        let cell = &request.cell;
        let place = |name: &str| {
            let at = self.lines.iter().position(|line| line.target == name);
            at.ok_or_else(|| RunError::NoNode(name.to_owned()))
        };
        let (built, loaded) = (place(&cell.target)?, place(cell.loaded_from())?);
        let mut watch = Watch::new(&self.lines[built].hosted, cell, &self.volumes);
        let mut heard = |event: Event| {
            watch.heard(&event);
            (self.sink)(event)
        };
        let record = match self.lines.get_disjoint_mut([built, loaded]) {
            Ok([server, client]) => {
                nfs_remote::trial([server, client], &self.routes, request, self.cancel, &mut heard)?
            }
            Err(_) => {
                match self.lines[built].ask(&Request::Trial(Box::new(request)), self.cancel, &mut heard)? {
                    Reply::Trial { cancelled: true, .. } => None,
                    Reply::Trial { record, .. } => Some(*record),
                    other => return Err(out_of_turn(&other)),
                }
            }
        };
        Ok(record.map(|mut record| {
            watch.tell(&mut record);
            record
        }))
    }

    fn tell(&mut self, event: Event) -> Result<(), RunError> {
        (self.sink)(event).map_err(RunError::Sink)
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn wishes(&self) -> &Wishes {
        &self.how.wishes
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// Provisioning steps that ran now and changed something again in their second run.
fn not_idempotent(environment: &Environment) -> Vec<String> {
    let machines = std::iter::once(environment).chain(environment.elsewhere.values());
    let steps = machines.flat_map(|machine| &machine.provision);
    let suspects = steps.filter(|step| !step.skipped && step.is_idempotent() == Some(false));
    let text = |step: &Provisioned| {
        format!(
            "provision: `{} {}` is not idempotent: its second run changed something again",
            step.by, step.path
        )
    };
    suspects.map(text).collect()
}
