//! Amounts of money, their currency, and the months that prices are for.

use crate::diagnostic::printable;
use crate::expression::evaluate;
use crate::number::Number;
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;

/// Hours of a month: a twelfth of a year of 365 days, as clouds count it.
pub(crate) const HOURS_PER_MONTH: i128 = 730;
/// Hours of a year of 365 days.
pub(crate) const HOURS_PER_YEAR: i128 = 8760;

/// Reads an amount: digits, or an expression over parameters.
pub(crate) fn amount(amount: &str, scope: &Scope<'_>) -> Result<Number, Wrong> {
    match Number::parse(amount) {
        Some(number) => Ok(number),
        None if amount.starts_with(|c: char| c.is_ascii_alphabetic() || c == '(') => {
            evaluate(amount, &mut |name| scope.number(name))
        }
        None => Err(Wrong::with(
            format!("`{}` is not an amount of money", printable(amount, 40)),
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
    problems.add(node.span, format!("`{}` is not a currency", printable(text, 20))).expected(EXPECTED);
    None
}
