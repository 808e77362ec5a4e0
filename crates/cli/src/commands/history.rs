//! `diskproof history EXPERIMENT`: which run changed the level of a figure.

use super::compare::{StoredRun, wanted};
use super::judged::unreadable;
use super::show::{find, open_existing};
use crate::args::{Choice, History};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::{output, page};
use store::{RunSummary, Store};
use verdict::{PastRun, Usual};

pub(crate) fn history(args: &History, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    // The same error as for `EXPERIMENT@last`, if there is no such experiment.
    find(&store, &format!("{}@last", args.experiment))?;
    let summaries = runs(&store, args)?;
    let stored: Vec<StoredRun> =
        summaries.iter().map(|run| StoredRun::read(&store, &run.id)).collect::<Result<_, _>>()?;
    let view = of(&summaries, &stored, &args.choice)?;
    if args.json {
        output::json(&report::history_json(&view).map_err(Failure::ours)?)?;
    } else {
        page::show(&report::history(&view), settings)?;
    }
    Ok(Exit::Fine)
}

/// The history of runs of one experiment, oldest first.
///
/// # Errors
/// None of the runs has a stack, workload or metric of the choice.
pub(crate) fn of(
    summaries: &[RunSummary],
    stored: &[StoredRun],
    choice: &Choice,
) -> Result<record::history::History, Failure> {
    let wanted = wanted(choice, &stored.iter().collect::<Vec<_>>(), Usual::Gated)?;
    let past: Vec<PastRun<'_>> = summaries
        .iter()
        .zip(stored)
        .map(|(summary, run)| PastRun {
            judged: run.judged(),
            started_unix_ms: summary.started_unix_ms,
            tags: summary.tags.clone(),
        })
        .collect();
    verdict::history(&past, &wanted).ok_or_else(|| Failure::ours("a history without a run"))
}

/// The latest runs of the experiment that measured something, oldest first.
fn runs(store: &Store, args: &History) -> Result<Vec<RunSummary>, Failure> {
    let all = store.runs().map_err(unreadable)?.into_iter();
    let mut latest: Vec<RunSummary> = all
        .filter(|run| run.experiment == args.experiment && run.trials_done > run.trials_failed)
        .take(args.last as usize)
        .collect();
    latest.reverse();
    Ok(latest)
}
