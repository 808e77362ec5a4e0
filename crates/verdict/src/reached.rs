//! Whether the intervals are as narrow as requested, and which are not.

use crate::answer::words::list;
use crate::choose::NoChoice;
use crate::figures::{counted, percent};
use crate::input::Input;
use crate::sequential::{allowances, question, rounds_made, spent, without_pilots};
use crate::span::number;
use record::choice::{Choice, ChoiceAnswer, ChoiceOutcome, Does};
use record::event::Stopped;
use record::id::CellId;
use record::judged::Reached;
use record::plan::{Goal, Plan};
use record::quantity::{Bytes, Seconds};
use record::trial::{Outcome, TrialRecord};
use stats::{Contender, Decision, Matter, Settled, Survey, Terms};
use std::collections::{BTreeMap, BTreeSet};

/// The result; `None` if no width was requested. `by_cell`: all trials, in order of rounds.
pub(crate) fn of(input: &Input<'_>, by_cell: &BTreeMap<&CellId, Vec<&TrialRecord>>) -> Option<Reached> {
    let plan = input.plan;
    let goal = plan.measure.until.as_ref()?.goal;
    let made = rounds_made(input.trials);
    let survey = survey(input, by_cell, made)?;
    let asked = survey.matters.len();
    let open: Vec<&Matter> = survey.matters.iter().filter(|m| !m.is_settled()).collect();
    let cells: BTreeSet<usize> = open.iter().flat_map(|m| [Some(m.a), m.b]).flatten().collect();
    let more: Option<Vec<u32>> = open.iter().map(|m| m.more_rounds()).collect();
    let more_rounds = more.and_then(|more| more.into_iter().max());
    let round_seconds: f64 = cells.iter().map(|&place| trial_seconds(plan, place, by_cell)).sum();
    let more_seconds = more_rounds.map(|rounds| f64::from(rounds) * round_seconds);
    let nothing = asked == 0 && matches!(goal, Goal::Interval(_));
    let all = open.is_empty() && !nothing;
    let text = if nothing {
        "no trial has the figure that was asked for".to_owned()
    } else if all {
        format!("{} after {}", reached(goal, &survey.matters), counted(u64::from(made), "round"))
    } else {
        let more = more_rounds.map_or_else(
            || "it is not known yet how many more rounds are needed".to_owned(),
            |n| {
                let seconds = Seconds(f64::from(n) * round_seconds);
                format!("about {} ({seconds}) would be enough", counted(u64::from(n), "more round"))
            },
        );
        let lacking = lacking(goal, open.len(), asked);
        format!("{}: {lacking}; {more}", ended(plan, input.stopped, made))
    };
    let open = cells.iter().filter_map(|&place| Some(plan.cells.get(place)?.id.clone())).collect();
    Some(Reached { all, more_rounds, more_seconds, open, text })
}

/// The result of a run that looked for the cheapest cell that keeps limits: its answers, and why it ended without one.
pub(crate) fn of_cheapest(input: &Input<'_>, choice: &Choice) -> Reached {
    let made = rounds_made(input.trials);
    let is_open =
        |answer: &&ChoiceAnswer| matches!(answer.outcome, ChoiceOutcome::Open | ChoiceOutcome::ChosenSoFar);
    let undecided: Vec<&ChoiceAnswer> = choice.answers.iter().filter(is_open).collect();
    let all = undecided.is_empty() && !choice.answers.is_empty();
    let trials = input.trials.iter().filter(|trial| !trial.cut_off).count();
    let full = input.plan.cells.len() * made as usize;
    let after = counted(u64::from(made), "round");
    let text = if all {
        format!(
            "the answer took {after} with {} of the {full} trials of all cells in all rounds",
            counted(trials as u64, "trial")
        )
    } else {
        let names: Vec<String> = undecided.iter().map(|answer| answer.workload.clone()).collect();
        let ended = ended(input.plan, input.stopped, made);
        match names.is_empty() {
            true => format!("{ended}: no cell with a price has the wanted figures"),
            false => format!("{ended}: undecided for {}", list(&names)),
        }
    };
    let candidates = undecided.iter().flat_map(|answer| &answer.candidates);
    let open = candidates.filter(|one| one.does == Does::Open).map(|one| one.cell.id.clone()).collect();
    Reached { all, more_rounds: None, more_seconds: None, open, text }
}

/// The result of a run that looked for the cheapest cell, where no cell can be the answer.
pub(crate) fn without_answer(input: &Input<'_>, why: &NoChoice) -> Reached {
    let text = format!("{}: {why}", ended(input.plan, input.stopped, rounds_made(input.trials)));
    Reached { all: false, more_rounds: None, more_seconds: None, open: Vec::new(), text }
}

/// The stop rule's last decision, with all stored trials.
fn survey(input: &Input<'_>, by_cell: &BTreeMap<&CellId, Vec<&TrialRecord>>, made: u32) -> Option<Survey> {
    let plan = input.plan;
    let figures: Vec<Vec<Option<f64>>> = plan
        .cells
        .iter()
        .map(|cell| {
            let mut rounds = vec![None; made as usize];
            let trials = by_cell.get(&cell.id).cloned().unwrap_or_default();
            for trial in without_pilots(plan, trials) {
                let measured = trial.engine.is_some() && trial.outcome == Outcome::Measured;
                if let (true, Some(place)) =
                    (measured && cell.find().is_none(), rounds.get_mut(trial.id.round as usize))
                {
                    *place = plan.figure(cell, trial);
                }
            }
            rounds
        })
        .collect();
    let groups = plan.groups().into_iter().zip(plan.families());
    let contenders: Vec<Contender<'_>> = groups
        .zip(&figures)
        .map(|((group, family), rounds)| Contender { group, family, rounds, alive: true })
        .collect();
    let terms = Terms { confidence: plan.measure.confidence, trim: plan.measure.trim };
    let look = question(plan)?.survey(terms, &contenders, &allowances(spent(input.stopped)));
    // A measured cell without such a figure doesn't count.
    let decides = |place: usize| {
        let has_figure = figures[place].iter().any(Option::is_some);
        let trials = plan.cells.get(place).and_then(|cell| by_cell.get(&cell.id));
        let is_search = plan.cells.get(place).is_some_and(|cell| cell.find().is_some());
        !is_search
            && (has_figure
                || !trials.is_some_and(|trials| trials.iter().any(|t| t.outcome == Outcome::Measured)))
    };
    let matters = |survey: Survey| {
        let asked = survey.matters.into_iter().filter(|m| decides(m.a) && m.b.is_none_or(decides));
        Survey { matters: asked.collect(), ..survey }
    };
    look.map(matters)
}

/// The mean duration of a cell's trials with all their steps, in seconds.
fn trial_seconds(plan: &Plan, place: usize, by_cell: &BTreeMap<&CellId, Vec<&TrialRecord>>) -> f64 {
    let trials = plan.cells.get(place).and_then(|cell| by_cell.get(&cell.id));
    let Some(trials) = trials.filter(|trials| !trials.is_empty()) else { return 0.0 };
    let all: f64 = trials.iter().flat_map(|t| &t.steps).map(|step| step.seconds).sum();
    all / f64::from(number(trials.len()))
}

/// `all 9 cells are within ±5 %`.
fn reached(goal: Goal, matters: &[Matter]) -> String {
    let all = |noun: &str, rest: String| match matters.len() {
        0 => format!("there are no two cells to compare, so there are no {noun}s"),
        1 => format!("the one {noun} is {rest}"),
        n => format!("all {n} {noun}s are {rest}"),
    };
    match goal {
        Goal::Interval(x) => all("cell", format!("known to ±{} or better", percent(x))),
        Goal::Ratios(x) => all("ratio", format!("known to ±{} or better", percent(x))),
        // Told by the answer to it ([`of_cheapest`]).
        Goal::Cheapest => String::new(),
        Goal::Told(x) => {
            let equal = format!("shown to be within {} of each other", percent(x));
            let apart = matters.iter().filter(|m| is_different(m)).count();
            match matters.len() - apart {
                0 => all("pair", "told apart".to_owned()),
                _ if apart == 0 => all("pair", equal),
                rest => {
                    let are = |n: usize| if n == 1 { "is" } else { "are" };
                    let n = matters.len();
                    format!(
                        "{apart} of {n} pairs {} told apart, and {rest} {} {equal}",
                        are(apart),
                        are(rest)
                    )
                }
            }
        }
    }
}

fn is_different(matter: &Matter) -> bool {
    matter.look.is_some_and(|look| look.decision == Decision::Enough(Settled::Different))
}

/// `2 of 9 cells are wider than ±5 %`.
fn lacking(goal: Goal, open: usize, asked: usize) -> String {
    let are = if open == 1 { "is" } else { "are" };
    match goal {
        Goal::Cheapest => String::new(),
        Goal::Interval(x) => format!("{open} of {asked} cells {are} not known to ±{} yet", percent(x)),
        Goal::Ratios(x) => format!("{open} of {asked} ratios {are} not known to ±{} yet", percent(x)),
        Goal::Told(x) => {
            format!("{open} of {asked} pairs {are} neither told apart nor shown to be within {}", percent(x))
        }
    }
}

/// `the budget of 12 rounds was spent`.
fn ended(plan: &Plan, stopped: &Stopped, made: u32) -> String {
    let measure = &plan.measure;
    let after = counted(u64::from(made), "round");
    let budget = |of: Option<String>| match of {
        Some(of) => format!("the budget of {of} was spent in {after}"),
        None => format!("a budget was spent in {after}"),
    };
    match stopped {
        Stopped::RoundsDone { rounds } => {
            format!("the budget of {} was spent", counted(u64::from(*rounds), "round"))
        }
        Stopped::TimeSpent => budget(measure.max_seconds.map(|s| Seconds(s).to_string())),
        Stopped::WrittenSpent => budget(measure.max_written_bytes.map(|b| format!("{} written", Bytes(b)))),
        Stopped::CostSpent => {
            let currency = plan.prices.currency.as_deref().map(|c| format!(" {c}")).unwrap_or_default();
            budget(measure.max_cost.map(|cost| format!("{cost}{currency}")))
        }
        Stopped::Enough { .. } => format!("after {after} nothing more could be measured"),
        Stopped::Requested { .. } => format!("ended on request after {after}"),
        Stopped::Interrupted => format!("interrupted in {after}"),
        Stopped::Failed { .. } => format!("it failed in {after}"),
        Stopped::Imported { files } => format!("imported from {}", counted(*files, "file")),
        Stopped::Queued { .. } => format!("its blocks are in a queue; {after} so far"),
        Stopped::Unfinished => format!("not finished; {after} so far"),
    }
}

#[cfg(test)]
mod tests;
