//! `diskproof compare RUN [AFTER]`: compares cells.

use super::judged;
use super::show::{find, open_existing};
use crate::args::{Choice, Compare};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::{output, page};
use record::comparison::Comparison;
use record::id::RunId;
use record::judged::{CellView, RunView};
use record::plan::Plan;
use record::printable::Shown as _;
use std::collections::BTreeSet;
use store::Store;
use verdict::{Judged, Usual, Wanted};

pub(crate) fn compare(args: &Compare, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let first = StoredRun::of(&store, &args.run)?;
    let comparison = match &args.after {
        None => {
            let mut wanted = wanted(&args.choice, &[&first], Usual::Compared)?;
            let known = verdict::factors_of(&first.judged());
            if let Some(unknown) = args.along.as_ref().filter(|factor| !known.contains(*factor)) {
                let all: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(Failure::input(format!(
                    "this run has no factor `{}`; it has {}",
                    unknown.shown(),
                    all.join(", ")
                )));
            }
            wanted.along.clone_from(&args.along);
            verdict::within(&first.judged(), &wanted)
        }
        Some(after) => {
            let after = StoredRun::of(&store, after)?;
            let wanted = wanted(&args.choice, &[&first, &after], Usual::Compared)?;
            verdict::between(&after.judged(), &first.judged(), &wanted)
        }
    };
    print(&comparison, args.json, settings)?;
    Ok(Exit::Fine)
}

/// A stored run: its plan and its judged result.
pub(crate) struct StoredRun {
    pub(crate) plan: Plan,
    pub(crate) view: RunView,
}

impl StoredRun {
    /// # Errors
    /// There is no such run, or it can't be read.
    pub(crate) fn of(store: &Store, name: &str) -> Result<Self, Failure> {
        Self::read(store, &find(store, name)?)
    }

    /// # Errors
    /// The run can't be read.
    pub(crate) fn read(store: &Store, run: &RunId) -> Result<Self, Failure> {
        let plan = store.head(run).map_err(judged::unreadable)?.plan;
        Ok(Self { plan, view: judged::view(store, run)? })
    }

    pub(crate) fn judged(&self) -> Judged<'_> {
        Judged { plan: &self.plan, view: &self.view }
    }
}

/// The metrics, stacks and workloads that the command line selects.
///
/// # Errors
/// None of the runs has a stack, workload or metric of that name.
pub(crate) fn wanted(choice: &Choice, runs: &[&StoredRun], usual: Usual) -> Result<Wanted, Failure> {
    let known = |of: fn(&CellView) -> Vec<&String>| -> BTreeSet<&String> {
        runs.iter().flat_map(|r| &r.view.cells).flat_map(of).collect()
    };
    let names = [
        ("stack", &choice.stack, known(|c| vec![&c.stack])),
        ("workload", &choice.workload, known(|c| vec![&c.workload])),
        ("metric", &choice.of, known(|c| c.metrics.keys().collect())),
    ];
    for (what, asked, known) in names {
        if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
            let all: Vec<&str> = known.into_iter().map(String::as_str).collect();
            return Err(Failure::input(format!(
                "no cell has the {what} `{unknown}`; there are: {}",
                all.join(", ")
            )));
        }
    }
    Ok(Wanted {
        metrics: choice.of.clone(),
        stacks: choice.stack.clone(),
        workloads: choice.workload.clone(),
        along: None,
        usual,
    })
}

/// Prints a comparison as text or as one JSON document.
///
/// # Errors
/// Standard output can't be written.
pub(crate) fn print(comparison: &Comparison, json: bool, settings: &Settings) -> Result<(), Failure> {
    if json {
        return output::json(&report::comparison_json(comparison).map_err(Failure::ours)?);
    }
    page::show(&report::comparison(comparison), settings)
}
