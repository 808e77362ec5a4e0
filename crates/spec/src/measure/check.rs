//! Checks of `measure` that need the cells: whether they have the metric, whether there is anything to compare, and the prices.

use super::{best, money};
use crate::diagnostic::printable;
use crate::problems::Problems;
use crate::tree::{Node, find};
use record::metric::info;
use record::plan::{Cell, Derived, Goal, Measure, Prices, Until};
use std::collections::{BTreeMap, BTreeSet};

/// The rest of the file, after reading.
pub(crate) struct Rest<'a> {
    pub(crate) cells: &'a [Cell],
    pub(crate) derived: &'a [Derived],
    pub(crate) prices: &'a Prices,
    /// Whether a driver creates machines: it tells their prices when it is asked.
    pub(crate) has_driver: bool,
}

/// Checks `measure` against the rest of the file.
pub(crate) fn check(node: &Node, measure: &Measure, rest: &Rest<'_>, problems: &mut Problems<'_>) {
    if let Some(most) = money::node(node) {
        prices(most, rest, problems);
    }
    if let (Some(node), Some(until)) = (find(node, "until"), &measure.until) {
        goal(node, until, rest, problems);
    }
}

fn prices(most: &Node, rest: &Rest<'_>, problems: &mut Problems<'_>) {
    if rest.has_driver {
        return;
    }
    if rest.prices.is_empty() {
        problems
            .add(most.span, "money can't be counted: no volume has a price")
            .help("say what each volume costs: `vol: { price: 8/month, ... }`");
        return;
    }
    let unpriced = rest.cells.iter().filter(|cell| !rest.prices.machines.contains_key(&cell.target));
    let volumes = unpriced.flat_map(|cell| &cell.stack.volumes).map(|volume| volume.name.as_str());
    let free: BTreeSet<&str> = volumes.filter(|name| !rest.prices.per_hour.contains_key(*name)).collect();
    if !free.is_empty() {
        let names = printable(&free.into_iter().collect::<Vec<_>>().join(", "), 100);
        problems.note(most.span, format!("volumes without a price count as free: {names}"));
    }
}

fn goal(node: &Node, until: &Until, rest: &Rest<'_>, problems: &mut Problems<'_>) {
    if let Some(wants) = until.cheapest_with() {
        if rest.has_driver {
            return;
        }
        let has = |cell: &Cell, of: &str| has(cell, of, rest.derived);
        return best::check(node, wants, rest.cells, rest.prices, has, problems);
    }
    let of = until.of.as_deref().unwrap_or("iops");
    let span = find(node, "of").unwrap_or(node).span;
    let having: Vec<&Cell> = rest.cells.iter().filter(|cell| has(cell, of, rest.derived)).collect();
    if having.is_empty() {
        problems
            .add(span, format!("no cell has `{of}`, so it can never be enough"))
            .help("name a metric of what the workloads do: read_... of reads, write_... of writes, trim_... of trims");
        return;
    }
    if having.len() < rest.cells.len() {
        let without = rest.cells.len() - having.len();
        problems.note(
            span,
            format!(
                "{without} of {} cells have no `{of}`: they don't decide when it is enough",
                rest.cells.len()
            ),
        );
    }
    let (Goal::Ratios(_) | Goal::Told(_)) = until.goal else { return };
    let mut of_workload: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &having {
        *of_workload.entry(&cell.workload.name).or_default() += 1;
    }
    if of_workload.values().all(|cells| *cells < 2) {
        problems
            .add(node.span, "there is nothing to compare: no workload has two cells")
            .expected("two stacks or more under one workload")
            .help("`until: { interval: 5% }` asks about each cell by itself");
    }
}

/// Whether a cell has a metric, measured or derived.
fn has(cell: &Cell, of: &str, derived: &[Derived]) -> bool {
    let had = |name: &str| info(name).is_some_and(|metric| metric.had_by(cell));
    match derived.iter().find(|one| one.name == of) {
        Some(one) => one.cells.get(&cell.id).is_some_and(|formula| {
            [&formula.over, &formula.under].into_iter().flatten().all(|name| had(name))
        }),
        None => had(of),
    }
}
