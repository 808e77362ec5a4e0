//! The whole file: from its tree to a plan.

use crate::created_target::is_created;
use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::measure::Rest;
use crate::parameter::{self, Parameter};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Key, Node};
use crate::vocabulary::EXPERIMENT;
use crate::{
    changes, contrast, copy_to, derive, expect, find, matrix, measure, money, price, prices, provision, value,
};
use record::plan::Plan;
use std::collections::BTreeMap;
use std::path::Path;

/// The result of reading a tree.
pub(crate) enum Outcome {
    Plan(Box<Plan>),
    Missing(Vec<Parameter>),
    /// No plan; the reasons are among the problems.
    Wrong,
}

/// Largest seed: the largest integer that every JSON reader preserves exactly.
const MAX_SEED: u64 = (1 << 53) - 1;

/// Reads a tree.
pub(crate) fn read(
    root: &Node,
    text: &str,
    base_dir: &Path,
    set: &BTreeMap<String, String>,
    problems: &mut Problems<'_>,
) -> Outcome {
    let Some(fields) = Fields::open(root, &EXPERIMENT, problems) else { return Outcome::Wrong };
    let resolved = parameter::resolve(fields.get("parameters"), set, problems);
    if !resolved.missing.is_empty() {
        return if problems.none() { Outcome::Missing(resolved.missing) } else { Outcome::Wrong };
    }
    if !resolved.sound {
        // Everything that uses the parameter would be reported as wrong too.
        return Outcome::Wrong;
    }
    let recorded = resolved.values.iter().map(|(name, level)| (name.clone(), level.text())).collect();
    let scope = Scope { parent: None, names: resolved.values };
    let experiment = name(&fields, problems);
    let question = fields.get("question").and_then(|node| value::raw(node, "a sentence", problems));
    let question = question.map(|text| printable(text.trim(), 1000));
    let seed = fields.get("seed").and_then(|node| value::integer(node, 0..=MAX_SEED, &scope, problems));
    let metrics = derive::metrics(fields.get("derive"));
    let mut measure = measure::read(fields.get("measure"), &metrics, &scope, problems);
    let currency = fields.get("currency").and_then(|node| money::currency(node, problems));
    let list = fields.get("prices").and_then(|node| prices::read(node, base_dir, &scope, problems));
    let matrix = matrix::read(&fields, list.as_ref(), base_dir, &scope, problems);
    let provision = provision::read(fields.get("provision"), &matrix.targets, base_dir, &scope, problems);
    let derived = derive::read(fields.get("derive"), &matrix, &scope, problems);
    let expectations = expect::read(fields.get("expect"), &matrix, &metrics, &derived, &scope, problems);
    let copy_to = fields.get("store").and_then(|node| copy_to::read(node, &scope, problems));
    let contrasts = contrast::read(fields.get("contrast"), &matrix, &metrics, &scope, problems);
    let currency = price::one_currency(&fields, currency, list.as_ref(), problems);
    let currency = measure::currency(fields.get("measure"), currency, problems);
    let prices = matrix.prices(currency, list.map(|list| list.info));
    if let Some(cells) = &matrix.cells {
        price::check(&fields, &prices, problems);
        find::rounds(fields.get("measure"), &mut measure, cells, problems);
        if let Some(node) = fields.get("targets") {
            changes::check(node, &matrix.targets, cells, &measure, problems);
        }
        if let Some(node) = fields.get("measure") {
            let has_driver = matrix.targets.iter().any(is_created);
            let rest = Rest { cells, derived: &derived, prices: &prices, has_driver };
            measure::check(node, &measure, &rest, problems);
        }
    }
    let (mut shuffled_on, shuffled): (Vec<_>, Vec<_>) = matrix
        .shuffled
        .into_iter()
        .filter(|(on, _)| {
            // A machine without a cell is not created.
            on.as_ref().is_none_or(|on| matrix.cells.iter().flatten().any(|cell| cell.target == *on))
        })
        .unzip();
    if shuffled_on.iter().all(Option::is_none) {
        shuffled_on.clear();
    }
    match (experiment, matrix.cells, problems.none()) {
        (Some(experiment), Some(cells), true) => Outcome::Plan(Box::new(Plan {
            question,
            parameters: recorded,
            expectations,
            contrasts,
            source: text.to_owned(),
            seed: seed.unwrap_or(0),
            prices,
            derived,
            targets: matrix.targets,
            provision,
            shuffled,
            shuffled_on,
            copy_to,
            ..Plan::new(experiment, cells, measure)
        })),
        _ => Outcome::Wrong,
    }
}

fn name(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let node = fields.get("experiment")?;
    let text = value::raw(node, "a name", problems)?.to_owned();
    let key = Key { span: node.span, text };
    crate::name::check_plain(&key, "an experiment", problems)?;
    Some(key.text)
}
