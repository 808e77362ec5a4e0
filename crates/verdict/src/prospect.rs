//! The cells of a plan by model and price, before anything is measured. The rules are in docs/statistics.md and docs/model.md.

use crate::answer::words::list;
use crate::figures::{counted, with_unit};
use crate::judge::JUDGE;
use crate::model::{Foreseen, foresee};
use crate::money::HOURS_PER_MONTH;
use record::choice::{Does, Want};
use record::metric::info;
use record::named::CellName;
use record::plan::{Bound, Cell, Plan};
use record::prospect::{PROSPECT_FORMAT, Prospect, ProspectCell, ProspectFigure, ProspectWorkload};
use record::quantity::money;

/// Ranks the cells of each workload by price, with what the model says of the limits.
#[must_use]
pub fn prospect(plan: &Plan, wants: &[Want]) -> Prospect {
    let mut names: Vec<&str> = Vec::new();
    for cell in &plan.cells {
        if !names.contains(&cell.workload.name.as_str()) {
            names.push(&cell.workload.name);
        }
    }
    Prospect {
        format: PROSPECT_FORMAT.to_owned(),
        experiment: plan.experiment.clone(),
        wants: wants.to_vec(),
        currency: plan.prices.currency.clone(),
        workloads: names.into_iter().map(|name| of_workload(plan, name, wants)).collect(),
        judged_by: JUDGE.to_owned(),
    }
}

fn of_workload(plan: &Plan, workload: &str, wants: &[Want]) -> ProspectWorkload {
    let those = plan.cells.iter().filter(|cell| cell.workload.name == workload);
    let mut cells: Vec<ProspectCell> = those.map(|cell| of_cell(plan, cell, wants)).collect();
    let price = |cell: &ProspectCell| cell.per_month.unwrap_or(f64::INFINITY);
    cells.sort_by(|a, b| price(a).total_cmp(&price(b)));
    let text = text(&cells, wants, plan.prices.currency.as_deref());
    ProspectWorkload { workload: workload.to_owned(), cells, text }
}

fn of_cell(plan: &Plan, cell: &Cell, wants: &[Want]) -> ProspectCell {
    let figures: Vec<ProspectFigure> = wants.iter().map(|want| figure(plan, cell, want)).collect();
    let each = || figures.iter().map(|figure| figure.does);
    let does = match (each().any(|does| does == Does::No), each().all(|does| does == Does::Yes)) {
        (true, _) => Does::No,
        (_, true) => Does::Yes,
        _ => Does::Open,
    };
    ProspectCell {
        cell: CellName {
            id: cell.id.clone(),
            target: cell.target.clone(),
            stack: cell.stack.name.clone(),
            workload: cell.workload.name.clone(),
            levels: cell.levels.clone(),
        },
        per_month: plan.price_per_hour(cell).map(|per_hour| per_hour * HOURS_PER_MONTH),
        does,
        figures,
    }
}

fn figure(plan: &Plan, cell: &Cell, want: &Want) -> ProspectFigure {
    let unit = info(&want.of).map_or("", |metric| metric.unit).to_owned();
    let mut told = ProspectFigure {
        of: want.of.clone(),
        unit,
        expected: None,
        at_least: None,
        at_most: None,
        does: Does::Open,
        why_not: None,
        steps: Vec::new(),
    };
    match foreseen(plan, cell, &want.of) {
        Ok(figure) => {
            told.expected = Some(figure.expected).filter(|x| x.is_finite());
            told.at_least = Some(figure.at_least).filter(|x| *x > 0.0 && x.is_finite());
            told.at_most = Some(figure.at_most).filter(|x| x.is_finite());
            told.does = does(&figure, want);
            told.steps = figure.steps;
        }
        Err(why) => told.why_not = Some(why.to_owned()),
    }
    told
}

/// A metric, or a derived one that is a number times one metric.
fn foreseen(plan: &Plan, cell: &Cell, name: &str) -> Result<Foreseen, &'static str> {
    let Some(derived) = plan.derived.iter().find(|derived| derived.name == name) else {
        return foresee(plan, cell, name);
    };
    let formula = derived.cells.get(&cell.id).ok_or("the derived metric has no meaning for it")?;
    match (&formula.over, &formula.under) {
        (Some(over), None) => foresee(plan, cell, over).map(|figure| figure.times(formula.factor)),
        _ => Err("the model computes no quotients of metrics"),
    }
}

fn does(figure: &Foreseen, want: &Want) -> Does {
    let (kept, broken) = match want.bound {
        Bound::AtLeast => (figure.at_least >= want.value, figure.at_most < want.value),
        Bound::AtMost | Bound::Within => (figure.at_most <= want.value, figure.at_least > want.value),
    };
    match (kept, broken) {
        (true, _) => Does::Yes,
        (_, true) => Does::No,
        _ => Does::Open,
    }
}

/// Whether the expected figures keep all limits; `None` if the model can't say one of them.
fn is_expected_to(cell: &ProspectCell, wants: &[Want]) -> Option<bool> {
    let keeps = |(want, figure): (&Want, &ProspectFigure)| {
        figure.expected.map(|expected| match want.bound {
            Bound::AtLeast => expected >= want.value,
            Bound::AtMost | Bound::Within => expected <= want.value,
        })
    };
    wants.iter().zip(&cell.figures).map(keeps).try_fold(true, |all, one| one.map(|one| all && one))
}

fn text(cells: &[ProspectCell], wants: &[Want], currency: Option<&str>) -> String {
    let several =
        cells.iter().any(|one| cells.first().is_some_and(|first| first.cell.target != one.cell.target));
    let name = |one: &ProspectCell| match several {
        true => format!("{} on {}", one.cell.stack, one.cell.target),
        false => one.cell.stack.clone(),
    };
    let priced: Vec<&ProspectCell> = cells.iter().filter(|cell| cell.per_month.is_some()).collect();
    if priced.is_empty() {
        return "no stack has a price".to_owned();
    }
    let first = priced.iter().position(|cell| {
        cell.does == Does::Yes || cell.does == Does::Open && is_expected_to(cell, wants) == Some(true)
    });
    let unsaid: Vec<String> = priced
        .iter()
        .take(first.unwrap_or(priced.len()))
        .filter(|cell| cell.does == Does::Open)
        .map(|cell| name(cell))
        .collect();
    let told = match first {
        Some(place) => {
            let cell = priced[place];
            let price = money(cell.per_month.unwrap_or_default(), currency);
            let verb = if cell.does == Does::Yes {
                "should meet the limits"
            } else {
                "is expected to meet the limits, and may fall short"
            };
            let figures: Vec<String> = cell
                .figures
                .iter()
                .filter_map(|figure| {
                    Some(format!(
                        "{} {}",
                        figure.of.replace('_', " "),
                        with_unit(figure.expected?, &figure.unit)
                    ))
                })
                .collect();
            format!("the cheapest that {verb} is {} ({price} a month): {}", name(cell), figures.join(", "))
        }
        None if unsaid.is_empty() => "no stack can meet the limits".to_owned(),
        None => "no stack is known to meet the limits".to_owned(),
    };
    let cheaper = priced.iter().take(first.unwrap_or(0)).filter(|cell| cell.does == Does::No).count();
    let cannot = match cheaper {
        0 => String::new(),
        n => format!("; {} can't", counted(n as u64, "cheaper one")),
    };
    let open = match unsaid.as_slice() {
        [] => String::new(),
        names => format!("; it leaves open: {}", list(names)),
    };
    format!("by the model {told}{cannot}{open}")
}

#[cfg(test)]
mod tests;
