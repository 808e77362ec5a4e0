//! A run as its pages need it: the judged run, the text of its experiment file, and its trials, of some cells or of all.

use crate::commands::judged::{self, unreadable};
use crate::exit::Failure;
use ::page::{MOST_PAIRED, Pairs, Reading, RunPage, TrialPart, Trials};
use record::id::{CellId, RunId};
use record::judged::RunView;
use record::plan::Plan;
use record::trial::TrialRecord;
use store::Store;

/// A run without its trials.
pub(super) struct Read {
    pub(super) view: RunView,
    source: String,
    pairs: Vec<Pairs>,
}

impl Read {
    /// # Errors
    /// The run can't be read.
    pub(super) fn of(store: &Store, run: &RunId) -> Result<Self, Failure> {
        let view = judged::view(store, run)?;
        let plan = store.head(run).map_err(unreadable)?.plan;
        let pairs = pairs(&plan, &view);
        Ok(Self { view, source: plan.source, pairs })
    }

    /// All trials.
    ///
    /// # Errors
    /// A trial can't be read.
    pub(super) fn trials(&self, store: &Store) -> Result<Trials, Failure> {
        let mut trials = Trials::default();
        store.reduced(&self.view.run, part, |part| trials.add(part)).map_err(unreadable)?;
        Ok(trials)
    }

    /// The trials of some cells.
    ///
    /// # Errors
    /// A trial can't be read.
    pub(super) fn trials_of(&self, store: &Store, cells: &[CellId]) -> Result<Trials, Failure> {
        let mut trials = Trials::default();
        store.reduced_cells(&self.view.run, cells, part, |part| trials.add(part)).map_err(unreadable)?;
        Ok(trials)
    }

    pub(super) fn page<'a>(&'a self, document: &'a report::Document, trials: &'a Trials) -> RunPage<'a> {
        RunPage { view: &self.view, document, trials, source: &self.source, pairs: &self.pairs }
    }
}

/// All comparisons behind the answers about few cells.
fn pairs(plan: &Plan, view: &RunView) -> Vec<Pairs> {
    let few = view.answers.iter().filter(|answer| answer.comparisons.len() < MOST_PAIRED);
    let all = few.map(|answer| Pairs {
        workload: answer.workload.clone(),
        metric: answer.metric.clone(),
        comparisons: verdict::pairs(plan, view, answer),
    });
    all.filter(|pairs| !pairs.comparisons.is_empty()).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "the store hands over what it has read")]
fn part(trial: TrialRecord, readings: Vec<Reading>) -> TrialPart {
    TrialPart::of(&trial, &readings)
}
