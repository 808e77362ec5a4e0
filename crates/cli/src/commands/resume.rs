//! `diskproof resume [RUN]`: runs the missing trials of a run; budgets may be raised.

use super::copying::{self, Copying, chosen};
use super::created;
use super::judged::{self, unreadable};
use super::session::{Session, answer};
use super::share::failure;
use crate::args::Resume;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::event::Stopped;
use record::id::RunId;
use record::plan::{Measure, Plan, Raised};
use record::printable::{Shown as _, indented};
use run::Earlier;
use share::copies::CopyAddress;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{RunSummary, Store};

pub(crate) fn resume(args: &Resume, settings: &Settings) -> Result<Exit, Failure> {
    let (store, run, copying) = found(args, settings)?;
    let head = store.head(&run).map_err(unreadable)?;
    if let Stopped::Imported { .. } = head.stopped {
        return Err(Failure::input(format!(
            "run {run} was imported: diskproof didn't run it and can't go on with it; `diskproof run` measures the same job anew"
        )));
    }
    if let Some(origin) = store.origin(&run).map_err(unreadable)? {
        // Its plan may hold anybody's commands.
        return Err(Failure::input(format!(
            "run {run} was pulled from {}: its plan is somebody else's, so diskproof doesn't go on with it; `diskproof run` measures your own \
             experiment",
            origin.from.shown()
        )));
    }
    let mut plan = head.plan;
    let copying = match (copying, chosen(&mut plan, settings)?) {
        (None, Some(address)) => {
            let mut copying = Copying::of_resumed_run(&address, &run, &store, settings, args.take_over)?;
            let copy_to = plan.copy_to.take();
            plan = Plan { copy_to, ..store.head(&run).map_err(unreadable)?.plan };
            copying.set_lease(&plan);
            Some(copying)
        }
        (copying, _) => copying,
    };
    if raise(args, &mut plan)? {
        store.raise_budgets(&run, &Raised::of(&plan)).map_err(unreadable)?;
    }
    let mut earlier = Earlier::default();
    store.trials(&run, |trial| earlier.add(&plan, &trial)).map_err(unreadable)?;
    if let Some(stopped) = run::ended(&plan, &earlier) {
        output::aside(&indented(&complete(&store, &run, &plan, &stopped)?));
        if let Some(mut copying) = copying {
            copying.end(&store, &AtomicBool::new(false));
        }
        return Ok(Exit::Fine);
    }
    drop(store);
    let planned = plan.cells.len() * plan.measure.rounds as usize;
    let most = if plan.measure.until.is_some() { "at most " } else { "" };
    output::aside(&format!("run {run}: {} of {most}{planned} trials are there", earlier.len()));
    let machines = created::again(&plan, &run, earlier.seconds(&plan), settings)?;
    answer(Session {
        run,
        plan: &plan,
        earlier: Some(earlier),
        provision_anew: args.provision,
        machines,
        copying,
        settings,
    })
}

/// Returns the run that the command line means, and its store. With `--from`, it is fetched first, and this controller has its lease.
fn found(args: &Resume, settings: &Settings) -> Result<(Store, RunId, Option<Copying>), Failure> {
    let Some(from) = &args.from else {
        let store = super::show::open_existing(settings)?;
        let run = match &args.run {
            Some(name) => super::show::find(&store, name)?,
            None => latest_incomplete(&store)?,
        };
        return Ok((store, run, None));
    };
    let address = CopyAddress::parse(from).map_err(failure)?;
    let objects = address.open(settings.allows_plain_http(), &Arc::default()).map_err(failure)?;
    let run = copying::find(&*objects, &address, args.run.as_deref(), is_over)?;
    let store = Store::open(&settings.store.value).map_err(unreadable)?;
    let mut copying = Copying::of_resumed_run(&address, &run, &store, settings, args.take_over)?;
    copying.set_lease(&store.head(&run).map_err(unreadable)?.plan);
    Ok((store, run, Some(copying)))
}

/// Puts the budgets of the command line into the plan. Returns whether there are any.
fn raise(args: &Resume, plan: &mut Plan) -> Result<bool, Failure> {
    let typed = Raised {
        rounds: args.rounds,
        max_seconds: args.time,
        max_written_bytes: args.written,
        max_cost: args.money.or(args.cost),
        ..Raised::default()
    };
    if args.cost.is_some() {
        output::aside("warning: --cost is --money today; diskproof 1.0.0 refuses the old name");
    }
    if typed == Raised::default() {
        return Ok(false);
    }
    let measure = &plan.measure;
    if typed.rounds.is_some() && measure.until.is_none() {
        return Err(Failure::input(
            "this run has a fixed number of rounds, and its intervals hold for that number only: rounds that are added because of \
             what was seen make them too narrow; use `measure: { until: ... }` in a new run",
        ));
    }
    let before = measure.clone();
    typed.apply(plan);
    if let Some(name) = lowered(&before, &plan.measure) {
        return Err(Failure::input(format!("--{name} must be more than the run's budget so far")));
    }
    Ok(true)
}

/// The first budget that is lower than before.
fn lowered(before: &Measure, now: &Measure) -> Option<&'static str> {
    let less = |before: Option<f64>, now: Option<f64>| match (before, now) {
        (_, Some(now)) if !(now.is_finite() && now > 0.0) => true,
        (Some(before), Some(now)) => now < before,
        _ => false,
    };
    [
        ("rounds", now.rounds < before.rounds),
        ("time", less(before.max_seconds, now.max_seconds)),
        ("written", now.max_written_bytes < before.max_written_bytes),
        ("money", less(before.max_cost, now.max_cost)),
    ]
    .into_iter()
    .find_map(|(name, is_less)| is_less.then_some(name))
}

/// Says why there is nothing to do, and how to go on.
fn complete(store: &Store, run: &RunId, plan: &Plan, stopped: &Stopped) -> Result<String, Failure> {
    let option = match stopped {
        Stopped::RoundsDone { .. } if plan.measure.until.is_some() => "rounds N",
        Stopped::TimeSpent => "time TIME",
        Stopped::WrittenSpent => "written SIZE",
        Stopped::CostSpent => "money N",
        _ => "",
    };
    let reached = judged::view(store, run)?.reached;
    let open = reached.as_ref().is_none_or(|reached| !reached.all);
    let what = reached.map_or_else(|| "its budget allows no more".to_owned(), |r| r.text);
    Ok(if open && !option.is_empty() {
        format!(
            "run {run} has ended: {what}. With a larger budget it goes on: diskproof resume {run} --{option}"
        )
    } else if reached_fixed(plan, stopped) {
        let trials = plan.cells.len() * plan.measure.rounds as usize;
        format!("run {run} is complete: {trials} of {trials} trials; `diskproof show {run}` shows it")
    } else {
        format!("run {run} is complete: {what}; `diskproof show {run}` shows it")
    })
}

/// Whether a run has made all of its fixed number of rounds.
fn reached_fixed(plan: &Plan, stopped: &Stopped) -> bool {
    plan.measure.until.is_none() && matches!(stopped, Stopped::RoundsDone { .. })
}

/// Whether a run reached its end.
fn is_over(stopped: &Stopped) -> bool {
    match stopped {
        Stopped::RoundsDone { .. }
        | Stopped::Enough { .. }
        | Stopped::TimeSpent
        | Stopped::WrittenSpent
        | Stopped::CostSpent
        | Stopped::Imported { .. }
        // It goes on elsewhere.
        | Stopped::Queued { .. } => true,
        Stopped::Requested { .. } | Stopped::Interrupted | Stopped::Failed { .. } | Stopped::Unfinished => {
            false
        }
    }
}

/// The latest run that has trials to do and didn't reach its end.
fn latest_incomplete(store: &Store) -> Result<RunId, Failure> {
    let runs = store.runs().map_err(unreadable)?;
    let is_ours = |run: &RunSummary| store.origin(&run.id).is_ok_and(|origin| origin.is_none());
    let missing = runs
        .into_iter()
        .filter(|run| run.trials_done < run.trials_planned && !is_over(&run.stopped))
        .filter(is_ours);
    missing.max_by(|a, b| a.id.cmp(&b.id)).map(|run| run.id).ok_or_else(|| {
        Failure::input("no run is incomplete; `diskproof list` shows all, and `diskproof resume RUN` says what one lacks")
    })
}
