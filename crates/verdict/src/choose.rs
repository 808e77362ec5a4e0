//! The cheapest measured cell that does what is wanted. The rules are in docs/statistics.md.

use crate::answer;
use crate::answer::words::list;
use crate::compare::judged::{Judged, name};
use crate::figures::{percent, with_unit};
use crate::money::per_month;
use crate::pairing::{Level, most_trials};
use crate::sequential::sought;
use record::choice::{
    CHOICE_FORMAT, Candidate, CandidateFigure, Choice, ChoiceAnswer, ChoiceLeftOut, ChoiceOutcome, Does, Want,
};
use record::comparison::ComparedRun;
use record::id::CellId;
use record::judged::{CellView, RunView};
use record::plan::Bound;
use record::quantity::money;
use stats::{Cheapest, Estimate, Keeps, Limited, cheapest, keeps_all, limit_interval, share_of_error};

/// Why there is no answer at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoChoice {
    /// No cell of the runs has a price.
    #[error(
        "no cell of these runs has a price; say what each volume costs: `volumes: {{ vol: {{ price: 8/month }} }}`, and run again"
    )]
    NoPrices,
    /// The runs have prices in several currencies.
    #[error("the runs have prices in {0} and in {1}, and diskproof doesn't convert currencies")]
    Currencies(String, String),
    /// No cell with a price has a wanted metric.
    #[error("no cell with a price has `{metric}`; they have {known}")]
    NoMetric {
        /// The metric.
        metric: String,
        /// The metrics that there are.
        known: String,
    },
}

/// A cell that may be chosen.
struct Rival<'a> {
    judged: &'a Judged<'a>,
    cell: &'a CellView,
    per_month: f64,
}

/// Chooses for each workload the cheapest cell that keeps all limits. `workloads`: only these; empty: all.
///
/// # Errors
/// No cell has a price, prices are in several currencies, or no cell has a wanted metric.
pub fn choose(runs: &[Judged<'_>], wants: &[Want], workloads: &[String]) -> Result<Choice, NoChoice> {
    let currency = one_currency(runs)?;
    let mut left_out = Vec::new();
    let mut rivals: Vec<Rival<'_>> = Vec::new();
    for judged in runs {
        for cell in &judged.view.cells {
            if workloads.is_empty() || workloads.contains(&cell.workload) {
                match rival(judged, cell) {
                    Ok(rival) => rivals.push(rival),
                    Err(text) => left_out.push(left(judged, cell, text.to_owned())),
                }
            }
        }
    }
    if rivals.is_empty() {
        return Err(NoChoice::NoPrices);
    }
    check_metrics(&rivals, wants)?;
    rivals.retain(|rival| {
        let lacking = wants.iter().find(|want| !rival.cell.metrics.contains_key(&want.of));
        left_out.extend(lacking.map(|want| left(rival.judged, rival.cell, format!("it has no {}", want.of))));
        lacking.is_none()
    });
    rivals.sort_by(|a, b| a.per_month.total_cmp(&b.per_month));
    let mut names: Vec<&str> = Vec::new();
    for rival in &rivals {
        if !names.contains(&rival.cell.workload.as_str()) {
            names.push(&rival.cell.workload);
        }
    }
    let currency_name = currency.as_deref();
    let answers: Vec<ChoiceAnswer> = names
        .into_iter()
        .map(|workload| {
            let those: Vec<&Rival<'_>> =
                rivals.iter().filter(|rival| rival.cell.workload == workload).collect();
            answer_of(workload, &those, competing(runs, workload, those.len()), wants, currency_name)
        })
        .collect();
    let sequential = runs.iter().any(|one| sought(one.plan).is_some());
    for left in &mut left_out {
        not_needed(left, runs, &answers);
    }
    Ok(Choice {
        format: CHOICE_FORMAT.to_owned(),
        wants: wants.to_vec(),
        runs: runs
            .iter()
            .map(|one| ComparedRun { run: one.view.run.clone(), experiment: one.view.experiment.clone() })
            .collect(),
        confidence: confidence(&rivals),
        answers,
        currency,
        left_out,
        sequential,
        judged_by: runs.first().map(|one| one.view.judged_by.clone()).unwrap_or_default(),
    })
}

/// The number of cells that share the error of an answer: those that were measured, and in a run that looks for the answer while it
/// measures all that it could have measured.
fn competing(runs: &[Judged<'_>], workload: &str, measured: usize) -> usize {
    let planned = runs
        .iter()
        .filter(|one| sought(one.plan).is_some())
        .map(|one| one.plan.cells.iter().filter(|cell| cell.workload.name == workload).count());
    planned.sum::<usize>().max(measured)
}

/// Says of a cell that was not measured that it costs no less than the answer.
fn not_needed(left: &mut ChoiceLeftOut, runs: &[Judged<'_>], answers: &[ChoiceAnswer]) {
    let run = runs.iter().find(|one| one.view.run == left.run);
    let cell = run.and_then(|run| run.view.cells.iter().find(|cell| cell.id == left.cell.id));
    let unmeasured = cell.filter(|cell| cell.metrics.is_empty() && cell.trials.failed == 0);
    let price = run.zip(unmeasured).and_then(|(run, cell)| per_month(run.plan, cell));
    let answer = answers.iter().find(|answer| answer.workload == left.cell.workload);
    let chosen = answer.and_then(|answer| answer.candidates.iter().find(|one| one.chosen));
    if price.zip(chosen).is_some_and(|(price, chosen)| price >= chosen.per_month) {
        left.text = "not measured: no cheaper than the answer".to_owned();
    }
}

fn left(judged: &Judged<'_>, cell: &CellView, text: String) -> ChoiceLeftOut {
    ChoiceLeftOut { run: judged.view.run.clone(), cell: name(cell), text }
}

fn one_currency(runs: &[Judged<'_>]) -> Result<Option<String>, NoChoice> {
    let priced = runs.iter().filter(|one| !one.plan.prices.is_empty());
    let mut currencies = priced.map(|one| one.plan.prices.currency.clone());
    let Some(first) = currencies.next() else { return Err(NoChoice::NoPrices) };
    let said = |currency: &Option<String>| currency.clone().unwrap_or_else(|| "no named currency".to_owned());
    match currencies.find(|other| *other != first) {
        Some(other) => Err(NoChoice::Currencies(said(&first), said(&other))),
        None => Ok(first),
    }
}

fn rival<'a>(judged: &'a Judged<'a>, cell: &'a CellView) -> Result<Rival<'a>, &'static str> {
    if cell.void {
        return Err("its figures are not storage figures");
    }
    if cell.metrics.is_empty() {
        return Err("it was not measured");
    }
    match per_month(judged.plan, cell) {
        Some(per_month) => Ok(Rival { judged, cell, per_month }),
        None => Err("a volume has no price"),
    }
}

fn check_metrics(rivals: &[Rival<'_>], wants: &[Want]) -> Result<(), NoChoice> {
    for want in wants {
        if !rivals.iter().any(|rival| rival.cell.metrics.contains_key(&want.of)) {
            let mut known: Vec<&str> =
                rivals.iter().flat_map(|rival| rival.cell.metrics.keys().map(String::as_str)).collect();
            known.sort_unstable();
            known.dedup();
            return Err(NoChoice::NoMetric { metric: want.of.clone(), known: known.join(", ") });
        }
    }
    Ok(())
}

/// The lowest confidence that one of the experiments asks for.
fn confidence(rivals: &[Rival<'_>]) -> f64 {
    rivals.iter().map(|rival| rival.judged.plan.measure.confidence).fold(1.0, f64::min)
}

fn answer_of(
    workload: &str,
    rivals: &[&Rival<'_>],
    competing: usize,
    wants: &[Want],
    currency: Option<&str>,
) -> ChoiceAnswer {
    let mut candidates: Vec<Candidate> =
        rivals.iter().map(|rival| candidate(rival, wants, competing)).collect();
    let prices: Vec<f64> = candidates.iter().map(|one| one.per_month).collect();
    let does: Vec<Keeps> = candidates.iter().map(|one| keeps(one.does)).collect();
    let found = cheapest(&prices, &does);
    for place in &found.chosen {
        candidates[*place].chosen = true;
    }
    let outcome = match (found.chosen.is_empty(), found.open.is_empty()) {
        (false, true) => ChoiceOutcome::Chosen,
        (false, false) => ChoiceOutcome::ChosenSoFar,
        (true, true) => ChoiceOutcome::NoneDoes,
        (true, false) => ChoiceOutcome::Open,
    };
    let words = Words { names: names(&candidates), candidates: &candidates, wants, currency };
    let text = match outcome {
        ChoiceOutcome::Chosen => words.chosen(&found.chosen),
        ChoiceOutcome::ChosenSoFar => words.so_far(&found.chosen, &found.open),
        ChoiceOutcome::NoneDoes => format!("no measured stack meets the limits{}", words.nearest()),
        ChoiceOutcome::Open => {
            let open: Vec<String> = found.open.iter().map(|place| words.names[*place].clone()).collect();
            format!(
                "no stack is shown to meet the limits; undecided: {}; more rounds would decide{}",
                list(&open),
                words.nearest()
            )
        }
    };
    let text = text + &doubts(rivals, &words.names, &found) + is_not(rivals);
    ChoiceAnswer { workload: workload.to_owned(), outcome, candidates, text }
}

/// What must be known of the figures that decided: those of the chosen cells and of cheaper ones, or of all where none is chosen.
fn doubts(rivals: &[&Rival<'_>], names: &[String], found: &Cheapest) -> String {
    let most = found.chosen.first().map_or(f64::INFINITY, |place| rivals[*place].per_month);
    let mut told = String::new();
    let mut runs: Vec<&RunView> = Vec::new();
    for rival in rivals {
        if runs.iter().all(|known| known.run != rival.judged.view.run) {
            runs.push(rival.judged.view);
        }
    }
    for run in runs {
        let decided = rivals.iter().zip(names).filter(|(rival, _)| rival.per_month <= most);
        let of_run = decided.filter(|(rival, _)| rival.judged.view.run == run.run);
        let named: Vec<(&CellId, &str)> =
            of_run.map(|(rival, name)| (&rival.cell.id, name.as_str())).collect();
        told.push_str(&answer::doubts::of(&run.findings, &named));
    }
    told
}

/// What the answer is not, where volumes only imitate what is sold.
fn is_not(rivals: &[&Rival<'_>]) -> &'static str {
    let of = |rival: &&Rival<'_>| answer::price::what_it_is_not(rival.judged.plan, &[rival.cell]);
    rivals.iter().find_map(of).unwrap_or_default()
}

fn candidate(rival: &Rival<'_>, wants: &[Want], cells: usize) -> Candidate {
    let (judged, cell) = (rival.judged, rival.cell);
    let level = Level::of([(&judged.plan.measure, most_trials([cell]))]);
    let error = share_of_error(level.error(), cells, wants.len());
    let decide = |limited: &Limited<'_>| match sought(judged.plan) {
        Some(sought) => limit_interval(limited, sought, cells, wants.len()),
        None => {
            limited.estimate(level.trim, error).map(|interval| (interval, limited.keeps(level.trim, error)))
        }
    };
    let figures: Vec<CandidateFigure> = wants.iter().map(|want| figure(cell, want, &decide)).collect();
    Candidate {
        run: judged.view.run.clone(),
        cell: name(cell),
        per_month: rival.per_month,
        does: does(keeps_all(figures.iter().map(|figure| keeps(figure.does)))),
        chosen: false,
        figures,
    }
}

/// A wanted figure. The answer of a search has no values of its own per trial, so it decides nothing here.
fn figure(
    cell: &CellView,
    want: &Want,
    decide: &dyn Fn(&Limited<'_>) -> Option<(Estimate, Keeps)>,
) -> CandidateFigure {
    let metric = cell.metrics.get(&want.of);
    let limited = metric.map(|metric| Limited {
        values: &metric.values,
        at_least: want.bound == Bound::AtLeast,
        limit: want.value,
    });
    let decided = limited.as_ref().and_then(decide);
    let end =
        |of: fn(&Estimate) -> f64| decided.map(|(interval, _)| of(&interval)).filter(|end| end.is_finite());
    CandidateFigure {
        of: want.of.clone(),
        unit: metric.map(|metric| metric.unit.clone()).unwrap_or_default(),
        estimate: metric.map(|metric| metric.estimate),
        // No metric can be negative.
        low: end(|interval| interval.low).map(|low| low.max(0.0)),
        high: end(|interval| interval.high),
        does: decided.map_or(Does::Open, |(_, keeps)| does(keeps)),
    }
}

fn does(keeps: Keeps) -> Does {
    match keeps {
        Keeps::Yes => Does::Yes,
        Keeps::No => Does::No,
        Keeps::Open => Does::Open,
    }
}

fn keeps(does: Does) -> Keeps {
    match does {
        Does::Yes => Keeps::Yes,
        Does::No => Keeps::No,
        Does::Open => Keeps::Open,
    }
}

/// The names of the candidates: the stack's, with the machine's and the run's where there are several.
fn names(candidates: &[Candidate]) -> Vec<String> {
    let first = candidates.first();
    let targets =
        candidates.iter().any(|one| first.is_some_and(|first| first.cell.target != one.cell.target));
    let runs = candidates.iter().any(|one| first.is_some_and(|first| first.run != one.run));
    let name = |one: &Candidate| {
        let target = if targets { format!(" on {}", one.cell.target) } else { String::new() };
        let run = if runs { format!(" of run {}", one.run) } else { String::new() };
        format!("{}{target}{run}", one.cell.stack)
    };
    candidates.iter().map(name).collect()
}

/// What an answer is told with.
struct Words<'a> {
    names: Vec<String>,
    candidates: &'a [Candidate],
    wants: &'a [Want],
    currency: Option<&'a str>,
}

impl Words<'_> {
    fn priced(&self, places: &[usize]) -> String {
        let names: Vec<String> = places.iter().map(|place| self.names[*place].clone()).collect();
        let price = places.first().map_or(0.0, |place| self.candidates[*place].per_month);
        let each = if places.len() > 1 { " each" } else { "" };
        let currency = self.currency.map(|name| format!(" {name}")).unwrap_or_default();
        format!("{} ({}{currency} a month{each})", list(&names), money(price, None))
    }

    fn chosen(&self, places: &[usize]) -> String {
        let price = places.first().map_or(0.0, |place| self.candidates[*place].per_month);
        let cheaper = self.candidates.iter().filter(|one| one.per_month < price).count();
        let rest = match cheaper {
            0 => "no measured stack is cheaper".to_owned(),
            1 => "the cheaper one is shown not to meet them".to_owned(),
            more => format!("{more} cheaper ones are shown not to meet them"),
        };
        let verb = if places.len() > 1 {
            "are the cheapest that meet the limits"
        } else {
            "is the cheapest that meets the limits"
        };
        format!("{} {verb}; {rest}", self.priced(places))
    }

    fn so_far(&self, places: &[usize], open: &[usize]) -> String {
        let names: Vec<String> = open.iter().map(|place| self.names[*place].clone()).collect();
        let (verb, are) = (
            if places.len() > 1 { "meet the limits" } else { "meets the limits" },
            if open.len() > 1 { "cost less and are" } else { "costs less and is" },
        );
        format!("{} {verb}; {} {are} undecided; more rounds would decide", self.priced(places), list(&names))
    }

    /// The candidate that comes nearest by its estimates, and how far it is away.
    fn nearest(&self) -> String {
        let far = |one: &Candidate| {
            let each = self.wants.iter().zip(&one.figures).map(|(want, figure)| shortfall(want, figure));
            each.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(0.0, f64::max))
        };
        let all = self.candidates.iter().enumerate();
        let known = all.filter_map(|(place, one)| Some((place, far(one)?)));
        let Some((place, _)) = known.min_by(|a, b| a.1.total_cmp(&b.1)) else { return String::new() };
        let figures = self.wants.iter().zip(&self.candidates[place].figures).filter_map(|(want, figure)| {
            let estimate = with_unit(figure.estimate?, &figure.unit);
            let off = shortfall(want, figure)?;
            let side = if want.bound == Bound::AtLeast { "below" } else { "above" };
            let off = if off > 0.0 { format!(", {} {side} the limit", percent(off)) } else { String::new() };
            Some(format!("{} {estimate}{off}", want.of.replace('_', " ")))
        });
        let figures: Vec<String> = figures.collect();
        format!("; the nearest is {}: {}", self.priced(&[place]), figures.join(", "))
    }
}

/// The share of its limit by which a figure misses it, 0 if it keeps it; `None` without a figure.
fn shortfall(want: &Want, figure: &CandidateFigure) -> Option<f64> {
    let estimate = figure.estimate?;
    let missing = match want.bound {
        Bound::AtLeast => want.value - estimate,
        Bound::AtMost | Bound::Within => estimate - want.value,
    };
    Some((missing / want.value).max(0.0)).filter(|share| share.is_finite())
}

#[cfg(test)]
mod hunt_tests;
#[cfg(test)]
mod tests;
