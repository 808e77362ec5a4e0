//! What the user expects: `expect`.

use crate::diagnostic::printable;
use crate::expression::{DIVISION_BY_ZERO, evaluate};
use crate::fields::Fields;
use crate::filter::{About, Rule, rule};
use crate::limits::{MAX_RULES, MAX_WORK};
use crate::matrix::Matrix;
use crate::number::Number;
use crate::problems::Problems;
use crate::quantity::{Wrong, duration};
use crate::scope::{Level, Scope};
use crate::tree::Node;
use crate::value;
use crate::vocabulary::EXPECTATION;
use record::id::CellId;
use record::metric::{MetricOf, info};
use record::plan::{Bound, Cell, Derived, Expectation};
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
        .flatten()
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
) -> Option<Vec<Expectation>> {
    let fields = Fields::open(node, &EXPECTATION, problems)?;
    let of = match fields.get("of") {
        Some(of) => value::choice(of, metrics, scope, problems),
        None => None,
    };
    let only = match fields.get("for") {
        Some(node) => Some(rule(node, &matrix.factors, scope, problems)?),
        None => None,
    };
    let bounds = bounds(node, &fields, of, scope, problems)?;
    let Some(cells) = &matrix.cells else {
        for asked in &bounds {
            check_syntax(asked.node, &asked.expression, &matrix.factors, scope, problems);
        }
        return None;
    };
    let length: usize = bounds.iter().map(|asked| asked.expression.len()).sum();
    let per_cell = PER_CELL + length as u128 + only.as_ref().map_or(0, Rule::work);
    let Some(rest) = left.checked_sub(per_cell * cells.len() as u128) else {
        too_many(node, cells.len(), problems);
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
    let of = of?;
    if let Some(asked) = bounds.first()
        && !cells.iter().any(|cell| syncs_enough(cell, Some(of)))
    {
        problems.add(asked.node.span, format!("no cell has `{of}`")).help(
            "a workload has it with `fsync`, `fdatasync` or `sync`; fio knows durable writes only by their mean, at a depth of 1",
        );
        return None;
    }
    let read = |asked: &Asked<'_>| {
        let values = values(asked.node, &asked.expression, &spoken_of, &matrix.factors, scope, problems)?;
        let (of, expression) = (of.to_owned(), printable(asked.written, 200));
        Some(Expectation { of, expression, bound: asked.bound, within: asked.within, values })
    };
    bounds.iter().map(read).collect()
}

/// A bound of an expectation: its value as written, and as an expression in the metric's unit.
struct Asked<'n> {
    node: &'n Node,
    bound: Bound,
    within: f64,
    written: &'n str,
    expression: String,
}

/// Reads `is` with `within`, or `at_least`, `at_most` or both.
fn bounds<'n>(
    node: &'n Node,
    fields: &Fields<'n>,
    of: Option<&str>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Asked<'n>>> {
    let sided = [("at_least", Bound::AtLeast), ("at_most", Bound::AtMost)];
    let sided: Vec<_> =
        sided.into_iter().filter_map(|(key, bound)| Some((fields.get(key)?, bound))).collect();
    match (fields.get("is"), fields.get("within"), sided.is_empty()) {
        (Some(is), Some(within), true) => {
            let written = value::raw(is, "an expression, e.g. 80 * n", problems);
            let within = tolerance(within, scope, problems)?;
            let (written, expression) = (written?, written?.to_owned());
            Some(vec![Asked { node: is, bound: Bound::Within, within, written, expression }])
        }
        (None, None, false) => {
            let asked = |(node, bound): (&'n Node, Bound)| {
                let written = value::raw(node, "an expression, a size or a time, e.g. 10ms", problems)?;
                let expression = match in_unit(written, of) {
                    Ok(expression) => expression,
                    Err(why) => {
                        value::wrong(node, why, scope, problems);
                        return None;
                    }
                };
                Some(Asked { node, bound, within: 0.0, written, expression })
            };
            sided.into_iter().map(asked).collect()
        }
        _ => {
            problems
                .add_missing(
                    node.span,
                    "an expectation needs `is` with `within`, or `at_least`, `at_most` or both",
                )
                .help("e.g. { of: iops, is: 80 * n, within: 5% } or { of: read_lat_p99, at_most: 10ms }");
            None
        }
    }
}

/// The value in the metric's unit: `10ms` of a latency in microseconds is `10000`. What has no suffix is an expression in that unit
/// already.
fn in_unit(written: &str, of: Option<&str>) -> Result<String, Wrong> {
    let has_suffix = written.starts_with(|c: char| c.is_ascii_digit())
        && written.ends_with(|c: char| c.is_ascii_alphabetic())
        && written.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    let unit = of.and_then(info).map_or("", |metric| metric.unit);
    let time = |per_second: i128| {
        let number = duration(written)?.multiply(Number::integer(per_second));
        number.ok_or_else(|| Wrong::new(format!("`{}` is too long", printable(written, 40))))
    };
    Ok(match unit {
        "us" if has_suffix => time(1_000_000)?.to_string(),
        "s" if has_suffix => time(1)?.to_string(),
        _ => written.to_owned(),
    })
}

/// Whether a cell has a metric, as far as it is a derived one or needs syncs.
fn has(cell: &Cell, of: Option<&str>, derived: &[Derived]) -> bool {
    let one = derived.iter().find(|one| Some(one.name.as_str()) == of);
    one.is_none_or(|one| one.cells.contains_key(&cell.id)) && syncs_enough(cell, of)
}

/// Whether a cell syncs its writes, and its engine tells of that what the metric needs; true for all other metrics.
fn syncs_enough(cell: &Cell, of: Option<&str>) -> bool {
    let needs_syncs = |of: MetricOf| matches!(of, MetricOf::Sync | MetricOf::Durable(_));
    of.and_then(info).is_none_or(|metric| !needs_syncs(metric.of) || metric.had_by(cell))
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
        problems.add(is.span, "the expectation matches no cell").help(if cells.is_empty() {
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
