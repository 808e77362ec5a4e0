//! The whole file: from its tree to a plan.

use crate::cell;
use crate::diagnostic::printable;
use crate::factor::{combination, combinations};
use crate::fields::{Fields, named};
use crate::filter::{About, rules};
use crate::limits::{MAX_CELLS, MAX_PLAN_BYTES};
use crate::parameter::{self, Parameter};
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::source::Span;
use crate::tree::{Key, Node};
use crate::vocabulary::EXPERIMENT;
use crate::{expect, measure, stack, value, volume, workload};
use record::plan::{Cell, Plan};
use record::version::FormatVersion;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What reading a tree comes to.
pub(crate) enum Outcome {
    Plan(Box<Plan>),
    Missing(Vec<Parameter>),
    /// The reasons are among the problems.
    Wrong,
}

/// A stack or workload with its levels, and the place of its name.
struct Placed<T> {
    span: Span,
    levels: Vec<(String, Level)>,
    thing: T,
}

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
    let recorded = resolved.values.iter().map(|(name, level)| (name.clone(), level.text())).collect();
    let scope = Scope { parent: None, names: resolved.values };
    let experiment = name(&fields, problems);
    let question = fields.get("question").and_then(|node| value::raw(node, "a sentence", problems));
    let question = question.map(|text| printable(text.trim(), 1000));
    let seed = fields.get("seed").and_then(|node| value::integer(node, 0..=(1 << 53) - 1, &scope, problems));
    let measure = measure::read(fields.get("measure"), &scope, problems);
    let Some((cells, factors)) = cells(&fields, base_dir, &scope, problems) else { return Outcome::Wrong };
    let expectations = expect::read(fields.get("expect"), &cells, &factors, &scope, problems);
    match (experiment, problems.none()) {
        (Some(experiment), true) => Outcome::Plan(Box::new(Plan {
            format: FormatVersion::RECORD,
            experiment,
            question,
            parameters: recorded,
            cells,
            measure,
            expectations,
            source: text.to_owned(),
            seed: seed.unwrap_or(0),
        })),
        _ => Outcome::Wrong,
    }
}

fn name(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let node = fields.get("experiment")?;
    let text = value::raw(node, "a name", problems)?.to_owned();
    let key = Key { span: node.span, text };
    crate::name::check_plain(&key, "n experiment", problems)?;
    Some(key.text)
}

/// All cells, and the names of all factors.
fn cells(
    fields: &Fields<'_>,
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<(Vec<Cell>, Vec<String>)> {
    let volumes = fields.get("volumes").map(|node| volume::read(node, base_dir, scope, problems));
    let stacks: Vec<stack::Template<'_>> =
        entries(fields.get("stacks"), "a map: NAME: { layers: [...] }", problems)
            .iter()
            .filter_map(|(key, node)| stack::template(key, node, scope, problems))
            .collect();
    let workloads: Vec<workload::Template<'_>> =
        entries(fields.get("workloads"), "a map: NAME: { rw, bs, size, ... }", problems)
            .iter()
            .filter_map(|(key, node)| workload::template(key, node, scope, problems))
            .collect();
    let volumes = volumes?;
    if problems.full() {
        return None;
    }
    count(fields, &stacks, &workloads, problems)?;
    let factors = factors(&stacks, &workloads, problems)?;
    let mut built = Vec::new();
    for template in &stacks {
        for index in 0..combinations(&template.factors) {
            let levels = combination(&template.factors, index);
            let Some(one) = stack::instance(template, levels, &volumes, scope, problems) else {
                if problems.full() {
                    return None;
                }
                continue;
            };
            built.push(Placed { span: template.key.span, levels: one.levels, thing: one.stack });
        }
    }
    let mut asked = Vec::new();
    for template in &workloads {
        for index in 0..combinations(&template.factors) {
            let levels = combination(&template.factors, index);
            let Some(one) = workload::instance(template, levels, scope, base_dir, problems) else {
                if problems.full() {
                    return None;
                }
                continue;
            };
            asked.push(Placed { span: template.key.span, levels: one.levels, thing: one.workload });
        }
    }
    unique(built.iter().map(|one| (one.thing.name.as_str(), one.span)), "stacks", problems);
    unique(asked.iter().map(|one| (one.thing.name.as_str(), one.span)), "workloads", problems);
    if !problems.none() {
        return None;
    }
    check_weight(fields, &built, &asked, problems)?;
    let cells = product(fields, &built, &asked, &factors, scope, problems)?;
    Some((cells, factors))
}

fn entries<'n>(node: Option<&'n Node>, expected: &str, problems: &mut Problems<'_>) -> &'n [(Key, Node)] {
    let Some(node) = node else { return &[] };
    let Some(entries) = named(node, expected, problems) else { return &[] };
    if entries.is_empty() {
        problems.add(node.span, "there is nothing here").expected(expected);
    }
    entries
}

/// Refuses too many cells, before any of them is made.
fn count(
    fields: &Fields<'_>,
    stacks: &[stack::Template<'_>],
    workloads: &[workload::Template<'_>],
    problems: &mut Problems<'_>,
) -> Option<()> {
    let of_stacks = stacks.iter().try_fold(0_u128, |sum, one| sum.checked_add(combinations(&one.factors)));
    let of_workloads =
        workloads.iter().try_fold(0_u128, |sum, one| sum.checked_add(combinations(&one.factors)));
    let cells = of_stacks.zip(of_workloads).and_then(|(s, w)| s.checked_mul(w));
    if cells.is_some_and(|cells| cells <= MAX_CELLS) {
        return Some(());
    }
    let span = fields.key("stacks").map(|key| key.span).unwrap_or_default();
    let message = match (cells, of_stacks, of_workloads) {
        (Some(cells), Some(s), Some(w)) => format!("{cells} cells: {s} stacks times {w} workloads"),
        _ => "more cells than can be counted".to_owned(),
    };
    problems
        .add(span, message)
        .expected(format!("at most {MAX_CELLS} cells"))
        .help("take out levels or factors; `only` and `exclude` are applied after this limit");
    None
}

/// Names of all factors. A stack and a workload cannot share one: their levels would be combined, not matched.
fn factors(
    stacks: &[stack::Template<'_>],
    workloads: &[workload::Template<'_>],
    problems: &mut Problems<'_>,
) -> Option<Vec<String>> {
    let of_stacks: BTreeSet<&str> =
        stacks.iter().flat_map(|one| one.factors.iter().map(|factor| factor.name.as_str())).collect();
    let mut all: Vec<String> = of_stacks.iter().map(|name| (*name).to_owned()).collect();
    let mut sound = true;
    for factor in workloads.iter().flat_map(|one| &one.factors) {
        if of_stacks.contains(factor.name.as_str()) {
            problems
                .add(factor.span, format!("factor `{}` belongs to a stack already", factor.name))
                .help("every stack meets every workload, so the two would vary independently under one name; rename one");
            sound = false;
        } else if !all.contains(&factor.name) {
            all.push(factor.name.clone());
        }
    }
    sound.then_some(all)
}

fn unique<'a>(names: impl Iterator<Item = (&'a str, Span)>, what: &str, problems: &mut Problems<'_>) {
    let mut seen = BTreeSet::new();
    for (name, span) in names {
        if !seen.insert(name) {
            problems
                .add(span, format!("two {what} are named `{name}`, levels filled in"))
                .help("names must tell them apart: put every factor into the name, or rename one");
        }
    }
}

/// Refuses plans that would not fit into memory.
fn check_weight(
    fields: &Fields<'_>,
    stacks: &[Placed<record::stack::Stack>],
    workloads: &[Placed<record::workload::Workload>],
    problems: &mut Problems<'_>,
) -> Option<()> {
    let bytes = |json: serde_json::Result<Vec<u8>>| json.map_or(0, |json| json.len() as u64 + 512);
    let of_stacks: u64 = stacks.iter().map(|one| bytes(serde_json::to_vec(&one.thing))).sum();
    let of_workloads: u64 = workloads.iter().map(|one| bytes(serde_json::to_vec(&one.thing))).sum();
    let total = of_stacks
        .saturating_mul(workloads.len() as u64)
        .saturating_add(of_workloads.saturating_mul(stacks.len() as u64));
    if total <= MAX_PLAN_BYTES {
        return Some(());
    }
    let span = fields.key("stacks").map(|key| key.span).unwrap_or_default();
    problems
        .add(span, format!("the plan would take about {}", record::quantity::Bytes(total)))
        .expected(format!("at most {}", record::quantity::Bytes(MAX_PLAN_BYTES)))
        .help("fewer cells, fewer volumes per stack, or shorter texts");
    None
}

fn product(
    fields: &Fields<'_>,
    stacks: &[Placed<record::stack::Stack>],
    workloads: &[Placed<record::workload::Workload>],
    factors: &[String],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Cell>> {
    let only = rules(fields.get("only"), factors, scope, problems)?;
    let exclude = rules(fields.get("exclude"), factors, scope, problems)?;
    let mut used = vec![false; only.len() + exclude.len()];
    let mut cells = Vec::new();
    for s in stacks {
        for w in workloads {
            let levels: BTreeMap<String, String> =
                s.levels.iter().chain(&w.levels).map(|(name, level)| (name.clone(), level.text())).collect();
            let about = About { stack: &s.thing.name, workload: &w.thing.name, levels: &levels };
            let mut kept = only.is_empty();
            let mut dropped = false;
            for (i, (rule, _)) in only.iter().chain(&exclude).enumerate() {
                if rule.matches(&about) {
                    used.iter_mut().skip(i).take(1).for_each(|used| *used = true);
                    kept |= i < only.len();
                    dropped |= i >= only.len();
                }
            }
            if dropped || !kept {
                continue;
            }
            let (stack, workload) = (s.thing.clone(), w.thing.clone());
            let id = cell::id("local", &stack, &workload, &levels);
            let cell = Cell { id, target: "local".to_owned(), stack, workload, levels };
            cell::check(&cell, w.span, s.span, problems);
            if problems.full() {
                return None;
            }
            cells.push(cell);
        }
    }
    for (_, (_, span)) in used.iter().zip(only.iter().chain(&exclude)).filter(|(used, _)| !**used) {
        problems
            .add(*span, "this rule matches no cell")
            .help("names are compared with their levels filled in; `*` matches anything");
    }
    if cells.is_empty() && problems.none() {
        let span = fields.key("exclude").or(fields.key("only")).map(|key| key.span).unwrap_or_default();
        problems.add(span, "no cell is left").help("the rules contradict each other or exclude everything");
    }
    Some(cells)
}
