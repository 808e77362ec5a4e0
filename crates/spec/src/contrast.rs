//! Ratios between groups of cells: `contrast: { nfs: { of: iops, a: { stack: nfs }, b: { stack: local } } }`.

use crate::fields::{Fields, named};
use crate::filter::{About, Rule, rule};
use crate::limits::{MAX_RULES, MAX_WORK};
use crate::matrix::Matrix;
use crate::name::check_plain;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Key, Node};
use crate::value;
use crate::vocabulary::CONTRAST;
use record::id::CellId;
use record::plan::{Cell, Contrast};

/// The least work to look at one cell, in units of [`MAX_WORK`].
const PER_CELL: u128 = 100;

/// Reads all contrasts, and finds the cells of each.
pub(crate) fn read(
    node: Option<&Node>,
    matrix: &Matrix,
    metrics: &[&str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Vec<Contrast> {
    const WHAT: &str = "a map: NAME: { of: METRIC, a: RULE, b: RULE }";
    let Some(entries) = node.and_then(|node| named(node, WHAT, problems)) else { return Vec::new() };
    if let Some((key, _)) = entries.get(MAX_RULES) {
        problems.add(key.span, format!("{} contrasts; at most {MAX_RULES} are allowed", entries.len()));
        return Vec::new();
    }
    let mut left = MAX_WORK;
    entries
        .iter()
        .filter_map(|(key, node)| one(key, node, matrix, metrics, &mut left, scope, problems))
        .collect()
}

fn one(
    key: &Key,
    node: &Node,
    matrix: &Matrix,
    metrics: &[&str],
    left: &mut u128,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Contrast> {
    check_plain(key, "a contrast", problems)?;
    let fields = Fields::open(node, &CONTRAST, problems)?;
    let of = value::choice(fields.get("of")?, metrics, scope, problems);
    let mut side = |name: &str, problems: &mut Problems<'_>| {
        let node = fields.get(name)?;
        let rule = rule(node, &matrix.factors, scope, problems)?;
        let cells = matrix.cells.as_ref()?;
        let Some(rest) = left.checked_sub((PER_CELL + rule.work()) * cells.len() as u128) else {
            problems
                .add(node.span, format!("too many contrasts for {} cells", cells.len()))
                .help("fewer contrasts, or fewer patterns in `a` and `b`");
            return None;
        };
        *left = rest;
        let found: Vec<&Cell> = cells.iter().filter(|cell| matches(&rule, cell)).collect();
        if found.is_empty() {
            problems
                .add(node.span, format!("`{name}` of contrast `{}` matches no cell", key.text))
                .help("names are compared with their levels filled in; `*` matches anything");
            return None;
        }
        Some(found)
    };
    let (a, b) = (side("a", problems), side("b", problems));
    let (a, b) = (a?, b?);
    if let Some(both) = a.iter().find(|cell| b.contains(cell)) {
        let message = format!(
            "`a` and `b` of contrast `{}` both have the cell of stack `{}` and workload `{}`",
            key.text, both.stack.name, both.workload.name
        );
        problems.add(key.span, message).help("a ratio is of different cells: narrow one of them");
        return None;
    }
    let ids = |cells: Vec<&Cell>| -> Vec<CellId> { cells.into_iter().map(|cell| cell.id.clone()).collect() };
    Some(Contrast { name: key.text.clone(), of: of?.to_owned(), a: ids(a), b: ids(b) })
}

fn matches(rule: &Rule, cell: &Cell) -> bool {
    rule.matches(&About {
        target: &cell.target,
        stack: &cell.stack.name,
        workload: &cell.workload.name,
        levels: &cell.levels,
    })
}
