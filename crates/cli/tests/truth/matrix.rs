//! The confusion matrix.

use super::check::{CheckResult, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};

/// The matrix as text. Rows: the truth. Columns: the claims. A scenario counts in the column of each of its claims.
pub(crate) fn text(outcomes: &[Outcome]) -> String {
    let is_made = |o: &&Outcome| !matches!(o.standing, CheckResult::Unmade(_) | CheckResult::Skipped(_));
    let made: Vec<&Outcome> = outcomes.iter().filter(is_made).collect();
    let mut text = String::from("Claims (note where one was expected, else caveat or void):\n\n");
    text.push_str(&table(&made, |o| o.claims.iter().map(snake).collect()));
    text.push_str("\nLimits:\n\n");
    let limited: Vec<&Outcome> = made.iter().copied().filter(|o| o.limit.is_some()).collect();
    text.push_str(&table(&limited, |o| o.limit.iter().map(snake).collect()));
    text
}

/// A variant's name in formats.
pub(crate) fn snake<T: Debug>(variant: &T) -> String {
    let mut text = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn table(outcomes: &[&Outcome], columns_of: impl Fn(&Outcome) -> Vec<String>) -> String {
    const NOTHING: &str = "nothing";
    let mut rows: Vec<&str> = Vec::new();
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for outcome in outcomes {
        if !rows.contains(&outcome.truth) {
            rows.push(outcome.truth);
        }
        let mut columns = columns_of(outcome);
        if columns.is_empty() {
            columns.push(NOTHING.to_owned());
        }
        for column in columns {
            *counts.entry((outcome.truth, column)).or_default() += 1;
        }
    }
    let columns: BTreeSet<&String> = counts.keys().map(|(_, column)| column).collect();
    let mut text = String::new();
    for (number, column) in columns.iter().enumerate() {
        let _ = writeln!(text, "{:>2} {column}", number + 1);
    }
    let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let _ = write!(text, "\n{:width$}", "");
    (1..=columns.len()).for_each(|number| {
        let _ = write!(text, " {number:>2}");
    });
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{row:width$}");
        for column in &columns {
            let count = counts.get(&(row, (*column).clone())).map_or(".".to_owned(), usize::to_string);
            let _ = write!(text, " {count:>2}");
        }
        text.push('\n');
    }
    text
}
