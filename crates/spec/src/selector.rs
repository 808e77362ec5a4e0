//! The volumes of a layer: `vol`, `vol[0]`, `vol[0..3]`, `vol[..n]`, or a list of these.

use crate::diagnostic::{nearest, printable};
use crate::expression::evaluate;
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::volume::Entry;
use record::volume::Volume;
use std::collections::BTreeSet;

const EXPECTED: &str = "volumes: `vol`, `vol[0]`, `vol[0..3]`, `vol[..n]`, or a list of these";

/// Returns the volumes that a node selects, in its order.
pub(crate) fn select(
    node: &Node,
    entries: &[Entry],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Volume>> {
    // A volume's own name wins over a factor of the same name.
    let raw = match &node.value {
        crate::tree::Value::Text(text) if entries.iter().any(|entry| entry.name == *text) => {
            vec![text.clone()]
        }
        _ => value::texts(node, EXPECTED, &[], scope, problems)?,
    };
    if entries.is_empty() {
        return None;
    }
    let mut chosen: Vec<Volume> = Vec::new();
    let mut seen = BTreeSet::new();
    for text in &raw {
        let name = text.split('[').next().unwrap_or("").trim();
        if entries.iter().any(|entry| entry.name == name && entry.volumes.is_empty()) {
            return None;
        }
        match one(text, entries, scope) {
            Ok(volumes) => {
                for volume in volumes {
                    if !seen.insert(volume.name.clone()) {
                        let message = format!("`{}` is selected twice{}", volume.name, scope.levels());
                        problems.add(node.span, message).expected("every volume once in a stack");
                        return None;
                    }
                    chosen.push(volume.clone());
                }
            }
            Err(why) => {
                let diagnostic = problems.add(node.span, format!("{}{}", why.message, scope.levels_in(text)));
                diagnostic.did_you_mean = why.near;
                diagnostic.help = why.help;
                return None;
            }
        }
    }
    if chosen.is_empty() {
        problems.add(node.span, format!("no volume is selected{}", scope.levels())).expected(EXPECTED);
        return None;
    }
    Some(chosen)
}

fn one<'e>(text: &str, entries: &'e [Entry], scope: &Scope<'_>) -> Result<&'e [Volume], Wrong> {
    let (name, range) = match text.split_once('[') {
        Some((name, rest)) => {
            let Some(range) = rest.trim_end().strip_suffix(']') else {
                return Err(Wrong::with(
                    format!("`{}` has no `]` at its end", printable(text, 60)),
                    EXPECTED,
                ));
            };
            (name.trim(), Some(range))
        }
        None => (text.trim(), None),
    };
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let known = entries.iter().map(|entry| entry.name.as_str());
        let near = nearest(name, known.clone());
        let list = known.collect::<Vec<_>>().join(", ");
        return Err(Wrong {
            message: format!("there is no volume `{}`", printable(name, 60)),
            help: Some(format!("volumes: {}", printable(&list, 200))),
            near,
        });
    };
    let have = entry.volumes.len();
    let is_open =
        range.is_none_or(|range| range.split_once("..").is_some_and(|(_, to)| to.trim().is_empty()));
    if is_open && !entry.fewer.is_empty() {
        return Err(Wrong::with(
            format!("there are not as many on each target, so `{}` is not clear", printable(text, 60)),
            format!("say how many: `{name}[..n]`; the stack is built on the targets that have so many"),
        ));
    }
    let Some(range) = range else { return Ok(&entry.volumes) };
    let (from, to) = match range.split_once("..") {
        Some((from, to)) => (bound(from, 0, scope)?, bound(to, have, scope)?),
        None => {
            let at = bound(range, have, scope)?;
            if at >= have {
                let message = format!("`{name}[{at}]` does not exist: `{name}` has {have}, counted from 0");
                return Err(Wrong::with(message, raise(name, at + 1)));
            }
            (at, at + 1)
        }
    };
    if to > have {
        let message = format!("`{name}[{}]` needs {to} volumes, but `{name}` has {have}", range.trim());
        return Err(Wrong::with(message, raise(name, to)));
    }
    if from >= to {
        return Err(Wrong::with(
            format!("`{name}[{}]` is empty: from {from} up to, not including, {to}", range.trim()),
            "ranges are half-open, as in `vol[0..3]`: vol[0], vol[1], vol[2]",
        ));
    }
    entry.volumes.get(from..to).ok_or_else(|| Wrong::new("no such volumes"))
}

fn raise(name: &str, to: usize) -> String {
    format!("raise `count` of `{name}` to {to}, or select fewer")
}

fn bound(text: &str, default: usize, scope: &Scope<'_>) -> Result<usize, Wrong> {
    if text.trim().is_empty() {
        return Ok(default);
    }
    let number = evaluate(text, &mut |name| scope.number(name))?;
    let index = number.whole().and_then(|whole| usize::try_from(whole).ok());
    index.ok_or_else(|| {
        Wrong::new(format!("`{}` is {number}, not a whole number from 0", printable(text.trim(), 40)))
    })
}
