//! `diskproof choose --want LIMITS [RUN...]`: the cheapest measured cell that keeps the limits.

use super::compare::StoredRun;
use super::show::open_existing;
use crate::args::{By, Choose};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::{output, page};
use record::choice::{Choice, ChoiceOutcome};
use std::collections::BTreeSet;
use verdict::Judged;

pub(crate) fn choose(args: &Choose, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let mut stored: Vec<StoredRun> = Vec::new();
    for name in &args.run {
        let run = StoredRun::of(&store, name)?;
        if stored.iter().all(|known| known.view.run != run.view.run) {
            stored.push(run);
        }
    }
    check_workloads(&args.workload, &stored)?;
    let runs: Vec<Judged<'_>> = stored.iter().map(StoredRun::judged).collect();
    let choice = match args.by {
        By::Price => verdict::choose(&runs, &args.want.0, &args.workload).map_err(Failure::input)?,
    };
    if args.json {
        output::json(&report::choice_json(&choice).map_err(Failure::ours)?)?;
    } else {
        page::show(&report::choice(&choice), settings)?;
    }
    Ok(exit_of(&choice))
}

fn check_workloads(asked: &[String], stored: &[StoredRun]) -> Result<(), Failure> {
    let known: BTreeSet<&String> =
        stored.iter().flat_map(|run| &run.view.cells).map(|cell| &cell.workload).collect();
    match asked.iter().find(|name| !known.contains(name)) {
        Some(unknown) => {
            let all: Vec<&str> = known.into_iter().map(String::as_str).collect();
            Err(Failure::input(format!(
                "no cell has the workload `{unknown}`; there are: {}",
                all.join(", ")
            )))
        }
        None => Ok(()),
    }
}

/// Undecided, if one answer is; not met, if no stack does for one workload.
fn exit_of(choice: &Choice) -> Exit {
    let any = |outcomes: [ChoiceOutcome; 2]| choice.answers.iter().any(|one| outcomes.contains(&one.outcome));
    if any([ChoiceOutcome::Open, ChoiceOutcome::ChosenSoFar]) || choice.answers.is_empty() {
        Exit::Undecided
    } else if any([ChoiceOutcome::NoneDoes; 2]) {
        Exit::NotMet
    } else {
        Exit::Fine
    }
}
