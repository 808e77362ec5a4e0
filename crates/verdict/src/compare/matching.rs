//! Finds the same cell in two runs.

use super::judged::name;
use record::comparison::{Absence, CellName, LeftOut};
use record::judged::{CellView, RunView};

/// Pairs of the same cell: by id, else (in an edited experiment) by machine, stack, workload and levels. No cell is in two pairs.
pub(super) fn pairs<'a>(
    run: &[&'a CellView],
    baseline: &[&'a CellView],
) -> Vec<(&'a CellView, &'a CellView)> {
    let mut free: Vec<&CellView> = baseline.to_vec();
    let mut take = |is: &dyn Fn(&CellView) -> bool| {
        let place = free.iter().position(|b| is(b))?;
        Some(free.remove(place))
    };
    let mut partners: Vec<Option<&CellView>> = run.iter().map(|a| take(&|b| b.id == a.id)).collect();
    for (a, partner) in run.iter().zip(&mut partners).filter(|(_, p)| p.is_none()) {
        *partner = take(&|b| same_name(a, b));
    }
    run.iter().zip(partners).filter_map(|(a, b)| Some((*a, b?))).collect()
}

fn same_name(a: &CellView, b: &CellView) -> bool {
    (&a.target, &a.stack, &a.workload, &a.levels) == (&b.target, &b.stack, &b.workload, &b.levels)
}

/// The cell of a run that has this id, or else these names.
pub(super) fn named<'a>(view: &'a RunView, cell: &CellName) -> Option<&'a CellView> {
    let by_id = view.cells.iter().find(|c| c.id == cell.id);
    let is_named = |c: &&CellView| {
        (&c.target, &c.stack, &c.workload, &c.levels)
            == (&cell.target, &cell.stack, &cell.workload, &cell.levels)
    };
    by_id.or_else(|| view.cells.iter().find(is_named))
}

/// Cells that only one of the runs has.
pub(super) fn unmatched(
    run: &RunView,
    above: &[&CellView],
    baseline: &RunView,
    below: &[&CellView],
    matched: &[(&CellView, &CellView)],
) -> Vec<LeftOut> {
    let lone = |view: &RunView, other: &RunView, cell: &CellView| {
        let there = other.cells.iter().any(|o| o.id == cell.id || same_name(cell, o));
        // If the other run has the cell, but without storage figures, that list names it.
        (!there).then(|| LeftOut {
            run: view.run.clone(),
            cell: name(cell),
            why: Absence::Alone,
            is_missing: false,
            text: format!("only run {} has it", view.run),
        })
    };
    let of_run = above.iter().filter(|c| !matched.iter().any(|(a, _)| a.id == c.id));
    let of_baseline = below.iter().filter(|c| !matched.iter().any(|(_, b)| b.id == c.id));
    of_run
        .filter_map(|c| lone(run, baseline, c))
        .chain(of_baseline.filter_map(|c| lone(baseline, run, c)))
        .collect()
}
