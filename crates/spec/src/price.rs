//! Prices of volumes: `price: 8/month` at a volume, `currency: EUR` at the top.

use crate::diagnostic::{nearest, printable};
use crate::expression::evaluate;
use crate::fields::Fields;
use crate::number::Number;
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use record::plan::Prices;

/// Hours of a month: a twelfth of a year of 365 days, as clouds count it.
pub(crate) const HOURS_PER_MONTH: i128 = 730;
const UNITS: [(&str, i128); 4] = [("hour", 1), ("day", 24), ("month", HOURS_PER_MONTH), ("year", 8760)];
const EXPECTED: &str = "money per time: `8/month`, `0.011/hour`, also `/day` and `/year`";

/// Reads the price of a volume, per hour.
pub(crate) fn read(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Number> {
    let typed = value::text(node, EXPECTED, scope, problems)?;
    match per_hour(&typed, scope) {
        Ok(price) => Some(price),
        Err(why) => {
            value::wrong(node, why, scope, problems);
            problems.amend(node.span).expected(EXPECTED);
            None
        }
    }
}

fn per_hour(typed: &str, scope: &Scope<'_>) -> Result<Number, Wrong> {
    let shown = printable(typed, 40);
    let Some((amount, unit)) = typed.rsplit_once('/') else {
        return Err(Wrong::with(
            format!("`{shown}` does not say for how long"),
            format!("write e.g. `{shown}/month`"),
        ));
    };
    let unit = unit.trim();
    let Some((_, hours)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let message = format!("`{}` is no time of a price", printable(unit, 20));
        let near = nearest(unit, UNITS.iter().map(|(name, _)| *name));
        return Err(Wrong { message, help: None, near });
    };
    let money = money(amount.trim(), scope)?;
    let price = money.divide(Number::integer(*hours)).filter(|price| (1e-9..=1e9).contains(&price.to_f64()));
    price.ok_or_else(|| {
        let help =
            "leave the price out where there is none; such a volume has no cost, and no price in `derive`";
        Wrong::with(format!("`{shown}` is out of range"), help)
    })
}

/// Reads an amount: digits, or an expression over parameters.
pub(crate) fn money(amount: &str, scope: &Scope<'_>) -> Result<Number, Wrong> {
    match Number::parse(amount) {
        Some(number) => Ok(number),
        None if amount.starts_with(|c: char| c.is_ascii_alphabetic() || c == '(') => {
            evaluate(amount, &mut |name| scope.number(name))
        }
        None => Err(Wrong::with(
            format!("`{}` is no amount of money", printable(amount, 40)),
            "write the number alone; its currency is said once, at the top: `currency: EUR`",
        )),
    }
}

/// Reads the currency.
pub(crate) fn currency(node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    const EXPECTED: &str = "a name or sign of money, e.g. `EUR`";
    let text = value::raw(node, EXPECTED, problems)?;
    let odd = |c: char| {
        c.is_control()
            || c.is_whitespace()
            || c.is_ascii_digit()
            || printable(&c.to_string(), 1) != c.to_string()
    };
    if (1..=8).contains(&text.chars().count()) && !text.contains(odd) {
        return Some(text.to_owned());
    }
    problems.add(node.span, format!("`{}` is no currency", printable(text, 20))).expected(EXPECTED);
    None
}

/// Notes a currency without prices.
pub(crate) fn check(fields: &Fields<'_>, prices: &Prices, problems: &mut Problems<'_>) {
    if let (Some(currency), true) = (fields.get("currency"), prices.per_hour.is_empty()) {
        problems.note(currency.span, "no volume of any cell has a `price`, so nothing is in this currency");
    }
}
