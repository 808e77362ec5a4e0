//! One session of a run: from its first trial, or from the end of an earlier session, to its result.

use super::copying::Copying;
use super::created::{Machines, Site};
use super::{judged, under};
use crate::exit::{Exit, Failure};
use crate::progress::Teller;
use crate::settings::Settings;
use crate::settings::keys::Progress;
use crate::signals::Wish;
use crate::{output, page};
use fleet::Connected;
use fleet::created::Entered;
use record::bill::MachineBill;
use record::environment::Environment;
use record::event::{Event, Stopped};
use record::id::{CellId, RunId};
use record::plan::{Plan, Raised};
use record::printable::Shown as _;
use run::controller::{How, RunError, SinkError, execute, provision};
use run::{Earlier, Wishes};
use share::copies::LeaseError;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;
use store::{Store, StoreError};

/// A session's task.
pub(crate) struct Session<'a> {
    /// The run's id.
    pub(crate) run: RunId,
    /// What it does.
    pub(crate) plan: &'a Plan,
    /// The trials that earlier sessions finished; `None` for a new run.
    pub(crate) earlier: Option<Earlier>,
    /// Run every provisioning step again, also where nothing changed.
    pub(crate) provision_anew: bool,
    /// The machines that drivers create for it; `None`: none.
    pub(crate) machines: Option<Machines>,
    /// Its copy elsewhere; `None`: it has none.
    pub(crate) copying: Option<Copying>,
    /// The settings: store, state folder, progress and so on.
    pub(crate) settings: &'a Settings,
}

/// A session that reached its end, or that a signal ended.
pub(crate) struct Ended {
    /// The store with its trials.
    pub(crate) store: Store,
    /// Why it ended.
    pub(crate) stopped: Stopped,
    /// The signal that ended it.
    pub(crate) interrupted: Option<u8>,
}

/// Runs a session and prints the result.
///
/// # Errors
/// The machine refuses, or the agent process or the store fails. Finished trials are kept.
pub(crate) fn answer(mut session: Session<'_>) -> Result<Exit, Failure> {
    for remark in under::remarks(session.plan) {
        output::aside(&format!("note: {remark}"));
    }
    let mut copying = session.copying.take();
    let Some(machines) = &session.machines else {
        let ended = measure(&session, &mut copying)?;
        return conclude(&session, &ended);
    };
    let wish = listen()?;
    let mut site = Site::open((&session.run, session.plan), machines, session.settings, &wish)?;
    let exit = measure_on(&session, &site, &wish, &mut copying).and_then(|ended| conclude(&session, &ended));
    let passed = matches!(exit, Ok(Exit::Fine));
    let is_measured = exit.as_ref().is_ok_and(|exit| !matches!(exit, Exit::Signal(_)));
    let closed = site.close(passed, is_measured);
    let bill = site.bill(machines, site.stays(passed) || closed.is_err());
    if let Some(Err(failure)) = bill.map(|bill| keep_bill(&session, bill, copying)) {
        output::aside(&format!("warning: the bill of the machines is not kept: {failure}"));
    }
    match (exit, closed) {
        (Ok(exit), Ok(())) => Ok(exit),
        (Err(failure), Err(left)) => {
            output::aside(&left.to_string());
            Err(failure)
        }
        (Err(failure), Ok(())) | (Ok(_), Err(failure)) => Err(failure),
    }
}

/// Tells what the created machines cost, and adds it to the run and its copy. A session that failed before its first trial may have no run.
fn keep_bill(session: &Session<'_>, bill: MachineBill, copying: Option<Copying>) -> Result<(), Failure> {
    if let Some(text) = report::bill(&bill) {
        output::aside(&text);
    }
    let store = Store::open(&session.settings.store.value).map_err(judged::unreadable)?;
    let mut environment = match store.head(&session.run) {
        Ok(head) => head.environment,
        Err(StoreError::NoSuchRun { .. }) => return Ok(()),
        Err(error) => return Err(judged::unreadable(error)),
    };
    bill.add_to(&mut environment.bills);
    store.set_environment(&session.run, &environment).map_err(judged::unreadable)?;
    if let Some(copying) = copying {
        copying.send_bill(&store);
    }
    Ok(())
}

fn listen() -> Result<Wish, Failure> {
    Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))
}

/// Runs a session and prints no result.
///
/// # Errors
/// As of [`answer`].
pub(crate) fn measure(session: &Session<'_>, copying: &mut Option<Copying>) -> Result<Ended, Failure> {
    let reached = fleet::connect(session.plan, &session.settings.fleet())?;
    let wish = listen()?;
    observe(session, session.plan, &reached, &wish, copying)
}

/// Runs a session on created machines.
fn measure_on(
    session: &Session<'_>,
    site: &Site<'_>,
    wish: &Wish,
    copying: &mut Option<Copying>,
) -> Result<Ended, Failure> {
    let reached = site.connect()?;
    observe(session, site.plan(), &reached, wish, copying)
}

/// Carries `plan` out, which is the session's own but for the names of created machines and disks, and keeps what it reports.
fn observe(
    session: &Session<'_>,
    plan: &Plan,
    reached: &Connected,
    wish: &Wish,
    copying: &mut Option<Copying>,
) -> Result<Ended, Failure> {
    let settings = session.settings;
    let store = Store::open(&settings.store.value).map_err(judged::unreadable)?;

    let mut keeper =
        Keeper { store: &store, session, is_ours: false, environment: None, skipped: BTreeMap::new() };
    let outcome = carry_out(session, plan, reached, wish, &mut keeper, copying);
    let is_ours = keeper.is_ours;
    let interrupted = wish.signal().and_then(|signal| u8::try_from(signal).ok());
    match outcome {
        Ok(stopped) => {
            if let Some(copying) = copying {
                copying.end(&store, &wish.cancel);
            }
            Ok(Ended { store, stopped, interrupted })
        }
        Err(error) => {
            let exit = Exit::from(error.fault());
            let error = lost_lease(error);
            let stopped = Stopped::Failed { error: record::printable::chain(&*error) };
            if is_ours {
                // If the store itself failed, this fails too, and the run stays unfinished, which is also true.
                let _ = store.finish_run(&session.run, &stopped);
                if let Some(copying) = copying {
                    copying.end(&store, &wish.cancel);
                }
            }
            let kept = store.done(&session.run).map_or(0, |done| done.len());
            if kept > 0 {
                output::aside(&format!(
                    "{kept} finished trials are kept: `diskproof show {run}`, `diskproof resume {run}`",
                    run = session.run
                ));
            }
            Err(Failure { exit, error, placed: false })
        }
    }
}

/// The error, or the reason itself if another controller goes on with the run: what was measured is kept.
fn lost_lease(error: RunError) -> SinkError {
    match error {
        RunError::Sink(reason) if reason.is::<LeaseError>() => reason,
        other => Box::new(other),
    }
}

/// Provisions entered machines, and measures nothing.
///
/// # Errors
/// A step fails, or a machine can't be reached.
pub(crate) fn converge(entered: &Entered, settings: &Settings, wish: &Wish) -> Result<(), Failure> {
    let reached = entered.connect()?;
    let (nodes, routes) = (reached.nodes.clone(), reached.routes.clone());
    let run = super::experiment::run_id();
    let how = How {
        run,
        nodes,
        routes,
        earlier: Earlier::default(),
        provision_anew: false,
        wishes: Arc::new(Wishes::default()),
        forecast_seconds: 0.0,
        live: false,
    };
    let tells = settings.progress.value != Progress::None;
    provision(&entered.plan, &how, &wish.cancel, &mut |event| {
        if let (Event::Provisioned { environment }, true) = (&event, tells) {
            output::aside(&format!("{} provisioning steps", environment.provision.len()));
        }
        Ok(())
    })
    .map_err(|error| Failure { exit: Exit::from(error.fault()), error: Box::new(error), placed: false })
}

fn carry_out(
    session: &Session<'_>,
    plan: &Plan,
    reached: &Connected,
    wish: &Wish,
    keeper: &mut Keeper<'_>,
    copying: &mut Option<Copying>,
) -> Result<Stopped, RunError> {
    let earlier = session.earlier.clone().unwrap_or_default();
    let wishes = Arc::new(Wishes::default());
    let settings = session.settings;
    let colours = settings.colored(std::io::stderr().is_terminal());
    let done = earlier.len() as u64;
    let mut teller = Teller::new(settings.progress.value, colours, session.plan, done, &wishes);
    if let Err(error) = wish.answer_with(teller.speaker()) {
        teller.speaker()(&format!("warning: diskproof can't show how it handles signals: {error}"));
    }
    let provision_anew = session.provision_anew;
    let (nodes, routes) = (reached.nodes.clone(), reached.routes.clone());
    let run = session.run.clone();
    let forecast_seconds = spec::forecast(session.plan).seconds;
    let live = teller.shows_load();
    let how = How { run, nodes, routes, earlier, provision_anew, wishes, forecast_seconds, live };
    let stopped = execute(plan, &how, &wish.cancel, &mut |event| {
        keeper.keep(&event)?;
        let mut tell =
            |event: &Event| teller.tell(event).map_err(|failure| SinkError::from(failure.to_string()));
        tell(&event)?;
        let Some(copying) = &mut *copying else { return Ok(()) };
        let warnings = copying.after(&event, keeper.store, &wish.cancel)?;
        warnings.into_iter().try_for_each(|text| tell(&Event::Warning { text }))
    });
    teller.end();
    stopped
}

/// The environment with the ceiling from the user's state folder. The agent process reads only its own state folder; under sudo that is
/// root's, and not the one to which the user's `doctor` wrote.
pub(super) fn with_ceiling(environment: &Environment, settings: &Settings) -> Environment {
    let mut environment = environment.clone();
    if environment.native_ceiling.is_none() {
        environment.native_ceiling = engine::native::ceiling::current(&settings.state.value, &environment);
    }
    environment
}

/// Stores what events report, before any other consumer receives them.
struct Keeper<'a> {
    store: &'a Store,
    session: &'a Session<'a>,
    /// Whether this process may write to the run. A resumed run may still be running in another process;
    /// the agent process finds that out when it opens the volumes.
    is_ours: bool,
    /// The machine's environment, until it is known whether the run is ours.
    environment: Option<Box<Environment>>,
    /// The cells that the user skipped in this session, and in which round.
    skipped: BTreeMap<CellId, u32>,
}

impl Keeper<'_> {
    fn with_ceiling(&self, environment: &Environment) -> Environment {
        with_ceiling(environment, self.session.settings)
    }

    /// Adds this session's provisioning steps to the record. A process that ran a step has the machine to itself; if all steps were
    /// skipped, another process may be working on this run.
    fn provisioned(&mut self, environment: &Environment) -> Result<(), SinkError> {
        let (store, run) = (self.store, &self.session.run);
        let mut now = self.with_ceiling(environment);
        let carried_out = |machine: &Environment| machine.provision.iter().any(|step| !step.skipped);
        let ours = self.is_ours || carried_out(&now) || now.elsewhere.values().any(carried_out);
        if self.session.earlier.is_some() {
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
        let (store, run) = (self.store, &self.session.run);
        match event {
            Event::NodeReady { environment } if self.session.earlier.is_none() => {
                store.create_run(run, self.session.plan, &self.with_ceiling(environment))?;
                self.is_ours = true;
            }
            Event::NodeReady { environment } => {
                let mut now = self.with_ceiling(environment);
                now.bills = store.head(run)?.environment.bills;
                self.environment = Some(Box::new(now));
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
            Event::CellSkipped { cell, round } => {
                self.skipped.insert(cell.clone(), *round);
                let mut changed = Raised::of(self.session.plan);
                changed.skipped.extend(self.skipped.clone());
                store.raise_budgets(run, &changed)?;
            }
            Event::RunFinished { stopped } if self.is_ours => store.finish_run(run, stopped)?,
            _ => {}
        }
        Ok(())
    }
}

/// Prints the result and how the session ended.
fn conclude(session: &Session<'_>, ended: &Ended) -> Result<Exit, Failure> {
    let run = &session.run;
    let view = judged::view(&ended.store, run)?;
    if session.settings.progress.value != Progress::Json {
        if view.cells.iter().any(|cell| cell.trials.done + cell.trials.failed > 0) {
            page::show(&report::result(&view), session.settings)?;
        }
        output::aside(&format!(
            "\nkept in {}; to see it again: diskproof show {run}; for programs: diskproof export {run} --json",
            session.settings.store.value.shown(),
            run = run.0.shown()
        ));
    }
    if let Some(exit) = ended.by_signal(run) {
        return Ok(exit);
    }
    judged::exit_of(&view)
}

impl Ended {
    /// The exit code of an interrupted session; prints how to go on.
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
