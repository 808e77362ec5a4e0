//! A lane: the agent processes of machines that share something, so their trials take turns. It works in a thread of its own, while
//! other lanes work in theirs.

use crate::agent_link::{AgentLink, is_asked, on, out_of_turn, stopped_there};
use crate::error::{RunError, Sink, SinkError, both};
use crate::fault::Fault;
use crate::guest_disks::host_limits;
use crate::how::{How, space_of, volumes_of};
use crate::made::Made;
use crate::nfs_remote;
use crate::protocol::{Reply, Request, TrialRequest};
use crate::rounds::Ended;
use crate::together;
use crate::trial::{blank, has_wrong_content};
use crate::watch::Watch;
use record::environment::Environment;
use record::event::Event;
use record::id::RunId;
use record::plan::Plan;
use record::printable::chain;
use record::provision::ProvisionStep;
use record::trial::{Outcome, TrialRecord};
use record::volume::VolumeFacts;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// What all lanes of a run share.
pub(crate) struct Shared<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) how: &'a How,
    /// The run's name on each machine.
    pub(crate) names: &'a BTreeMap<String, RunId>,
    /// When this session began.
    pub(crate) begun: Instant,
    /// Set to end all work as soon as that is possible cleanly.
    pub(crate) stop: &'a AtomicBool,
}

/// What a lane is to do.
#[derive(Debug)]
pub(crate) enum Task {
    /// Run the provisioning steps.
    Provision,
    /// Open the volumes.
    Open,
    /// Make a trial.
    Trial(Box<TrialRequest>),
    /// Close the nodes.
    Close,
}

/// What a lane says.
#[derive(Debug)]
pub(crate) enum Word {
    /// An event, while it works.
    Event(Event),
    /// It has done what it was to do.
    Done {
        /// The number of the lane.
        lane: usize,
        /// What came of it.
        did: Did,
    },
}

/// What came of a task.
#[derive(Debug)]
pub(crate) enum Did {
    /// The machines after the provisioning, and why it ended early, if it did.
    Provisioned(Vec<(String, Environment)>, Result<(), RunError>),
    /// The volumes of the lane's machines; `None` when the user asked to stop meanwhile.
    Opened(Result<Option<Vec<VolumeFacts>>, RunError>),
    /// The trial has ended, was stopped, or its machines are lost.
    Tried(Result<Ended, Box<Loss>>),
    /// The nodes are closed.
    Closed(Result<(), RunError>),
}

/// Machines that are lost.
#[derive(Debug)]
pub(crate) struct Loss {
    /// What is known of the trial that was cut off.
    pub(crate) record: Box<TrialRecord>,
    pub(crate) targets: Vec<String>,
    pub(crate) error: RunError,
}

/// One lane.
pub(crate) struct Lane<'a> {
    pub(crate) number: usize,
    pub(crate) lines: Vec<AgentLink>,
    pub(crate) shared: &'a Shared<'a>,
    /// The volumes of its machines; empty until they are open.
    pub(crate) volumes: Vec<VolumeFacts>,
}

impl Lane<'_> {
    /// Does one task after another, until there are no more. Then the agent processes end.
    pub(crate) fn work(mut self, tasks: &Receiver<Task>, words: &Sender<Word>) {
        let speaker = words.clone();
        let mut sink = move |event: Event| speaker.send(Word::Event(event)).map_err(SinkError::from);
        for task in tasks {
            let did = match task {
                Task::Provision => self.provision(&mut sink),
                Task::Open => Did::Opened(self.open(&mut sink)),
                Task::Trial(request) => Did::Tried(self.trial(*request, &mut sink)),
                Task::Close => Did::Closed(self.close(&mut sink)),
            };
            if words.send(Word::Done { lane: self.number, did }).is_err() {
                break;
            }
        }
    }

    fn provision(&mut self, sink: &mut Sink<'_>) -> Did {
        let Shared { plan, how, stop, .. } = self.shared;
        let mut machines = Vec::new();
        for line in &mut self.lines {
            let steps: Vec<ProvisionStep> = plan.provision_of(&line.target).cloned().collect();
            if steps.is_empty() {
                continue;
            }
            let target = line.target.clone();
            let anew = how.provision_anew;
            let failure = match line.ask(&Request::Provision { steps, anew }, stop, sink) {
                Ok(Reply::Provisioned { environment, failed }) => {
                    machines.push((target.clone(), *environment));
                    failed.map(|error| RunError::Provision { target, error })
                }
                Ok(other) => Some(out_of_turn(&other)),
                Err(error) => Some(error),
            };
            if let Some(failure) = failure {
                return Did::Provisioned(machines, Err(failure));
            }
        }
        Did::Provisioned(machines, Ok(()))
    }

    fn open(&mut self, sink: &mut Sink<'_>) -> Result<Option<Vec<VolumeFacts>>, RunError> {
        let Shared { plan, how, names, begun, stop } = self.shared;
        for line in &mut self.lines {
            let request = Request::Open {
                run: names.get(&line.target).unwrap_or(&how.run).clone(),
                volumes: volumes_of(plan, &line.target),
                space_bytes: space_of(plan, &line.target),
                needs_tools: spec::tools_on(plan, &line.target),
                shared: together::shared(plan, &line.target),
                ends_in_seconds: plan
                    .measure
                    .max_seconds
                    .map(|most| most - how.earlier.seconds(plan) - begun.elapsed().as_secs_f64()),
            };
            match line.ask(&request, stop, sink) {
                Ok(Reply::Opened { volumes }) => {
                    let asked = volumes_of(plan, &line.target);
                    self.volumes.extend(volumes.into_iter().map(|facts| VolumeFacts {
                        target: line.target.clone(),
                        host_limits: host_limits(&line.hosted, &asked, &facts.name),
                        ..facts
                    }));
                }
                Ok(other) => return Err(out_of_turn(&other)),
                // A failed undo is not what the user asked for.
                Err(error)
                    if error.is_of_node() && error.fault() != Fault::Ours && stop.load(Ordering::Relaxed) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(self.volumes.clone()))
    }

    fn trial(&mut self, request: TrialRequest, sink: &mut Sink<'_>) -> Result<Ended, Box<Loss>> {
        let mut unknown = blank(&request);
        let trial = request.id.clone();
        let machines: Vec<String> = request.cell.machines().into_iter().map(str::to_owned).collect();
        let (record, error) = match self.make(request, sink) {
            Ok(Made { record: Some(record), lost: None }) => return Ok(Ended::Done(Box::new(record))),
            Ok(Made { record: None, lost: None }) => return Ok(Ended::Stopped(trial)),
            Ok(Made { record, lost: Some(error) }) => (record, error),
            Err(error) => (None, error),
        };
        let targets = error.machines_of(&machines);
        // Their state is unknown. Without their controller they undo it and end.
        self.lines.retain(|line| !targets.contains(&line.target));
        unknown.outcome = Outcome::Failed(chain(&error));
        let mut record = record.unwrap_or(unknown);
        record.cut_off = !has_wrong_content(&record);
        Err(Box::new(Loss { record: Box::new(record), targets, error }))
    }

    /// Makes one trial.
    fn make(&mut self, request: TrialRequest, sink: &mut Sink<'_>) -> Result<Made, RunError> {
        let Shared { how, stop, .. } = self.shared;
        let request = TrialRequest { live: how.live, ..request };
        let asked = request.id.clone();
        let cell = &request.cell;
        if cell.is_together() && !cell.is_mounted_elsewhere() {
            return together::trial(&mut self.lines, &how.routes, &request, stop, sink);
        }
        let place = |name: &str| {
            let at = self.lines.iter().position(|line| line.target == name);
            at.ok_or_else(|| RunError::NoNode(name.to_owned()))
        };
        let (built, loaded) = (place(&cell.target)?, place(cell.loaded_from())?);
        let mut watch = Watch::new(&self.lines[built].hosted, cell, &self.volumes);
        let mut heard = |event: Event| {
            watch.heard(&event);
            sink(event)
        };
        let whole = |record| Made { record, lost: None };
        let made = match self.lines.get_disjoint_mut([built, loaded]) {
            _ if cell.is_together() => {
                together::trial(&mut self.lines, &how.routes, &request, stop, &mut heard)?
            }
            Ok([server, client]) => {
                whole(nfs_remote::trial([server, client], &how.routes, request, stop, &mut heard)?)
            }
            Err(_) => match self.lines[built].ask(&Request::Trial(Box::new(request)), stop, &mut heard)? {
                Reply::Trial { cancelled: true, .. } if is_asked(stop) => whole(None),
                Reply::Trial { cancelled: true, .. } => return Err(stopped_there(&self.lines[built].target)),
                Reply::Trial { record, .. } => whole(Some(*record)),
                other => return Err(out_of_turn(&other)),
            },
        };
        if let Some(other) = made.record.as_ref().filter(|record| record.id != asked) {
            let text = format!("the record of round {} of another trial", other.id.round + 1);
            return Err(on(&self.lines[loaded].target, RunError::OutOfTurn(text)));
        }
        let record = made.record.map(|mut record| {
            watch.tell(&mut record);
            record
        });
        Ok(Made { record, ..made })
    }

    /// Closes all nodes, even if one of them fails, and returns the first failure.
    fn close(&mut self, sink: &mut Sink<'_>) -> Result<(), RunError> {
        let mut outcome = Ok(());
        for line in &mut self.lines {
            let closed = match line.ask(&Request::Close, self.shared.stop, sink) {
                Ok(Reply::Closed) => Ok(()),
                Ok(other) => Err(out_of_turn(&other)),
                Err(error) => Err(error),
            };
            outcome = both(outcome, closed);
        }
        outcome
    }
}
