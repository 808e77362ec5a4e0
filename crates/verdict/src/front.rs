//! The cells of each workload by price and performance. The rules are in docs/statistics.md.

use crate::answer::headline;
use crate::answer::words::list;
use crate::derived::inverted;
use crate::direction::Direction;
use crate::money::per_month;
use crate::pairing::{FamilyMember, Level, Rivals, family, most_trials};
use record::judged::{CellView, FrontCell, FrontPlace, FrontView, Metric, PriceFigure, Relation};
use record::metric::PRICE_PER_JOB;
use record::plan::Plan;

/// Months of a year.
const MONTHS: f64 = 12.0;
/// Bytes of an MB.
const MB: f64 = 1e6;

/// One front per workload that has cells with a price; none where the experiment has no prices.
pub(crate) fn of(plan: &Plan, cells: &[CellView]) -> Vec<FrontView> {
    if plan.prices.is_empty() {
        return Vec::new();
    }
    let mut workloads: Vec<&str> = Vec::new();
    for cell in cells {
        if !workloads.contains(&cell.workload.as_str()) {
            workloads.push(&cell.workload);
        }
    }
    workloads.into_iter().filter_map(|workload| one(plan, workload, cells)).collect()
}

/// A cell of a front.
struct Priced<'a> {
    cell: &'a CellView,
    per_month: f64,
}

fn one(plan: &Plan, workload: &str, cells: &[CellView]) -> Option<FrontView> {
    let all: Vec<&CellView> = cells.iter().filter(|cell| cell.workload == workload && !cell.void).collect();
    let metric = metric(plan, all.first()?);
    let having = all.iter().filter(|cell| cell.metrics.contains_key(metric));
    let mut priced: Vec<Priced<'_>> =
        having.filter_map(|cell| Some(Priced { cell, per_month: per_month(plan, cell)? })).collect();
    priced.sort_by(|a, b| a.per_month.total_cmp(&b.per_month));
    let level = Level::of([(&plan.measure, most_trials(all.iter().copied()))]);
    let places = places(plan, metric, &priced, &level)?;
    let cells: Vec<FrontCell> =
        priced.iter().zip(&places).map(|(one, place)| front_cell(plan, one, *place, &priced)).collect();
    (!cells.is_empty()).then(|| FrontView {
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        currency: plan.prices.currency.clone(),
        confidence: plan.measure.confidence,
        text: text(metric, &priced, &cells),
        cells,
    })
}

/// The metric that is compared with prices: the experiment's own, unless prices are in it already, or the workload's.
fn metric<'p>(plan: &'p Plan, cell: &CellView) -> &'p str {
    let asked = plan.measure.until.as_ref().and_then(|until| until.of.as_deref());
    let about_money =
        |name: &str| plan.derived.iter().any(|d| d.name == name && d.expression.contains("price"));
    asked
        .filter(|name| cell.metrics.contains_key(*name) && !about_money(name))
        .unwrap_or(headline(plan, cell))
}

fn places(plan: &Plan, metric: &str, priced: &[Priced<'_>], level: &Level) -> Option<Vec<stats::FrontPlace>> {
    let direction = Direction::of(plan, metric);
    let pairs: Vec<(usize, usize)> =
        (0..priced.len()).flat_map(|a| (a + 1..priced.len()).map(move |b| (a, b))).collect();
    let rival = |(a, b): &(usize, usize)| {
        Rivals::paired(priced[*a].cell, priced[*b].cell, metric, plan.measure.trial_seconds)
    };
    let rivals: Vec<Rivals> = pairs.iter().map(rival).collect();
    let told = family(&rivals, level);
    let mut better = vec![vec![false; priced.len()]; priced.len()];
    for ((a, b), told) in pairs.into_iter().zip(&told) {
        if let Some(first) = first_is_better(told, direction) {
            let (winner, loser) = if first { (a, b) } else { (b, a) };
            better[winner][loser] = true;
        }
    }
    let prices: Vec<f64> = priced.iter().map(|one| one.per_month).collect();
    stats::front(&prices, |a, b| better[a][b])
}

/// Whether the first cell of a comparison is better; `None` if they can't be told apart.
fn first_is_better(told: &FamilyMember, direction: Direction) -> Option<bool> {
    let estimate = told.estimate.filter(|_| told.relation == Relation::Apart)?;
    Some(direction.is_better(estimate.log_mean))
}

fn front_cell(plan: &Plan, one: &Priced<'_>, place: stats::FrontPlace, all: &[Priced<'_>]) -> FrontCell {
    let per = |metric: &str, amount: f64| {
        let inverse = inverted(one.cell.metrics.get(metric)?, one.per_month * amount)?;
        let Metric { estimate, low, high, .. } = inverse;
        Some(PriceFigure { estimate, low, high })
    };
    let (place, winner) = match place {
        stats::FrontPlace::Member => (FrontPlace::Member, None),
        stats::FrontPlace::Dominated(winner) => (FrontPlace::Dominated, all.get(winner)),
        stats::FrontPlace::Undecided => (FrontPlace::Undecided, None),
    };
    FrontCell {
        cell: one.cell.id.clone(),
        per_month: one.per_month,
        per_year: one.per_month * MONTHS,
        per_1000_iops: per("iops", 1000.0),
        per_mb_s: per("bw", MB),
        per_job: one.cell.metrics.get(PRICE_PER_JOB).map(|price| PriceFigure {
            estimate: price.estimate,
            low: price.low,
            high: price.high,
        }),
        within: within(plan, one.cell),
        place,
        dominated_by: winner.map(|winner| winner.cell.id.clone()),
    }
}

/// The limits of a search.
fn within(plan: &Plan, view: &CellView) -> Option<String> {
    let find = plan.cells.iter().find(|cell| cell.id == view.id)?.find()?;
    let limits = find.limits.iter().map(|limit| format!("{} <= {}", limit.of, limit.written));
    Some(limits.collect::<Vec<_>>().join(", "))
}

/// The front in words.
fn text(metric: &str, priced: &[Priced<'_>], cells: &[FrontCell]) -> String {
    let several = priced.iter().any(|one| one.cell.target != priced[0].cell.target);
    let name = |cell: &CellView| match several {
        true => format!("{} on {}", cell.stack, cell.target),
        false => cell.stack.clone(),
    };
    let of = |place: FrontPlace| -> Vec<String> {
        let those = priced.iter().zip(cells).filter(|(_, cell)| cell.place == place);
        those.map(|(one, _)| name(one.cell)).collect()
    };
    let [members, dominated, undecided] =
        [FrontPlace::Member, FrontPlace::Dominated, FrontPlace::Undecided].map(of);
    let metric = metric.replace('_', " ");
    if let ([_], true) = (members.as_slice(), priced.len() == 1) {
        return format!("only {} has a price and {metric}", members.concat());
    }
    let mut told = Vec::new();
    if !members.is_empty() {
        told.push(format!("nothing that costs no more beats {} in {metric}", list(&members)));
    }
    if !dominated.is_empty() {
        told.push(format!("beaten at the same price or a lower one: {}", list(&dominated)));
    }
    if !undecided.is_empty() {
        told.push(format!("undecided: {}", list(&undecided)));
    }
    told.join("; ")
}

#[cfg(test)]
mod tests;
