//! The best stack by price: the performance per unit of money a month, and which answers are about money.

use super::question::Question;
use crate::derived::scaled;
use crate::money::per_month;
use record::judged::{CellView, Metric};
use record::plan::Plan;
use record::volume::VolumeKind;

/// The end of the names of figures for their price.
const PER_MONTH: &str = "/price_per_month";

/// The question by price, and the cells with their performance per price. `None` if prices add nothing: fewer than two cells have one,
/// all cells cost the same, the workload's metric is better low, or the experiment derives a figure from prices itself.
pub(super) fn question<'a>(
    plan: &Plan,
    main: &Question<'a>,
    rivals: &[&CellView],
) -> Option<(Question<'a>, Vec<CellView>)> {
    let own = plan.derived.iter().any(|d| d.expression.contains("price"));
    let metric = main.metric.as_str();
    if own || !main.direction.is_higher() {
        return None;
    }
    let mut priced = Vec::new();
    for rival in rivals {
        let Some(price) = per_month(plan, rival) else { continue };
        let mut cell = CellView::clone(rival);
        let figure = cell.metrics.get(metric).map(|m| over(m, price, plan));
        cell.metrics.extend(figure.map(|f| (name(metric), f)));
        priced.push((price, cell));
    }
    let first = priced.first()?.0;
    if priced.iter().all(|(price, _)| *price == first) {
        return None;
    }
    let cells = priced.into_iter().map(|(_, cell)| cell).collect();
    let money = plan.prices.currency.as_deref().unwrap_or("money");
    let question = Question {
        workload: main.workload,
        metric: name(metric),
        label: Some(format!("by {metric} per {money} a month")),
        direction: main.direction,
        level: main.level,
        seconds: main.seconds,
        findings: main.findings,
    };
    Some((question, cells))
}

fn name(metric: &str) -> String {
    format!("{metric}{PER_MONTH}")
}

/// Whether a metric is about money: a figure for its price, or derived from prices by the experiment.
pub(super) fn is_about_money(plan: &Plan, metric: &str) -> bool {
    let derived = |name: &str| plan.derived.iter().find(|d| d.name == name);
    metric.ends_with(PER_MONTH) || derived(metric).is_some_and(|d| d.expression.contains("price"))
}

/// What an answer about money is not, where volumes of these cells only imitate what is sold: their limits come from the file, as their
/// prices do.
pub(crate) fn what_it_is_not(plan: &Plan, rivals: &[&CellView]) -> Option<&'static str> {
    let compared = plan.cells.iter().filter(|cell| rivals.iter().any(|rival| rival.id == cell.id));
    let mut volumes = compared.flat_map(|cell| cell.stack.all_volumes());
    let imitates = |kind: &VolumeKind| matches!(kind, VolumeKind::Emulate { .. } | VolumeKind::Guest { .. });
    volumes.any(|volume| imitates(&volume.kind)).then_some(
        " (prices and limits of the volumes come from the experiment file: this compares what the file declares, and measures no provider)",
    )
}

/// A metric divided by a price, which is known exactly.
fn over(metric: &Metric, price: f64, plan: &Plan) -> Metric {
    let money = plan.prices.currency.as_deref().unwrap_or("money");
    Metric { unit: format!("{} per {money} a month", metric.unit), ..scaled(metric, 1.0 / price) }
}
