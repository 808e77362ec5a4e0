//! Does one block on this machine.

use crate::commands::session::with_ceiling;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::Connected;
use fleet::queue::{self, Begin, Delivery, Descriptor, Line, Lines, Packed, QueueError, Remote};
use host::{LocalRunner, StateAccess};
use record::block::{Block, BlockMachine, Queue};
use record::environment::Environment;
use record::event::{Event, Stopped};
use record::id::RunId;
use record::plan::Plan;
use record::printable::{Shown as _, indented};
use record::trial::{Outcome, TrialRecord};
use run::Wishes;
use run::controller::{How, RunError, SinkError, execute, undo};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often to look whether it is this process's turn.
const LOOK: Duration = Duration::from_millis(200);
/// How long a killed attempt's agent process may undo before this one gives up.
const UNDO_PATIENCE: Duration = Duration::from_secs(600);

/// A block to be done.
pub(super) struct Task<'a> {
    pub(super) block: &'a Descriptor,
    /// The queue that gave it out.
    pub(super) queue: Option<Queue>,
    /// Where its results go, if not where the block says; `-`: to standard output.
    pub(super) results: Option<&'a Path>,
    pub(super) settings: &'a Settings,
    pub(super) wish: &'a Wish,
}

/// How a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All its trials are delivered.
    Done,
    /// The user asked to stop.
    Interrupted,
}

impl Task<'_> {
    /// Does the block.
    ///
    /// # Errors
    /// The block is wrong, its results can't be delivered, or the machine refuses. Delivered trials are kept.
    pub(super) fn perform(&self) -> Result<Ended, Failure> {
        let Some(_turn) = self.turn()? else { return Ok(Ended::Interrupted) };
        let mut delivery = self.delivery()?;
        let accepted = delivery.begin(&Begin::of(self.block))?;
        let plan = match accepted.plan {
            Some(text) => Packed { digest: self.block.plan_digest.clone(), text }.unpack()?,
            None => self.block.plan()?,
        };
        let Some((part, earlier)) = queue::part(&plan, self.block, &accepted.done)? else {
            self.tell("every trial of it is stored already");
            return Ok(Ended::Done);
        };
        let reached = fleet::connect(&part, &self.settings.fleet())?;
        if !self.undo_leftovers(&reached)? {
            return Ok(Ended::Interrupted);
        }
        let trials = part.cells.iter().filter(|cell| !part.skipped.contains_key(&cell.id)).count();
        self.tell(&format!("{trials} of {} trials to measure", part.cells.len()));
        let how = How {
            run: self.block.run.clone(),
            nodes: reached.nodes.clone(),
            routes: reached.routes.clone(),
            earlier,
            provision_anew: false,
            wishes: Arc::new(Wishes::default()),
            forecast_seconds: spec::forecast(&part).seconds,
            live: false,
        };
        let mut deliverer = Deliverer { task: self, part: &part, delivery, machine: None, told: 0, trials };
        let mut sink = |event: Event| deliverer.take(event);
        let stopped = execute(&part, &how, &self.wish.cancel, &mut sink).map_err(failure)?;
        match stopped {
            Stopped::Interrupted => Ok(Ended::Interrupted),
            _ => Ok(Ended::Done),
        }
    }

    /// Waits until no other block is being done with this state folder; `None` when the user asked to stop meanwhile.
    fn turn(&self) -> Result<Option<File>, Failure> {
        let folder = &self.settings.state.value;
        let path = folder.join("block.lock");
        let unusable = |error: std::io::Error| Failure::machine(format!("{}: {error}", path.shown()));
        std::fs::create_dir_all(folder).map_err(unusable)?;
        let file = host::open_regular(&path, StateAccess::ChangeOrMake).map_err(unusable)?;
        let mut is_told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
                Err(TryLockError::WouldBlock) if self.is_cancelled() => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
            }
            if !is_told {
                self.tell("another block is being done on this machine: it waits for that one");
                is_told = true;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn delivery(&self) -> Result<Box<dyn Delivery>, Failure> {
        let cant = |error: std::io::Error| Failure::machine(format!("standard output: {error}"));
        match (self.results, &self.block.to) {
            (Some(path), _) if path == Path::new("-") => {
                use std::os::fd::AsFd as _;
                let out = std::io::stdout().as_fd().try_clone_to_owned().map_err(cant)?;
                Ok(Box::new(Lines::to(File::from(out))))
            }
            (Some(folder), _) => Ok(Box::new(Lines::in_folder(folder, self.block, &host_name())?)),
            (None, Some(to)) => Ok(Box::new(Remote::to(to, &fleet::ssh(&to.ssh, &self.settings.fleet())))),
            (None, None) => Err(Failure::input(
                "the block doesn't say where its results go: give `--results DIR`, or make it with `--to DEST`",
            )),
        }
    }

    /// Undoes what a killed attempt at a block of this run left; `false` when the user asked to stop meanwhile.
    fn undo_leftovers(&self, reached: &Connected) -> Result<bool, Failure> {
        let since = Instant::now();
        for node in &reached.nodes {
            loop {
                let undone = undo(&node.argv, Some(self.block.run.clone()), None).map_err(failure)?;
                if !undone.going_on {
                    undone.lines.iter().for_each(|line| self.tell(&format!("undone: {line}")));
                }
                if !undone.clean {
                    return Err(Failure::ours(
                        "what an earlier attempt left can't be undone; `diskproof undo` says more",
                    ));
                }
                if !undone.going_on {
                    break;
                }
                if self.is_cancelled() {
                    return Ok(false);
                }
                if since.elapsed() > UNDO_PATIENCE {
                    let RunId(run) = &self.block.run;
                    return Err(Failure::machine(format!("run {run} is still going on on this machine")));
                }
                std::thread::sleep(LOOK);
            }
        }
        Ok(true)
    }

    fn is_cancelled(&self) -> bool {
        self.wish.cancel.load(Ordering::Relaxed)
    }

    fn tell(&self, text: &str) {
        output::aside(&indented(&format!("block {}: {text}", self.block.block)));
    }
}

/// Delivers what the run reports.
struct Deliverer<'a> {
    task: &'a Task<'a>,
    part: &'a Plan,
    delivery: Box<dyn Delivery>,
    machine: Option<BlockMachine>,
    told: usize,
    trials: usize,
}

impl Deliverer<'_> {
    fn take(&mut self, event: Event) -> Result<(), SinkError> {
        match event {
            Event::NodeReady { environment } | Event::Provisioned { environment } => {
                self.machine = Some(machine(&environment));
                let environment = Box::new(with_ceiling(&environment, self.task.settings));
                self.delivery.send(&Line::Machine { environment })?;
            }
            Event::VolumesReady { volumes } => {
                self.delivery.send(&Line::Volumes { volumes })?;
            }
            Event::TrialFinished { record } => self.trial(record)?,
            Event::Warning { text } => self.task.tell(&format!("warning: {text}")),
            _ => {}
        }
        Ok(())
    }

    fn trial(&mut self, mut record: Box<TrialRecord>) -> Result<(), QueueError> {
        record.block = Some(Block {
            id: self.task.block.block.clone(),
            machine: self.machine.clone().unwrap_or_default(),
            queue: self.task.queue.clone().map(|queue| self.looked_at(queue)),
        });
        let cell = self.part.cells.iter().find(|cell| cell.id == record.id.cell);
        let name = cell.map(|cell| format!("{} {}", cell.stack.name, cell.workload.name)).unwrap_or_default();
        let outcome = match &record.outcome {
            Outcome::Measured => "measured".to_owned(),
            Outcome::Failed(reason) if record.cut_off => format!("cut off: {reason}"),
            Outcome::Failed(reason) => format!("failed: {reason}"),
        };
        let is_new = self.delivery.send(&Line::Trial { record })?;
        self.told += 1;
        let kept = if is_new { "delivered" } else { "the submitter has it already, this one is not stored" };
        self.task.tell(&format!("trial {} of {}, {name}: {outcome}; {kept}", self.told, self.trials));
        Ok(())
    }

    /// The queue with what is known only after the trial.
    fn looked_at(&self, queue: Queue) -> Queue {
        match queue {
            Queue::Slurm(mut job) => {
                job.others = queue::others_on(&LocalRunner, &job);
                let cpus = self.machine.as_ref().and_then(|machine| machine.cpus);
                Queue::Slurm(job.judged(cpus))
            }
            other => other,
        }
    }
}

fn machine(environment: &Environment) -> BlockMachine {
    BlockMachine {
        name: Some(host_name()),
        kernel: environment.kernel.clone(),
        cpu_model: environment.cpu_model.clone(),
        cpus: environment.cpus,
        memory_bytes: environment.memory_bytes,
        boot_id: environment.boot_id.clone(),
    }
}

/// The name of this machine, fit for a file's name.
pub(super) fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' }).collect()
}

fn failure(error: RunError) -> Failure {
    Failure { exit: Exit::from(error.fault()), error: Box::new(error), placed: false }
}
