//! A session of a run, as the controller's main thread sees it: it gives the lanes their tasks, and passes on what they say.

use crate::agent_link::AgentLink;
use crate::error::{RunError, Sink, both};
use crate::how::together;
use crate::lane::{Did, Lane, Loss, Shared, Task, Word};
use crate::protocol::TrialRequest;
use crate::rounds::{Conducted, Ended, Hands, conduct};
use crate::wishes::Wishes;
use record::environment::Environment;
use record::event::{Event, Stopped};
use record::plan::Cell;
use record::provision::Provisioned;
use record::volume::VolumeFacts;
use spec::Lanes;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

/// How often a session looks whether the user asked to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A session, and the lanes that work for it.
pub(crate) struct Session<'a, 's, 'k> {
    shared: &'a Shared<'a>,
    lanes: &'a Lanes,
    workers: Vec<Worker>,
    words: Receiver<Word>,
    /// The machines, in the order of the nodes.
    machines: Vec<(String, Environment)>,
    cancel: &'a AtomicBool,
    sink: &'s mut Sink<'k>,
    lost: Vec<Loss>,
}

/// A lane's thread.
struct Worker {
    tasks: Sender<Task>,
    is_busy: bool,
}

impl Drop for Session<'_, '_, '_> {
    /// The threads end when they have no more tasks; what they do then is not wanted any more.
    fn drop(&mut self) {
        if self.workers.iter().any(|worker| worker.is_busy) {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl<'a, 's, 'k> Session<'a, 's, 'k> {
    /// Starts the lanes' threads.
    pub(crate) fn begin<'scope>(
        scope: &'scope Scope<'scope, 'a>,
        shared: &'a Shared<'a>,
        lanes: &'a Lanes,
        lines: Vec<AgentLink>,
        machines: Vec<(String, Environment)>,
        cancel: &'a AtomicBool,
        sink: &'s mut Sink<'k>,
    ) -> Self {
        let (speaker, words) = channel();
        let mut shares: Vec<Vec<AgentLink>> = lanes.targets.iter().map(|_| Vec::new()).collect();
        for line in lines {
            if let Some(lane) = lanes.of(&line.target) {
                shares[lane].push(line);
            }
        }
        let mut workers = Vec::new();
        for (number, lines) in shares.into_iter().enumerate() {
            let (tasks, given) = channel();
            let speaker = speaker.clone();
            let lane = Lane { number, lines, shared, volumes: Vec::new() };
            scope.spawn(move || lane.work(&given, &speaker));
            workers.push(Worker { tasks, is_busy: false });
        }
        let lost = Vec::new();
        Self { shared, lanes, workers, words, machines, cancel, sink, lost }
    }

    /// Carries out the plan, and returns why it stopped.
    pub(crate) fn carry_out(&mut self) -> Result<Stopped, RunError> {
        let ready = match self.provision() {
            Ok(true) => self.open(),
            other => other,
        };
        if !matches!(ready, Ok(true)) {
            // Lanes may be open already. If their undo fails, the user must learn it.
            let closed = self.close();
            if let (Err(_), Err(error)) = (&ready, &closed) {
                self.tell(Event::Warning { text: record::printable::chain(error) })?;
            }
            ready?;
            closed?;
            return Ok(Stopped::Interrupted);
        }
        let (plan, earlier) = (self.shared.plan, &self.shared.how.earlier);
        let conducted = conduct(plan, earlier, self);
        let closed = self.close();
        let Conducted { stopped, missing } = conducted?;
        if self.lost.is_empty() || stopped == Stopped::Interrupted {
            return closed.map(|()| stopped);
        }
        let loss = self.loss(missing);
        Err(match closed {
            Ok(()) => loss,
            Err(error) => loss.and(error),
        })
    }

    /// Runs the provisioning steps on all machines; `false` when the user asked to stop meanwhile.
    pub(crate) fn provision(&mut self) -> Result<bool, RunError> {
        if self.shared.plan.provision.is_empty() {
            return Ok(true);
        }
        let mut failure = None;
        for did in self.all(|| Task::Provision)? {
            let Did::Provisioned(machines, outcome) = did else { continue };
            for (name, machine) in machines {
                if let Some((_, known)) = self.machines.iter_mut().find(|(known, _)| *known == name) {
                    *known = machine;
                }
            }
            failure = failure.or(outcome.err());
        }
        // The record is kept even if a step failed.
        if let Some(environment) = together(&self.machines) {
            for text in not_idempotent(&environment) {
                self.tell(Event::Warning { text })?;
            }
            self.tell(Event::Provisioned { environment })?;
        }
        match failure {
            Some(RunError::Provision { .. }) if self.is_cancelled() => Ok(false),
            Some(failure) => Err(failure),
            None => Ok(true),
        }
    }

    /// Opens the volumes on all machines; `false` when the user asked to stop meanwhile.
    fn open(&mut self) -> Result<bool, RunError> {
        let mut all: Vec<VolumeFacts> = Vec::new();
        let mut is_open = true;
        let mut failure = None;
        for did in self.all(|| Task::Open)? {
            match did {
                Did::Opened(Ok(Some(volumes))) => all.extend(volumes),
                Did::Opened(Ok(None)) => is_open = false,
                Did::Opened(Err(error)) => failure = failure.or(Some(error)),
                _ => {}
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let place = |target: &str| self.machines.iter().position(|(name, _)| name == target);
        all.sort_by_key(|facts| place(&facts.target));
        if is_open {
            self.tell(Event::VolumesReady { volumes: all })?;
        }
        Ok(is_open)
    }

    fn close(&mut self) -> Result<(), RunError> {
        // After an error, trials may be under way.
        while self.workers.iter().any(|worker| worker.is_busy) {
            self.shared.stop.store(true, Ordering::Relaxed);
            self.wait()?;
        }
        let mut outcome = Ok(());
        for did in self.all(|| Task::Close)? {
            if let Did::Closed(closed) = did {
                outcome = both(outcome, closed);
            }
        }
        outcome
    }

    /// Gives all lanes a task, as many at a time as may work at once, and returns what came of it, in the order of the lanes.
    fn all(&mut self, task: impl Fn() -> Task) -> Result<Vec<Did>, RunError> {
        let mut did: Vec<Option<Did>> = self.workers.iter().map(|_| None).collect();
        let mut next = 0;
        while did.iter().any(Option::is_none) {
            while next < self.workers.len() && self.has_room() {
                self.give(next, task())?;
                next += 1;
            }
            let (lane, done) = self.wait()?;
            did[lane] = Some(done);
        }
        Ok(did.into_iter().flatten().collect())
    }

    fn has_room(&self) -> bool {
        self.workers.iter().filter(|worker| worker.is_busy).count() < self.lanes.at_once
    }

    fn give(&mut self, lane: usize, task: Task) -> Result<(), RunError> {
        let worker = &mut self.workers[lane];
        worker.is_busy = true;
        worker.tasks.send(task).map_err(|_| RunError::Panicked)
    }

    /// Waits until a lane has done its task, and passes events on meanwhile.
    fn wait(&mut self) -> Result<(usize, Did), RunError> {
        loop {
            if self.is_cancelled() {
                self.shared.stop.store(true, Ordering::Relaxed);
            }
            match self.words.recv_timeout(LOOK) {
                Ok(Word::Event(event)) => self.tell(event)?,
                Ok(Word::Done { lane, did }) => {
                    self.workers[lane].is_busy = false;
                    return Ok((lane, did));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(RunError::Panicked),
            }
        }
    }

    /// The error of a run whose machines are lost. Of a run on one machine it is simply what happened to that.
    fn loss(&mut self, missing: Option<u64>) -> RunError {
        let mut lost = std::mem::take(&mut self.lost).into_iter();
        let Some(Loss { mut targets, error, .. }) = lost.next() else { return RunError::Panicked };
        targets.extend(lost.flat_map(|loss| loss.targets));
        let mut seen = BTreeSet::new();
        targets.retain(|target| seen.insert(target.clone()));
        if targets.len() == self.machines.len() {
            return error;
        }
        RunError::Missing { targets, missing, source: Box::new(error) }
    }
}

impl Hands for Session<'_, '_, '_> {
    fn lanes(&self) -> Option<&Lanes> {
        Some(self.lanes)
    }

    fn is_free(&self, cell: &Cell) -> bool {
        let lane = self.lanes.of(&cell.target);
        self.has_room() && lane.is_none_or(|lane| !self.workers[lane].is_busy)
    }

    fn begin(&mut self, request: TrialRequest) -> Result<(), RunError> {
        let target = &request.cell.target;
        let lane = self.lanes.of(target).ok_or_else(|| RunError::NoNode(target.clone()))?;
        self.give(lane, Task::Trial(Box::new(request)))
    }

    fn ended(&mut self) -> Result<Ended, RunError> {
        let loss = loop {
            match self.wait()? {
                (_, Did::Tried(Ok(ended))) => return Ok(ended),
                (_, Did::Tried(Err(loss))) => break *loss,
                _ => {}
            }
        };
        let (record, targets) = (loss.record.clone(), loss.targets.clone());
        let text = cut_off(self.shared.plan, &loss);
        self.lost.push(loss);
        let is_lost = |name: &String| self.lost.iter().any(|loss| loss.targets.contains(name));
        let ends = self.machines.iter().all(|(name, _)| is_lost(name)).then(|| self.loss(None));
        if ends.is_none() {
            self.tell(Event::Warning { text })?;
        }
        Ok(Ended::Lost { record, targets, ends })
    }

    fn tell(&mut self, event: Event) -> Result<(), RunError> {
        (self.sink)(event).map_err(RunError::Sink)
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn wishes(&self) -> &Wishes {
        &self.shared.how.wishes
    }

    fn seconds(&self) -> f64 {
        self.shared.begun.elapsed().as_secs_f64()
    }
}

/// Which trial a lost machine cut off, and why.
fn cut_off(plan: &record::plan::Plan, loss: &Loss) -> String {
    let id = &loss.record.id;
    let cell = plan.cells.iter().find(|cell| cell.id == id.cell);
    let name = cell.map(|cell| format!("{} {}, ", cell.stack.name, cell.workload.name)).unwrap_or_default();
    format!(
        "machine {} is lost, and its trial ({name}round {}) was cut off: {}; the other machines go on",
        loss.targets.join(", "),
        id.round + 1,
        record::printable::chain(&loss.error)
    )
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
