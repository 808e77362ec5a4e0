//! One sitting of a run: from its first trial, or from where an earlier sitting ended, to its answer.

use super::{judged, under};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Teller;
use crate::settings::Settings;
use crate::settings::keys::Progress;
use crate::signals::Wish;
use fleet::Connected;
use record::environment::Environment;
use record::event::{Event, Stopped};
use record::id::RunId;
use record::plan::Plan;
use record::printable::Shown as _;
use run::Earlier;
use run::controller::{How, RunError, SinkError, execute};
use store::Store;

/// What a sitting is to do.
pub(crate) struct Sitting<'a> {
    /// The run's id.
    pub(crate) run: RunId,
    /// What it does.
    pub(crate) plan: &'a Plan,
    /// Trials that earlier sittings finished; `None` when the run is new.
    pub(crate) earlier: Option<Earlier>,
    /// Provision the targets also where nothing changed since.
    pub(crate) provision_anew: bool,
    /// Store, state, progress.
    pub(crate) settings: &'a Settings,
}

/// A sitting that came to its end, or was ended by a signal.
pub(crate) struct Ended {
    /// Where its trials are.
    pub(crate) store: Store,
    /// Why it ended.
    pub(crate) stopped: Stopped,
    /// The signal that ended it.
    pub(crate) interrupted: Option<u8>,
}

/// Carries a sitting out and answers the question.
///
/// # Errors
/// The machine refuses, the node or the store fails. What was measured before is kept.
pub(crate) fn sit(sitting: Sitting<'_>) -> Result<Exit, Failure> {
    for remark in under::remarks(sitting.plan) {
        output::aside(&format!("note: {remark}"));
    }
    let ended = measure(&sitting)?;
    conclude(&sitting, &ended)
}

/// Carries a sitting out, and leaves the answer to the caller.
///
/// # Errors
/// As of [`sit`].
pub(crate) fn measure(sitting: &Sitting<'_>) -> Result<Ended, Failure> {
    let settings = sitting.settings;
    let reached = fleet::connect(sitting.plan, &settings.fleet())?;
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let store = Store::open(&settings.store.value).map_err(judged::unreadable)?;

    let mut keeper = Keeper { store: &store, sitting, is_ours: false, environment: None };
    let outcome = carry_out(sitting, &reached, &wish, &mut keeper);
    let is_ours = keeper.is_ours;
    let interrupted = wish.signal().and_then(|signal| u8::try_from(signal).ok());
    match outcome {
        Ok(stopped) => Ok(Ended { store, stopped, interrupted }),
        Err(error) => {
            let exit = Exit::from(error.fault());
            let stopped = Stopped::Failed { error: record::printable::chain(&error) };
            if is_ours {
                // The store itself may be what failed; then the run stays unfinished, which is true as well.
                let _ = store.finish_run(&sitting.run, &stopped);
            }
            let kept = store.done(&sitting.run).map_or(0, |done| done.len());
            if kept > 0 {
                output::aside(&format!(
                    "{kept} finished trials are kept: `diskproof show {run}`, `diskproof resume {run}`",
                    run = sitting.run
                ));
            }
            Err(Failure { exit, error: Box::new(error), placed: false })
        }
    }
}

fn carry_out(
    sitting: &Sitting<'_>,
    reached: &Connected,
    wish: &Wish,
    keeper: &mut Keeper<'_>,
) -> Result<Stopped, RunError> {
    let earlier = sitting.earlier.clone().unwrap_or_default();
    let mut teller = Teller::new(sitting.settings.progress.value, sitting.plan, earlier.len() as u64);
    if let Err(error) = wish.answer_with(teller.speaker()) {
        teller.speaker()(&format!("warning: signals will not be answered in words: {error}"));
    }
    let provision_anew = sitting.provision_anew;
    let (nodes, routes) = (reached.nodes.clone(), reached.routes.clone());
    let how = How { run: sitting.run.clone(), nodes, routes, earlier, provision_anew };
    let stopped = execute(sitting.plan, &how, &wish.cancel, &mut |event| {
        keeper.keep(&event)?;
        teller.tell(&event).map_err(|failure| SinkError::from(failure.to_string()))
    });
    teller.end();
    stopped
}

/// Stores what events bring, before anybody else hears of them.
struct Keeper<'a> {
    store: &'a Store,
    sitting: &'a Sitting<'a>,
    /// Whether the run is this process's to write about. A run that is resumed may still be under way in another process;
    /// the node finds out when it opens the volumes.
    is_ours: bool,
    /// The machine, until it is known whether the run is ours.
    environment: Option<Box<Environment>>,
}

impl Keeper<'_> {
    /// The node looks in its own state folder; as root by sudo, that isn't the one in which the user's `doctor` kept it.
    fn with_ceiling(&self, environment: &Environment) -> Environment {
        let mut environment = environment.clone();
        if environment.native_ceiling.is_none() {
            let state = &self.sitting.settings.state.value;
            environment.native_ceiling = engine::native::ceiling::current(state, &environment);
        }
        environment
    }

    /// What was done by earlier sittings stays in the record. Whoever carried a step out has the machine to himself; where all were
    /// skipped, another process may be at this run.
    fn provisioned(&mut self, environment: &Environment) -> Result<(), SinkError> {
        let (store, run) = (self.store, &self.sitting.run);
        let mut now = self.with_ceiling(environment);
        let carried_out = |machine: &Environment| machine.provision.iter().any(|step| !step.skipped);
        let ours = self.is_ours || carried_out(&now) || now.elsewhere.values().any(carried_out);
        if self.sitting.earlier.is_some() {
            now.after(&store.head(run)?.environment);
        }
        if ours {
            store.set_environment(run, &now)?;
            self.is_ours = true;
            self.environment = None;
        } else {
            self.environment = Some(Box::new(now));
        }
        Ok(())
    }

    fn keep(&mut self, event: &Event) -> Result<(), SinkError> {
        let (store, run) = (self.store, &self.sitting.run);
        match event {
            Event::NodeReady { environment } if self.sitting.earlier.is_none() => {
                store.create_run(run, self.sitting.plan, &self.with_ceiling(environment))?;
                self.is_ours = true;
            }
            Event::NodeReady { environment } => {
                self.environment = Some(Box::new(self.with_ceiling(environment)));
            }
            Event::Provisioned { environment } => self.provisioned(environment)?,
            Event::VolumesReady { volumes } => {
                self.is_ours = true;
                if let Some(environment) = self.environment.take() {
                    store.set_environment(run, &environment)?;
                }
                store.set_volumes(run, volumes)?;
            }
            Event::TrialFinished { record } => store.append_trial(run, record)?,
            Event::RunFinished { stopped } if self.is_ours => store.finish_run(run, stopped)?,
            _ => {}
        }
        Ok(())
    }
}

/// Shows the answer and how the sitting ended.
fn conclude(sitting: &Sitting<'_>, ended: &Ended) -> Result<Exit, Failure> {
    let run = &sitting.run;
    let view = judged::view(&ended.store, run)?;
    if sitting.settings.progress.value != Progress::Json {
        if view.cells.iter().any(|cell| cell.trials.done + cell.trials.failed > 0) {
            output::painted(&judged::terminal(&view, sitting.settings)?)?;
        }
        output::aside(&format!(
            "\nkept in {}; again: diskproof show {run}; for programs: diskproof export {run} --json",
            sitting.settings.store.value.shown(),
            run = run.0.shown()
        ));
    }
    if let Some(exit) = ended.by_signal(run) {
        return Ok(exit);
    }
    judged::exit_of(&view)
}

impl Ended {
    /// The exit of a sitting that was interrupted; says how to go on.
    pub(crate) fn by_signal(&self, run: &RunId) -> Option<Exit> {
        if self.stopped != Stopped::Interrupted {
            return None;
        }
        output::aside(&format!(
            "interrupted; all that was built is undone. Go on with: diskproof resume {run}"
        ));
        Some(Exit::Signal(self.interrupted.unwrap_or(2)))
    }
}
