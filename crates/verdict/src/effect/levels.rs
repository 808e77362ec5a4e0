//! The cells by the levels of their factors.

use crate::factors::Shared;
use crate::pairing::by_round;
use record::judged::CellView;
use record::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// The name of a stack, without its factors' levels, as a factor.
pub(super) const STACK: &str = "stack";
/// The same of a workload.
pub(super) const WORKLOAD: &str = "workload";
/// The machine as a factor.
pub(super) const MACHINE: &str = "machine";

/// A cell with a storage figure.
pub(crate) struct Placed<'a> {
    /// Its level of each factor.
    pub(crate) levels: BTreeMap<&'a str, String>,
    pub(crate) view: &'a CellView,
}

/// The cells that have storage figures. A name or machine that all cells share is no factor.
pub(crate) fn placed<'a>(plan: &'a Plan, shared: &Shared<'a>, cells: &'a [CellView]) -> Vec<Placed<'a>> {
    let views: BTreeMap<_, _> = cells.iter().map(|cell| (&cell.id, cell)).collect();
    let mut all: Vec<Placed<'a>> = Vec::new();
    for cell in &plan.cells {
        let Some(view) = views.get(&cell.id).filter(|view| !view.void) else { continue };
        let mut levels: BTreeMap<&str, String> =
            cell.levels.iter().map(|(factor, level)| (factor.as_str(), level.clone())).collect();
        let frame = [
            (STACK, shared.pattern(cell, &cell.stack.name)),
            (WORKLOAD, shared.pattern(cell, &cell.workload.name)),
            (MACHINE, cell.target.clone()),
        ];
        for (factor, level) in frame {
            levels.entry(factor).or_insert(level);
        }
        all.push(Placed { levels, view });
    }
    all
}

/// One combination of the levels of all factors but one.
pub(super) struct Block<'a> {
    /// The other factors' levels.
    pub(super) others: BTreeMap<&'a str, &'a str>,
    /// The cell of each level of the factor.
    pub(super) cells: BTreeMap<&'a str, &'a CellView>,
}

/// The combinations of the other factors in which each of these levels of the factor has a storage figure.
pub(super) fn blocks<'a>(all: &'a [Placed<'a>], factor: &str, levels: &BTreeSet<&str>) -> Vec<Block<'a>> {
    let mut found: BTreeMap<BTreeMap<&str, &str>, BTreeMap<&str, &CellView>> = BTreeMap::new();
    for cell in all {
        let Some(level) = cell.levels.get(factor) else { continue };
        let others = cell
            .levels
            .iter()
            .filter(|(other, _)| **other != factor)
            .map(|(f, l)| (*f, l.as_str()))
            .collect();
        found.entry(others).or_default().insert(level, cell.view);
    }
    let complete = |cells: &BTreeMap<&str, &CellView>| cells.len() == levels.len();
    found.into_iter().filter(|(_, c)| complete(c)).map(|(others, cells)| Block { others, cells }).collect()
}

/// The combinations at one level of another factor, and the rest of those that have that factor.
pub(super) fn within<'b, 'a>(
    blocks: &'b [Block<'a>],
    factor: &str,
    level: &str,
) -> (Vec<&'b Block<'a>>, Vec<&'b Block<'a>>) {
    let having = blocks.iter().filter(|block| block.others.contains_key(factor));
    having.partition(|block| block.others.get(factor) == Some(&level))
}

/// The mean over the combinations of ln(figure at `a` / figure at `b`), by round from 0; `None` in a round that lacks a cell.
pub(super) fn means(blocks: &[&Block<'_>], a: &str, b: &str, metric: &str) -> Vec<Option<f64>> {
    let rounds = |block: &Block<'_>, level: &str| {
        block.cells.get(level).and_then(|cell| by_round(cell, metric)).unwrap_or_default()
    };
    let sides: Vec<[Vec<Option<f64>>; 2]> =
        blocks.iter().map(|block| [rounds(block, a), rounds(block, b)]).collect();
    let last = sides.iter().flatten().map(Vec::len).min().unwrap_or(0);
    let mean = |round: usize| {
        let ratio = |[a, b]: &[Vec<Option<f64>>; 2]| Some(((*a.get(round)?)? / (*b.get(round)?)?).ln());
        let logs: Option<Vec<f64>> = sides.iter().map(ratio).collect();
        let logs = logs.filter(|logs| !logs.is_empty() && logs.iter().all(|log| log.is_finite()))?;
        Some(logs.iter().sum::<f64>() / logs.len() as f64)
    };
    (0..last).map(mean).collect()
}
