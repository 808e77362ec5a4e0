//! The figures of an experiment run after run, and where their level changed.

use super::environment;
use super::judged::{Judged, Wanted, name};
use super::matching;
use super::plans;
use super::usual::Figures;
use crate::direction::Direction;
use crate::judge::JUDGE;
use crate::pairing::times;
use record::comparison::{CellName, Difference, DifferenceOf};
use record::finding::Severity;
use record::history::{
    HISTORY_FORMAT, History, HistoryChange, HistoryLine, HistoryPoint, HistoryRun, RunLeftOut,
};
use record::judged::{CellView, RatioView};
use stats::{LevelChange, MIN_HISTORY, geometric_mean, level_changes};
use std::cmp::Reverse;

/// A run of a history.
#[derive(Debug, Clone)]
pub struct PastRun<'a> {
    /// The run with its plan.
    pub judged: Judged<'a>,
    /// Start time, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// Its tags.
    pub tags: Vec<String>,
}

/// Returns the history of the cells of the latest run; `runs` are of one experiment, oldest first. Runs of another machine than the latest, and
/// cells with another workload, are left out. `None` without any run.
#[must_use]
pub fn history(runs: &[PastRun<'_>], wanted: &Wanted) -> Option<History> {
    let latest = runs.last()?;
    let (kept, left_out) = comparable(runs, latest);
    let cells: Vec<Vec<Option<&CellView>>> = kept.iter().map(|run| same_cells(run, latest, wanted)).collect();
    let mut lines = Vec::new();
    for (at, cell) in wanted_cells(latest, wanted).into_iter().enumerate() {
        let over_runs: Vec<Option<&CellView>> = cells.iter().map(|of_run| of_run[at]).collect();
        let others: Vec<&CellView> = over_runs.iter().flatten().copied().collect();
        for metric in Figures::beside(&latest.judged, cell, &others, wanted).metrics {
            lines.extend(line(latest, cell, &metric, &over_runs));
        }
    }
    let confidence = latest.judged.view.measure.confidence;
    let values: Vec<Vec<f64>> =
        lines.iter().map(|line| line.points.iter().map(|point| point.value).collect()).collect();
    let figures = values.iter().filter(|values| values.len() >= MIN_HISTORY).count();
    for (line, changes) in lines.iter_mut().zip(level_changes(&values, confidence)) {
        let told = changes.iter().filter_map(|change| told(line, change, &kept, figures));
        line.changes = told.collect();
    }
    Some(History {
        format: HISTORY_FORMAT.to_owned(),
        experiment: latest.judged.view.experiment.clone(),
        runs: kept.iter().map(|run| entry(run)).collect(),
        left_out,
        lines,
        confidence,
        fewest_runs: u32::try_from(MIN_HISTORY).unwrap_or(u32::MAX),
        judged_by: JUDGE.to_owned(),
    })
}

fn entry(run: &PastRun<'_>) -> HistoryRun {
    HistoryRun {
        run: run.judged.view.run.clone(),
        started_unix_ms: run.started_unix_ms,
        tags: run.tags.clone(),
    }
}

/// The runs of the same machine as the latest one, and the others.
fn comparable<'a, 'b>(
    runs: &'b [PastRun<'a>],
    latest: &PastRun<'_>,
) -> (Vec<&'b PastRun<'a>>, Vec<RunLeftOut>) {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for run in runs {
        let differences = environment::differences(run.judged.view, latest.judged.view);
        let other =
            differences.iter().find(|d| d.of == DifferenceOf::Machine && d.severity == Severity::Void);
        match other {
            None => kept.push(run),
            Some(d) => left_out.push(RunLeftOut {
                run: run.judged.view.run.clone(),
                text: format!("{} is {}, in the latest run {}", d.what, shown(&d.after), shown(&d.before)),
            }),
        }
    }
    (kept, left_out)
}

fn shown(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("unknown")
}

/// The cells of a run that are asked for and have storage figures.
fn wanted_cells<'a>(run: &PastRun<'a>, wanted: &Wanted) -> Vec<&'a CellView> {
    let asked = |names: &[String], name: &String| names.is_empty() || names.contains(name);
    let is_asked = |c: &&CellView| asked(&wanted.stacks, &c.stack) && asked(&wanted.workloads, &c.workload);
    let view = run.judged.view;
    view.cells.iter().filter(is_asked).filter(|c| !c.void && !c.metrics.is_empty()).collect()
}

/// For each wanted cell of the latest run, the same cell of this run with the same workload.
fn same_cells<'a>(run: &PastRun<'a>, latest: &PastRun<'a>, wanted: &Wanted) -> Vec<Option<&'a CellView>> {
    let of_latest = wanted_cells(latest, wanted);
    let pairs = matching::pairs(&wanted_cells(run, wanted), &of_latest);
    let same = |cell: &&CellView| {
        let (own, _) = pairs.iter().find(|(_, of_latest)| of_latest.id == cell.id)?;
        let differences = plans::of_cells(&run.judged, own, &latest.judged, cell);
        (!differences.iter().any(|d| d.severity == Severity::Void)).then_some(*own)
    };
    of_latest.iter().map(same).collect()
}

/// A figure over the runs; `None` if no run has it.
fn line(
    latest: &PastRun<'_>,
    cell: &CellView,
    metric: &str,
    over_runs: &[Option<&CellView>],
) -> Option<HistoryLine> {
    let point = |(run, cell): (usize, &Option<&CellView>)| {
        let values = &(*cell)?.metrics.get(metric)?.values;
        let value = geometric_mean(values, 0.95)?.value;
        let run = u32::try_from(run).unwrap_or(u32::MAX);
        (value.is_finite() && value > 0.0).then_some(HistoryPoint { run, value })
    };
    let points: Vec<HistoryPoint> = over_runs.iter().enumerate().filter_map(point).collect();
    (!points.is_empty()).then(|| HistoryLine {
        cell: name(cell),
        metric: metric.to_owned(),
        unit: cell.metrics.get(metric).map(|m| m.unit.clone()).unwrap_or_default(),
        lower_is_better: !Direction::of(latest.judged.plan, metric).is_higher(),
        points,
        changes: Vec::new(),
    })
}

/// A change with its run, and what else changed there.
fn told(
    line: &HistoryLine,
    change: &LevelChange,
    runs: &[&PastRun<'_>],
    figures: usize,
) -> Option<HistoryChange> {
    let run_of = |at: usize| runs.get(line.points.get(at)?.run as usize).copied();
    let (before, after) = (run_of(change.at.checked_sub(1)?)?, run_of(change.at)?);
    let ratio = RatioView {
        ratio: change.ratio.ratio,
        low: Some(change.ratio.low),
        high: Some(change.ratio.high),
        confidence: change.ratio.confidence,
        n: u32::try_from(change.ratio.n).unwrap_or(u32::MAX),
    };
    let is_worse = (ratio.ratio > 1.0) == line.lower_is_better;
    let tags = if after.tags.is_empty() { String::new() } else { format!(" ({})", after.tags.join(", ")) };
    let text = format!(
        "{} of {} is {} from run {}{tags} on: {} (p {} over {figures} {})",
        line.metric.replace('_', " "),
        place(&line.cell),
        times(&ratio, "the level before"),
        after.judged.view.run,
        if is_worse { "worse" } else { "better" },
        probability(change.p_adjusted),
        if figures == 1 { "figure" } else { "figures" },
    );
    Some(HistoryChange {
        run: after.judged.view.run.clone(),
        after_run: before.judged.view.run.clone(),
        ratio,
        is_worse,
        p_adjusted: change.p_adjusted,
        differences: differences(before, after, &line.cell),
        text,
    })
}

fn place(cell: &CellName) -> String {
    if cell.target == "local" {
        format!("{} {}", cell.workload, cell.stack)
    } else {
        format!("{} {} on {}", cell.workload, cell.stack, cell.target)
    }
}

/// A probability for a sentence.
fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// What else differs between two runs, worst first: their machines, how they measured, and how this cell was built.
fn differences(before: &PastRun<'_>, after: &PastRun<'_>, cell: &CellName) -> Vec<Difference> {
    let (then, now) = (&before.judged, &after.judged);
    let mut found = environment::differences(now.view, then.view);
    found.extend(plans::of_runs(now.plan, then.plan));
    if let (Some(a), Some(b)) = (matching::named(now.view, cell), matching::named(then.view, cell)) {
        found.extend(plans::of_cells(now, a, then, b));
    }
    found.sort_by_key(|d| (Reverse(d.severity), d.of));
    let told = |d: Difference| Difference {
        text: format!("{} was {}, and is {} from this run on", d.what, shown(&d.before), shown(&d.after)),
        ..d
    };
    found.into_iter().map(told).collect()
}
