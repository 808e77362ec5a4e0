//! Metrics derived from others, cell by cell: `derive: { iops_per_eur: iops / price_per_month }`.

use crate::diagnostic::{nearest, printable};
use crate::expression::{DIVISION_BY_ZERO, Operand, evaluate};
use crate::fields::named;
use crate::formula::Term;
use crate::limits::{MAX_DERIVED, MAX_WORK};
use crate::matrix::Matrix;
use crate::money::HOURS_PER_MONTH;
use crate::number::Number;
use crate::parameter::check_name;
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::{Level, Scope};
use crate::tree::{Key, Node, Value};
use crate::value;
use record::id::CellId;
use record::metric::{METRICS, info};
use record::plan::{Cell, Derived, Formula};
use std::collections::{BTreeMap, BTreeSet};

/// Names for the total price of a cell's volumes and machine.
const PRICES: [&str; 2] = ["price_per_hour", "price_per_month"];
/// The least work for one formula, in units of [`MAX_WORK`]: it is kept for every cell.
const PER_CELL: u128 = 400;

/// Returns the names of all metrics: measured ones, and those that the experiment derives.
pub(crate) fn metrics(node: Option<&Node>) -> Vec<&str> {
    let derived = match node.map(|node| &node.value) {
        Some(Value::Map(entries)) => entries.as_slice(),
        _ => &[],
    };
    METRICS.iter().map(|metric| metric.name).chain(derived.iter().map(|(key, _)| key.text.as_str())).collect()
}

/// Reads all derived metrics and reduces each to a formula per cell.
pub(crate) fn read(
    node: Option<&Node>,
    matrix: &Matrix,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Vec<Derived> {
    const WHAT: &str = "a map: NAME: EXPRESSION, e.g. { iops_per_money: iops / price_per_month }";
    let Some(entries) = node.and_then(|node| named(node, WHAT, problems)) else { return Vec::new() };
    if let Some((key, _)) = entries.get(MAX_DERIVED) {
        let message = format!("{} derived metrics; at most {MAX_DERIVED} are allowed", entries.len());
        problems.add(key.span, message);
        return Vec::new();
    }
    let mut left = MAX_WORK;
    entries.iter().filter_map(|(key, node)| one(key, node, matrix, &mut left, scope, problems)).collect()
}

fn one(
    key: &Key,
    node: &Node,
    matrix: &Matrix,
    left: &mut u128,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Derived> {
    check_name(key, "derived metric", problems)?;
    if info(&key.text).is_some() || PRICES.contains(&key.text.as_str()) {
        problems
            .add(key.span, format!("`{}` is already the name of a measured or known value", key.text))
            .help("choose another name for the derived metric");
        return None;
    }
    let expression = value::raw(node, "an expression, e.g. iops / price_per_month", problems)?;
    let Some(cells) = &matrix.cells else {
        check_syntax(node, expression, matrix, scope, problems);
        return None;
    };
    let work = (PER_CELL + expression.len() as u128) * cells.len() as u128;
    let Some(rest) = left.checked_sub(work) else {
        problems
            .add(node.span, format!("too many derived metrics for {} cells", cells.len()))
            .help("fewer of them, or shorter expressions");
        return None;
    };
    *left = rest;
    let mut about = About { matrix, parameters: scope, unpriced: BTreeSet::new() };
    let mut formulas = BTreeMap::new();
    for cell in cells {
        if let Some(formula) = about.formula(node, expression, cell, problems)? {
            formulas.insert(cell.id.clone(), formula);
        }
    }
    about.tell(key, node, cells.len(), &formulas, problems)?;
    Some(Derived { name: key.text.clone(), expression: printable(expression, 200), cells: formulas })
}

/// Computes formulas, and remembers why cells have none.
struct About<'a> {
    matrix: &'a Matrix,
    parameters: &'a Scope<'a>,
    unpriced: BTreeSet<String>,
}

impl About<'_> {
    /// Returns the formula of one cell; `Some(None)` if the cell lacks a factor or price that the expression mentions.
    fn formula(
        &mut self,
        node: &Node,
        expression: &str,
        cell: &Cell,
        problems: &mut Problems<'_>,
    ) -> Option<Option<Formula>> {
        let names =
            cell.levels.iter().map(|(name, level)| (name.clone(), Level::Text(level.clone()))).collect();
        let scope = Scope { parent: Some(self.parameters), names };
        let mut lacking = false;
        let result = evaluate(expression, &mut |name| {
            let found = self.named(name, cell, &scope)?;
            lacking |= found.is_none();
            found.ok_or_else(|| Wrong::new("this cell has no such value"))
        });
        match result.and_then(Term::formula) {
            _ if lacking => Some(None),
            Ok(formula) => Some(Some(formula)),
            Err(why) => {
                value::wrong(node, why, &scope, problems);
                None
            }
        }
    }

    /// Returns the value of a name in a cell; `None`: the cell has no such factor, or no price.
    fn named(&mut self, name: &str, cell: &Cell, scope: &Scope<'_>) -> Result<Option<Term>, Wrong> {
        let factor = self.matrix.factors.iter().any(|factor| factor == name);
        let taken = factor || scope.find(name).is_some();
        if taken && (info(name).is_some() || PRICES.contains(&name)) {
            return Err(Wrong::with(
                format!("`{name}` means two things here: a metric or price, and a factor or parameter"),
                "give the factor or parameter another name",
            ));
        }
        if info(name).is_some() {
            return Ok(Some(Term::metric(name)));
        }
        if PRICES.contains(&name) {
            return self.price(name, cell);
        }
        match scope.find(name) {
            Some(_) => scope.number(name).map(|number| Some(Term::number(number))),
            None if factor => Ok(None),
            None => Err(unknown(name, scope)),
        }
    }

    /// Returns the total price of the cell's volumes and machine, if all volumes have a price; a machine with a price contains those
    /// without.
    fn price(&mut self, name: &str, cell: &Cell) -> Result<Option<Term>, Wrong> {
        let machine = self.matrix.machines.get(&cell.target);
        let mut sum = machine.copied().unwrap_or(Number::integer(0));
        let mut all = true;
        for volume in cell.stack.all_volumes() {
            if let Some(price) = self.matrix.prices.get(&volume.name) {
                sum = Operand::add(sum, *price)?;
            } else if machine.is_none() {
                all = false;
                self.unpriced.insert(volume.name.clone());
            }
        }
        if name == "price_per_month" {
            sum = Operand::multiply(sum, Number::integer(HOURS_PER_MONTH))?;
        }
        Ok(all.then(|| Term::number(sum)))
    }

    /// Notes which cells lack the metric. A metric that no cell has is an error.
    fn tell(
        &self,
        key: &Key,
        node: &Node,
        cells: usize,
        formulas: &BTreeMap<CellId, Formula>,
        problems: &mut Problems<'_>,
    ) -> Option<()> {
        let name = &key.text;
        let unpriced =
            printable(&self.unpriced.iter().map(String::as_str).collect::<Vec<_>>().join(", "), 100);
        match (formulas.is_empty(), self.unpriced.is_empty()) {
            (true, true) => {
                problems
                    .add(node.span, format!("no cell has `{name}`"))
                    .help("no cell has all the factors that the expression mentions");
                None
            }
            (true, false) => {
                problems
                    .add(node.span, format!("no cell has `{name}`: volumes without a price: {unpriced}"))
                    .help("say what each volume costs: `vol: { price: 8/month, ... }`");
                None
            }
            (false, false) => {
                let lacking = cells - formulas.len();
                problems.note(
                    node.span,
                    format!(
                        "{lacking} of {cells} cells have no `{name}`: volumes without a price: {unpriced}"
                    ),
                );
                Some(())
            }
            (false, true) => Some(()),
        }
    }
}

fn unknown(name: &str, scope: &Scope<'_>) -> Wrong {
    let known = || METRICS.iter().map(|metric| metric.name).chain(PRICES).chain(scope.known());
    Wrong {
        message: format!("`{}` is neither a metric nor a price, factor or parameter", printable(name, 40)),
        help: Some(printable(
            &format!(
                "metrics are those of docs/metrics.md, not derived ones: write those out; beside them {}",
                PRICES.into_iter().chain(scope.known()).collect::<Vec<_>>().join(", ")
            ),
            300,
        )),
        near: nearest(name, known()),
    }
}

/// Checks an expression without cells: its names and its sums.
fn check_syntax(
    node: &Node,
    expression: &str,
    matrix: &Matrix,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) {
    let names = matrix.factors.iter().map(|name| (name.clone(), Level::Text("1".to_owned()))).collect();
    let scope = Scope { parent: Some(scope), names };
    let result = evaluate(expression, &mut |name| match name {
        _ if info(name).is_some() => Ok(Term::metric(name)),
        _ if PRICES.contains(&name) => Ok(Term::number(Number::integer(1))),
        _ if scope.find(name).is_none() => Err(unknown(name, &scope)),
        _ => scope.number(name).map(Term::number),
    });
    if let Err(why) = result
        && why.message != DIVISION_BY_ZERO
    {
        value::wrong(node, why, &Scope::default(), problems);
    }
}
