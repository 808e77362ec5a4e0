//! `until: { best: price, want: LIMITS }`: the cheapest cell that keeps limits.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::{value, want};
use record::choice::Want;
use record::plan::{Cell, Goal, Prices};
use std::collections::BTreeSet;

const EXPECTED: &str = "limits, e.g. `want: 'iops >= 3000, read_lat_p99 <= 5ms'`";

/// Reads `want`, and refuses keys that `best` has no use for, and a `range` of lengths of trials. Returns no limits for another goal, and `None` if something is wrong.
pub(super) fn wants(
    fields: &Fields<'_>,
    goal: Option<Goal>,
    range: Option<&Node>,
    metrics: &[&str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Want>> {
    let span = |key: &str| fields.key(key).map(|key| key.span);
    if goal != Some(Goal::Cheapest) {
        if let (Some(span), Some(_)) = (span("want"), goal) {
            problems
                .add(span, "`want` goes with `best: price` only")
                .help("e.g. `until: { best: price, want: 'iops >= 3000' }`; other goals are about intervals");
        }
        return Some(Vec::new());
    }
    if let Some(span) = span("of") {
        problems
            .add(span, "`of` does not go with `best`: the limits in `want` name their metrics")
            .help("leave `of` out");
    }
    if let Some(node) = range {
        problems
            .add(node.span, "a range of lengths does not go with `best`: no width tells how long is enough")
            .expected("one time, e.g. `10s`");
    }
    let Some(node) = fields.get("want") else {
        let span = span("best")?;
        problems.add_missing(span, "`best` does not say which limits a cell must keep").expected(EXPECTED);
        return None;
    };
    let typed = value::text(node, EXPECTED, scope, problems)?;
    let wants = match want::wants(&typed) {
        Ok(wants) => wants,
        Err(why) => {
            problems.add(node.span, why).expected(EXPECTED);
            return None;
        }
    };
    for want in &wants {
        if !metrics.contains(&want.of.as_str()) {
            problems
                .add(node.span, format!("there is no metric `{}`", printable(&want.of, 40)))
                .suggest(&want.of, metrics.iter().copied());
            return None;
        }
    }
    Some(wants)
}

/// Checks that there are cells that can be the answer, and notes those that can't.
pub(super) fn check(
    node: &Node,
    wants: &[Want],
    cells: &[Cell],
    prices: &Prices,
    has: impl Fn(&Cell, &str) -> bool,
    problems: &mut Problems<'_>,
) {
    if prices.is_empty() {
        problems
            .add(node.span, "the cheapest cell can't be found: no volume has a price")
            .help("say what each volume costs: `vol: { price: 8/month, ... }`");
        return;
    }
    let names =
        |those: &BTreeSet<&str>| printable(&those.iter().copied().collect::<Vec<_>>().join(", "), 100);
    let unpriced = cells.iter().filter(|cell| !prices.machines.contains_key(&cell.target));
    let volumes = unpriced.flat_map(|cell| cell.stack.all_volumes());
    let free: BTreeSet<&str> = volumes
        .map(|volume| volume.name.as_str())
        .filter(|name| !prices.per_hour.contains_key(*name))
        .collect();
    if !free.is_empty() {
        problems.note(
            node.span,
            format!("volumes without a price: {}; cells on them are not measured", names(&free)),
        );
    }
    let lacking: BTreeSet<&str> = cells
        .iter()
        .filter(|cell| wants.iter().any(|want| !has(cell, &want.of)))
        .map(|cell| cell.workload.name.as_str())
        .collect();
    let searches: BTreeSet<&str> =
        cells.iter().filter(|cell| cell.find().is_some()).map(|cell| cell.workload.name.as_str()).collect();
    if !searches.is_empty() {
        problems.note(
            node.span,
            format!(
                "a search measures other loads in each trial, so it can't be the answer: {}",
                names(&searches)
            ),
        );
    }
    if !lacking.is_empty() {
        problems.note(
            node.span,
            format!("workloads without a wanted metric can't be the answer: {}", names(&lacking)),
        );
    }
    let may_be = |cell: &Cell| {
        cell.find().is_none()
            && (prices.machines.contains_key(&cell.target)
                || cell.stack.all_volumes().all(|volume| prices.per_hour.contains_key(&volume.name)))
            && wants.iter().all(|want| has(cell, &want.of))
    };
    if !cells.iter().any(may_be) {
        problems
            .add(node.span, "no cell can be the answer: none has both a price and all wanted metrics")
            .help("docs/metrics.md says which workloads have which metrics");
    }
}
