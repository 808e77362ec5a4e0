//! What the user expects: `expect`.

use crate::diagnostic::printable;
use crate::expression::{DIVISION_BY_ZERO, evaluate};
use crate::fields::Fields;
use crate::filter::{About, Rule, rule};
use crate::limits::{MAX_RULES, MAX_WORK};
use crate::matrix::Matrix;
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::{Level, Scope};
use crate::tree::Node;
use crate::value;
use crate::vocabulary::EXPECTATION;
use record::id::CellId;
use record::plan::{Cell, Derived, Expectation};
use std::collections::BTreeMap;

/// The least work for one expected value, in units of [`MAX_WORK`].
const PER_CELL: u128 = 100;

/// Reads all expectations, and computes the value for every cell.
pub(crate) fn read(
    node: Option<&Node>,
    matrix: &Matrix,
    metrics: &[&str],
    derived: &[Derived],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Vec<Expectation> {
    let Some(node) = node else { return Vec::new() };
    let nodes = crate::fields::list(node);
    if let Some(one) = nodes.get(MAX_RULES) {
        problems.add(one.span, format!("{} expectations; at most {MAX_RULES} are allowed", nodes.len()));
        return Vec::new();
    }
    let count = matrix.cells.as_ref().map_or(0, Vec::len);
    if nodes.len() as u128 * count as u128 * PER_CELL > MAX_WORK {
        too_many(node, count, problems);
        return Vec::new();
    }
    let mut left = MAX_WORK;
    nodes
        .iter()
        .filter_map(|node| one(node, matrix, (metrics, derived), &mut left, scope, problems))
        .collect()
}

fn too_many(node: &Node, cells: usize, problems: &mut Problems<'_>) {
    problems
        .add(node.span, format!("too many expectations for {cells} cells"))
        .help("fewer expectations, shorter expressions, or fewer patterns in `for`");
}

fn one(
    node: &Node,
    matrix: &Matrix,
    (metrics, derived): (&[&str], &[Derived]),
    left: &mut u128,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Expectation> {
    let fields = Fields::open(node, &EXPECTATION, problems)?;
    let of = match fields.get("of") {
        Some(of) => value::choice(of, metrics, scope, problems),
        None => None,
    };
    let within = fields.get("within").and_then(|within| tolerance(within, scope, problems));
    let only = match fields.get("for") {
        Some(node) => Some(rule(node, &matrix.factors, scope, problems)?),
        None => None,
    };
    let is = fields.get("is")?;
    let expression = value::raw(is, "an expression, e.g. 80 * n", problems)?;
    let Some(cells) = &matrix.cells else {
        check_syntax(is, expression, &matrix.factors, scope, problems);
        return None;
    };
    let per_cell = PER_CELL + expression.len() as u128 + only.as_ref().map_or(0, Rule::work);
    let Some(rest) = left.checked_sub(per_cell * cells.len() as u128) else {
        too_many(is, cells.len(), problems);
        return None;
    };
    *left = rest;
    let spoken_of: Vec<&Cell> = cells
        .iter()
        .filter(|cell| {
            let about = About {
                target: &cell.target,
                stack: &cell.stack.name,
                workload: &cell.workload.name,
                levels: &cell.levels,
            };
            has(cell, of, derived) && only.as_ref().is_none_or(|rule| rule.matches(&about))
        })
        .collect();
    let values = values(is, expression, &spoken_of, &matrix.factors, scope, problems)?;
    Some(Expectation { of: of?.to_owned(), expression: printable(expression, 200), within: within?, values })
}

/// Whether a cell has a metric, as far as it is a derived one.
fn has(cell: &Cell, of: Option<&str>, derived: &[Derived]) -> bool {
    let one = derived.iter().find(|one| Some(one.name.as_str()) == of);
    one.is_none_or(|one| one.cells.contains_key(&cell.id))
}

/// Returns the expected value of every cell that has the factors in the expression.
fn values(
    is: &Node,
    expression: &str,
    cells: &[&Cell],
    factors: &[String],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<BTreeMap<CellId, f64>> {
    let mut values = BTreeMap::new();
    for cell in cells {
        if let Some(value) = expected(is, expression, cell, factors, scope, problems)? {
            values.insert(cell.id.clone(), value);
        }
    }
    if values.is_empty() {
        problems.add(is.span, "the expectation speaks of no cell").help(if cells.is_empty() {
            "no cell matches `for`; names are compared with their levels filled in; `*` matches anything"
        } else {
            "no cell has all the factors it mentions"
        });
        return None;
    }
    Some(values)
}

/// Checks an expression without cells.
fn check_syntax(
    node: &Node,
    expression: &str,
    factors: &[String],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) {
    let names = factors.iter().map(|name| (name.clone(), Level::Text("1".to_owned()))).collect();
    let scope = Scope { parent: Some(scope), names };
    // With every factor at 1, a difference may be 0, so only names and syntax are checked here.
    let result = evaluate(expression, &mut |name| scope.number(name));
    if let Err(why) = result
        && why.message != DIVISION_BY_ZERO
    {
        value::wrong(node, why, &Scope::default(), problems);
    }
}

fn tolerance(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let within = value::ratio(node, scope, problems)?;
    if within > 0.0 && within <= 10.0 {
        return Some(within);
    }
    problems.add(node.span, format!("{} is out of range", node.kind())).expected("above 0%, at most 1000%");
    None
}

/// Returns the value for one cell; `Some(None)` if the cell lacks a factor that the expression mentions.
fn expected(
    node: &Node,
    expression: &str,
    cell: &Cell,
    factors: &[String],
    parameters: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Option<f64>> {
    let names = cell.levels.iter().map(|(name, level)| (name.clone(), Level::Text(level.clone()))).collect();
    let scope = Scope { parent: Some(parameters), names };
    let mut lacking = false;
    let result = evaluate(expression, &mut |name| {
        if scope.find(name).is_none() && factors.iter().any(|factor| factor == name) {
            lacking = true;
            return Err(Wrong::new("this cell has no such factor"));
        }
        scope.number(name)
    });
    match result {
        _ if lacking => Some(None),
        Ok(value) if value.is_negative() => {
            problems.add(
                node.span,
                format!("the expected value is negative: {value}{}", scope.levels_in(expression)),
            );
            None
        }
        Ok(value) => Some(Some(value.to_f64())),
        Err(why) => {
            value::wrong(node, why, &scope, problems);
            None
        }
    }
}
