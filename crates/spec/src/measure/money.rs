//! The budget of money: an amount, and its currency if it is there: `money: 5 EUR`.

use crate::fields::Fields;
use crate::money;
use crate::number::Number;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Key, Node, Value, find};
use crate::value;

/// The key, and its old name.
const KEY: &str = "money";
const OLD: &str = "cost";
const EXPECTED: &str = "an amount of money above 0 in the currency of the prices, with or without its name, e.g. `5 EUR` or `0.50`";

/// Reads the amount.
pub(super) fn read(budget: &Fields<'_>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    if let Some(Key { span, .. }) = budget.key(OLD) {
        if budget.key(KEY).is_some() {
            problems
                .add(*span, format!("`{OLD}` is the old name of `{KEY}`, which is there too"))
                .help(format!("remove `{OLD}`"));
            return None;
        }
        problems.note(*span, format!("`{OLD}` is `{KEY}` today; diskproof 1.0.0 refuses the old name"));
    }
    let node = budget.get(KEY).or_else(|| budget.get(OLD))?;
    let typed = value::text(node, EXPECTED, scope, problems)?;
    match money::amount(parts(&typed).0, scope).map(Number::to_f64) {
        Ok(amount) if amount > 0.0 && amount <= 1e12 => return Some(amount),
        Ok(_) => {
            problems.add(node.span, format!("{} is out of range", node.kind())).expected(EXPECTED);
        }
        Err(why) => {
            value::wrong(node, why, scope, problems);
            problems.amend(node.span).expected(EXPECTED);
        }
    }
    None
}

/// The amount and the currency of a text. An expression over parameters has no currency.
fn parts(typed: &str) -> (&str, Option<&str>) {
    let typed = typed.trim();
    let is_amount = |text: &str| Number::parse(text).is_some();
    match typed.split_once(char::is_whitespace) {
        Some((amount, currency)) if is_amount(amount) => (amount, Some(currency.trim())),
        _ => (typed, None),
    }
}

/// The node with the budget of money of `measure`.
pub(crate) fn node(measure: &Node) -> Option<&Node> {
    let budget = find(measure, "budget")?;
    find(budget, KEY).or_else(|| find(budget, OLD))
}

/// Returns the currency of all money: that of the experiment, or else that of the budget. If both name one, it is the same.
pub(crate) fn currency(
    measure: Option<&Node>,
    own: Option<String>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let Some(node) = measure.and_then(node) else { return own };
    let Value::Text(text) = &node.value else { return own };
    let Some(word) = parts(text).1 else { return own };
    let word = Node { span: node.span, value: Value::Text(word.to_owned()) };
    let of_budget = money::currency(&word, problems);
    if let (Some(own), Some(of_budget)) = (&own, &of_budget)
        && own != of_budget
    {
        problems
            .add(node.span, format!("the budget is in {of_budget}, and the prices are in {own}"))
            .help("use one currency; diskproof doesn't convert");
    }
    own.or(of_budget)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The budget and the currency, and the notes.
    fn read(top: &str, budget: &str) -> Result<(Option<f64>, Option<String>, String), String> {
        let text = format!(
            "experiment: demo\n{top}\nparameters: {{ most: 4 }}\nvolumes: {{ v: {{ emulate: {{ size: 1g }}, price: 8/month }} }}\n\
             stacks: {{ s: {{ on: v }} }}\nworkloads: {{ w: {{ rw: read, bs: 4k, size: 64m }} }}\nmeasure: {{ budget: {{ {budget} }} }}\n"
        );
        let loaded = crate::parse(&text, "demo.yaml", Path::new("/"), &Default::default());
        let loaded = loaded.map_err(|error| error.to_string())?;
        Ok((loaded.plan.measure.max_cost, loaded.plan.prices.currency, loaded.notes.join("\n")))
    }

    #[test]
    fn a_budget_names_its_currency_or_has_that_of_the_prices() {
        let eur = Some("EUR".to_owned());
        assert_eq!(read("", "money: 5 EUR").unwrap(), (Some(5.0), eur.clone(), String::new()));
        assert_eq!(read("currency: EUR", "money: 0.50").unwrap(), (Some(0.5), eur.clone(), String::new()));
        assert_eq!(read("currency: EUR", "money: 5 EUR").unwrap().1, eur);
        assert_eq!(read("", "money: most * 2").unwrap(), (Some(8.0), None, String::new()));
    }

    #[test]
    fn the_old_name_works_and_is_named() {
        let (most, _, notes) = read("", "cost: 5").unwrap();
        assert_eq!(most, Some(5.0));
        assert!(notes.contains("`cost` is `money` today; diskproof 1.0.0 refuses the old name"), "{notes}");
    }

    #[test]
    fn what_is_no_money_is_refused() {
        for (top, budget, part) in [
            ("currency: USD", "money: 5 EUR", "the budget is in EUR, and the prices are in USD"),
            ("", "money: 5 1", "is not a currency"),
            ("", "money: EUR 5", "neither a factor"),
            ("", "money: 0 EUR", "out of range"),
            ("", "money: 5, cost: 5", "the old name of `money`"),
        ] {
            let said = read(top, budget).unwrap_err();
            assert!(said.contains(part), "{budget}: {said}");
        }
    }
}
