//! Which figures are compared.

use super::judged::{Judged, Usual, Wanted, name};
use record::comparison::{Absence, LeftOut};
use record::judged::CellView;
use std::collections::BTreeSet;

/// With fewer I/Os than this in a trial, fewer than ten lie beyond its 99th percentile.
const LEAST_FOR_P99: f64 = 1000.0;

const SIDES: [&str; 3] = ["read", "write", "trim"];

/// What a commit waits for. Where it is known it takes the place of the write's own latency, which ends before the data are safe.
const DURABLE_P99: &str = "durable_lat_p99";

/// The figures of a cell that are compared, and those that its trials are too short for.
pub(super) struct Figures {
    pub(super) metrics: Vec<String>,
    unresolved: Vec<String>,
}

impl Figures {
    /// The named metrics, or the usual ones.
    pub(super) fn of(run: &Judged<'_>, cell: &CellView, wanted: &Wanted) -> Self {
        Self::beside(run, cell, &[], wanted)
    }

    /// The same to compare the cell with others: of two figures for the same thing the one that all of them have.
    pub(super) fn beside(run: &Judged<'_>, cell: &CellView, others: &[&CellView], wanted: &Wanted) -> Self {
        let mut figures = if wanted.metrics.is_empty() {
            usual(run, cell, others, wanted.usual)
        } else {
            Self { metrics: wanted.metrics.clone(), unresolved: Vec::new() }
        };
        let mut seen = BTreeSet::new();
        figures.metrics.retain(|n| cell.metrics.contains_key(n) && seen.insert(n.clone()));
        figures
    }

    /// Those that both cells have.
    pub(super) fn common(&self, b: &CellView) -> Vec<String> {
        self.metrics.iter().filter(|n| b.metrics.contains_key(*n)).cloned().collect()
    }
}

/// The figures that a gate compares in two cells, and those that are missing from `a` or can't be judged.
pub(super) fn gated(
    run: &Judged<'_>,
    a: &CellView,
    baseline: &Judged<'_>,
    b: &CellView,
    wanted: &Wanted,
) -> (Vec<String>, Vec<LeftOut>) {
    let (now, then) = (Figures::beside(run, a, &[b], wanted), Figures::of(baseline, b, wanted));
    let metrics: Vec<String> = now.common(b).into_iter().filter(|m| !then.unresolved.contains(m)).collect();
    let left_out = |why, text: String| LeftOut {
        run: run.view.run.clone(),
        cell: name(a),
        why,
        is_missing: false,
        text,
    };
    let missing = then.metrics.iter().filter(|m| !a.metrics.contains_key(*m)).map(|metric| {
        left_out(Absence::NotMeasured, format!("it has no {}, and the baseline has", shown(metric)))
    });
    let unresolved: BTreeSet<&String> = now.unresolved.iter().chain(&then.unresolved).collect();
    let unresolved = unresolved.into_iter().map(|metric| {
        let text = format!(
            "its {} isn't judged: fewer than ten I/Os of a trial lie beyond it (longer trials have more)",
            shown(metric)
        );
        left_out(Absence::Unresolved, text)
    });
    let left_out: Vec<LeftOut> = missing.chain(unresolved).collect();
    (metrics, left_out)
}

fn shown(metric: &str) -> String {
    metric.replace('_', " ")
}

/// The rates by which a workload is judged, for each direction if there are several; the derived metrics; the 99th percentiles; for a gate also
/// the CPU cost of an I/O.
fn usual(run: &Judged<'_>, cell: &CellView, others: &[&CellView], usual: Usual) -> Figures {
    let rate = crate::answer::headline(run.plan, cell);
    let active: Vec<&str> =
        SIDES.into_iter().filter(|s| cell.metrics.contains_key(&format!("{s}_{rate}"))).collect();
    let mut metrics = if active.len() > 1 {
        active.iter().map(|s| format!("{s}_{rate}")).collect()
    } else {
        vec![rate.to_owned()]
    };
    metrics.extend(run.plan.derived.iter().map(|d| d.name.clone()));
    let tails = active.iter().map(|side| (is_resolved(run, cell, side), tail(cell, others, side)));
    let (resolved, unresolved): (Vec<_>, Vec<_>) =
        tails.partition(|(is_resolved, _)| *is_resolved || usual == Usual::Compared);
    metrics.extend(resolved.into_iter().map(|(_, metric)| metric));
    if usual == Usual::Gated {
        metrics.push("engine_cpu_per_io".to_owned());
    }
    Figures { metrics, unresolved: unresolved.into_iter().map(|(_, metric)| metric).collect() }
}

/// The 99th percentile of what an application waits for in a direction. Each write counts once in both of its figures.
fn tail(cell: &CellView, others: &[&CellView], side: &str) -> String {
    let is_known = |cell: &CellView| cell.metrics.contains_key(DURABLE_P99);
    if side == "write" && is_known(cell) && others.iter().all(|other| is_known(other)) {
        return DURABLE_P99.to_owned();
    }
    format!("{side}_lat_p99")
}

/// Whether at least ten I/Os of each trial lie beyond the 99th percentile of this direction.
fn is_resolved(run: &Judged<'_>, cell: &CellView, side: &str) -> bool {
    let seconds = run.view.measure.trial_seconds;
    let slowest =
        cell.metrics.get(&format!("{side}_iops")).and_then(|m| m.values.iter().copied().reduce(f64::min));
    slowest.is_some_and(|iops| iops * seconds >= LEAST_FOR_P99)
}
