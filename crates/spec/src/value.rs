//! Reads a node of the tree as a value of a type, with factors and parameters filled in. `None` means that an error was reported.

use crate::expression::{evaluate, is_name};
use crate::number::Number;
use crate::problems::Problems;
use crate::quantity::{Wrong, amount, duration, duration_or, percent};
use crate::scope::{Level, Scope};
use crate::tree::{Node, Value};
use record::quantity::{Bytes, Seconds};
use std::ops::RangeInclusive;

/// Reports an error in a value.
pub(crate) fn wrong(node: &Node, why: Wrong, scope: &Scope<'_>, problems: &mut Problems<'_>) {
    let diagnostic = problems.add(node.span, format!("{}{}", why.message, levels(node, scope)));
    diagnostic.did_you_mean = why.near;
    diagnostic.help = why.help;
}

/// Returns the levels that a value mentions, for messages about one of many cells.
fn levels(node: &Node, scope: &Scope<'_>) -> String {
    match &node.value {
        Value::Text(text) => scope.levels_in(text),
        _ => String::new(),
    }
}

/// Returns the text of a scalar, with nothing filled in.
pub(crate) fn raw<'n>(node: &'n Node, expected: &str, problems: &mut Problems<'_>) -> Option<&'n str> {
    if let Value::Text(text) = &node.value {
        return Some(text);
    }
    problems.add(node.span, format!("{} does not fit here", node.kind())).expected(expected);
    None
}

/// Returns the text of a scalar that could be a factor.
fn variable<'n>(node: &'n Node, expected: &str, problems: &mut Problems<'_>) -> Option<&'n str> {
    let text = raw(node, expected, problems);
    if let (None, Value::List(_)) = (text, &node.value) {
        problems
            .amend(node.span)
            .help("several values are levels of a factor: `with: { x: [...] }`, and `x` here");
    }
    text
}

/// Reads a text: a bare name becomes its level, `{name}` is filled in.
pub(crate) fn text(
    node: &Node,
    expected: &str,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    text_keeping(node, expected, &[], scope, problems)
}

/// Like [`text`], but placeholders in `keep` stay.
pub(crate) fn text_keeping(
    node: &Node,
    expected: &str,
    keep: &[&str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let raw = variable(node, expected, problems)?;
    match scope.find(raw) {
        Some(Level::Text(level)) => return Some(level.clone()),
        Some(Level::List(_)) => {
            problems.add(node.span, format!("`{raw}` is a list here{}", scope.levels())).expected(expected);
            return None;
        }
        None => {}
    }
    match scope.fill(raw, keep) {
        Ok(filled) => Some(filled),
        Err(why) => {
            wrong(node, why, scope, problems);
            None
        }
    }
}

/// Reads several texts: a list, a single text, or a name that stands for a list.
pub(crate) fn texts(
    node: &Node,
    expected: &str,
    keep: &[&str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<String>> {
    match &node.value {
        Value::Null => Some(Vec::new()),
        Value::List(items) => {
            let mut all = Vec::with_capacity(items.len());
            for item in items {
                all.push(text_keeping(item, expected, keep, scope, problems)?);
            }
            Some(all)
        }
        Value::Text(name) => match scope.find(name) {
            Some(Level::List(items)) => Some(items.clone()),
            _ => Some(vec![text_keeping(node, expected, keep, scope, problems)?]),
        },
        Value::Map(_) => {
            problems.add(node.span, "a map does not fit here").expected(expected);
            None
        }
    }
}

/// Reads a number: a literal, a factor, a parameter, or an expression over them.
pub(crate) fn number(
    node: &Node,
    expected: &str,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Number> {
    let typed = variable(node, expected, problems)?;
    let result = match amount(typed) {
        Some(written) => written,
        None => {
            let filled = if typed.contains('{') { scope.fill(typed, &[]) } else { Ok(typed.to_owned()) };
            filled.and_then(|text| evaluate(&text, &mut |name| scope.number(name)))
        }
    };
    match result {
        Ok(number) => Some(number),
        Err(mut why) => {
            if is_name(typed) && scope.find(typed).is_none() {
                let shown = crate::diagnostic::printable(typed, 40);
                why.message = format!("`{shown}` is neither a number nor a factor or parameter");
            }
            wrong(node, why, scope, problems);
            problems.amend(node.span).expected(expected);
            None
        }
    }
}

/// Reads an integer within a range.
pub(crate) fn integer(
    node: &Node,
    range: RangeInclusive<u64>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    let expected = match (*range.start(), *range.end()) {
        (low, u64::MAX) => format!("a whole number, {low} or more"),
        (low, high) => format!("a whole number from {low} to {high}"),
    };
    let value = number(node, &expected, scope, problems)?;
    let fits =
        value.whole().and_then(|whole| u64::try_from(whole).ok()).filter(|whole| range.contains(whole));
    if fits.is_none() {
        complain(node, &format!("{value}"), value, &expected, scope, problems);
    }
    fits
}

/// Reads an integer percentage as in fio, 0 to 100, with or without the sign.
pub(crate) fn percentage(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    if let Value::Text(text) = &node.value
        && let Ok(ratio) = percent(text)
        && let Some(hundredths) = ratio.multiply(Number::integer(100)).and_then(Number::whole)
        && (0..=100).contains(&hundredths)
    {
        return u64::try_from(hundredths).ok();
    }
    integer(node, 0..=100, scope, problems)
}

/// Reads a number of bytes, at least 1.
pub(crate) fn size(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    bytes(node, 1, scope, problems)
}

/// Reads a number of bytes.
pub(crate) fn bytes(node: &Node, least: u64, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    const EXPECTED: &str = "a size in bytes, with fio's suffixes k, m, g, t (powers of 1024), e.g. `16k`";
    let value = number(node, EXPECTED, scope, problems)?;
    let fits = value
        .whole()
        .and_then(|whole| u64::try_from(whole).ok())
        .filter(|bytes| (least..=1 << 60).contains(bytes));
    if fits.is_none() {
        let shown = match value.whole().and_then(|whole| u64::try_from(whole).ok()) {
            Some(bytes) if bytes > 1 << 60 => Bytes(bytes).to_string(),
            _ => value.to_string(),
        };
        complain(node, &shown, value, EXPECTED, scope, problems);
    }
    fits
}

fn complain(
    node: &Node,
    shown: &str,
    value: Number,
    expected: &str,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) {
    let why = if value.is_negative() {
        "is negative"
    } else if value.whole().is_none() {
        "is not whole"
    } else {
        "is out of range"
    };
    let typed = match &node.value {
        Value::Text(text) if text != shown => {
            format!("`{}` = {shown}", crate::diagnostic::printable(text, 40))
        }
        _ => format!("`{shown}`"),
    };
    problems.add(node.span, format!("{typed} {why}{}", levels(node, scope))).expected(expected);
}

/// Reads a time in seconds.
pub(crate) fn seconds(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    measure(node, "a time with its unit, e.g. `20s`, `500ms`, `1h`", duration, scope, problems)
}

/// Reads a time in whole steps of `1 / per_second` seconds. Without a unit it is in `unit`, as in fio.
pub(crate) fn time(
    node: &Node,
    unit: &str,
    per_second: u32,
    range: RangeInclusive<u64>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    let step = Number::new(1, i128::from(per_second)).unwrap_or(Number::integer(1)).to_f64();
    let expected = format!("a time, e.g. `20s`, `500ms`, `250us`; `{unit}` if no unit is written");
    let typed = text(node, &expected, scope, problems)?;
    let read = duration_or(&typed, unit);
    let steps = read.as_ref().ok().and_then(|time| time.multiply(Number::integer(per_second.into())));
    let whole = steps.and_then(Number::whole).and_then(|whole| u64::try_from(whole).ok());
    match (read, whole.filter(|whole| range.contains(whole))) {
        (_, Some(whole)) => Some(whole),
        (Err(why), _) => {
            wrong(node, why, scope, problems);
            problems.amend(node.span).expected(expected);
            None
        }
        (Ok(time), None) => {
            let shown = crate::diagnostic::printable(&typed, 40);
            let why = if steps.is_some_and(|steps| steps.whole().is_none()) {
                format!("is not a multiple of {}", Seconds(step))
            } else if time.to_f64() < seconds_of(*range.start(), step) {
                "is too short".to_owned()
            } else {
                "is too long".to_owned()
            };
            let (least, most) = (seconds_of(*range.start(), step), seconds_of(*range.end(), step));
            problems.add(node.span, format!("`{shown}` {why}{}", levels(node, scope))).expected(format!(
                "from {} to {}",
                Seconds(least),
                Seconds(most)
            ));
            None
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "bounds of times are far below 2^52 steps")]
fn seconds_of(steps: u64, step: f64) -> f64 {
    steps as f64 * step
}

/// Reads a percentage as a ratio.
pub(crate) fn ratio(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    measure(node, "a percentage, e.g. `5%`", percent, scope, problems)
}

fn measure(
    node: &Node,
    expected: &str,
    parse: impl Fn(&str) -> Result<Number, Wrong>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<f64> {
    let typed = text(node, expected, scope, problems)?;
    match parse(&typed) {
        Ok(value) => Some(value.to_f64()),
        Err(why) => {
            let diagnostic = problems.add(node.span, why.message).expected(expected);
            diagnostic.help = why.help;
            None
        }
    }
}

/// Reads a switch: fio's 1 and 0, or true and false.
pub(crate) fn switch(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<bool> {
    const EXPECTED: &str = "1 or 0 (or true or false)";
    let typed = text(node, EXPECTED, scope, problems)?;
    match typed.as_str() {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        other => {
            let shown = crate::diagnostic::printable(other, 40);
            problems.add(node.span, format!("`{shown}` is neither on nor off")).expected(EXPECTED);
            None
        }
    }
}

/// Reports a word that has a meaning here, but is replaced by a parameter or factor of the same name.
pub(crate) fn replaced(node: &Node, words: &[&str], scope: &Scope<'_>, problems: &mut Problems<'_>) -> bool {
    let Value::Text(word) = &node.value else { return false };
    let Some(level) = scope.find(word) else { return false };
    let value = level.text();
    if !words.contains(&word.as_str()) || words.contains(&value.as_str()) {
        return false;
    }
    let by = problems.declaration(word, node.span).unwrap_or_else(|| format!("parameter `{word}`"));
    let value = crate::diagnostic::printable(&value, 40);
    problems
        .add(node.span, format!("the {by} replaces the word `{word}` here by its value, `{value}`"))
        .help(format!("give it another name where it is declared, e.g. `my_{word}`"));
    true
}

/// Reads one of a few words.
pub(crate) fn choice<'w>(
    node: &Node,
    words: &[&'w str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<&'w str> {
    if replaced(node, words, scope, problems) {
        return None;
    }
    let expected = format!("one of {}", words.join(", "));
    let typed = text(node, &expected, scope, problems)?;
    let found = words.iter().find(|word| **word == typed);
    if found.is_none() {
        let mut near: Vec<&str> = words.to_vec();
        near.extend(scope.known());
        let shown = crate::diagnostic::printable(&typed, 40);
        let levels = levels(node, scope);
        problems
            .add(node.span, format!("`{shown}` is not known here{levels}"))
            .suggest(&typed, near)
            .expected(expected);
    }
    found.copied()
}
