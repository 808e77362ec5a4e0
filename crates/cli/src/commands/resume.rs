//! `diskproof resume [RUN]`: only the missing trials are done.

use super::judged::unreadable;
use super::sitting::{Sitting, sit};
use crate::args::Resume;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::event::Stopped;
use record::id::RunId;
use store::Store;

pub(crate) fn resume(args: &Resume, settings: &Settings) -> Result<Exit, Failure> {
    let store = super::show::open_existing(settings)?;
    let run = match &args.run {
        Some(name) => super::show::find(&store, name)?,
        None => latest_incomplete(&store)?,
    };
    let plan = store.head(&run).map_err(unreadable)?.plan;
    let done = store.done(&run).map_err(unreadable)?;
    drop(store);
    let planned = plan.cells.len() * plan.measure.rounds as usize;
    if done.len() >= planned {
        output::aside(&format!(
            "run {run} is complete: {planned} of {planned} trials; `diskproof show {run}` shows it"
        ));
        return Ok(Exit::Fine);
    }
    output::aside(&format!("run {run}: {} of {planned} trials are there", done.len()));
    sit(Sitting { run, plan: &plan, done: Some(done), settings })
}

/// The latest run that has trials to do and wasn't ended for good.
fn latest_incomplete(store: &Store) -> Result<RunId, Failure> {
    let runs = store.runs().map_err(unreadable)?;
    let missing = runs.into_iter().filter(|run| {
        run.trials_done < run.trials_planned && !matches!(run.stopped, Stopped::RoundsDone { .. })
    });
    missing
        .max_by(|a, b| a.id.cmp(&b.id))
        .map(|run| run.id)
        .ok_or_else(|| Failure::input("no run is incomplete; `diskproof list` shows all"))
}
