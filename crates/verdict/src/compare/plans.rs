//! Differences between two plans: workloads, stacks, and the way of measuring.

use super::judged::Judged;
use record::comparison::{Difference, DifferenceOf};
use record::finding::Severity;
use record::id::CellId;
use record::judged::CellView;
use record::plan::{Cell, Plan};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Differences in the way of measuring. Rounds and budgets don't count, since the intervals contain them.
pub(super) fn of_runs(run: &Plan, baseline: &Plan) -> Vec<Difference> {
    let (now, then) = (&run.measure, &baseline.measure);
    let means = "the means of the trials are taken differently";
    let mut found = changes(&then.trial_seconds, &now.trial_seconds, "measure.trial_seconds");
    found.extend(changes(&then.ramp_seconds, &now.ramp_seconds, "measure.ramp_seconds"));
    found.extend(changes(&then.trim, &now.trim, "measure.trim"));
    let mut found: Vec<Difference> =
        found.into_iter().map(|change| change.difference(Severity::Caveat, None, means)).collect();
    let names = |plan: &Plan| -> BTreeSet<String> {
        plan.shuffled.iter().flatten().map(|volume| volume.name.clone()).collect()
    };
    let means = "in one of the runs the stacks stand on other volumes in each round";
    let shuffled = changes(&names(baseline), &names(run), "volumes.shuffle");
    found.extend(shuffled.into_iter().map(|change| change.difference(Severity::Caveat, None, means)));
    found
}

/// Differences between the workloads, stacks and volumes of two cells.
pub(super) fn of_cells(
    run: &Judged<'_>,
    a: &CellView,
    baseline: &Judged<'_>,
    b: &CellView,
) -> Vec<Difference> {
    let planned = |of: &Judged<'_>, view: &CellView| -> Option<Cell> {
        of.plan.cells.iter().find(|c| c.id == view.id).cloned()
    };
    let (Some(now), Some(then)) = (planned(run, a), planned(baseline, b)) else { return Vec::new() };
    let cell = Some(&a.id);
    let mut found = Vec::new();
    let asked = [
        changes(&then.workload.ask, &now.workload.ask, ""),
        changes(&then.workload.layout, &now.workload.layout, "layout"),
        changes(&then.workload.cache, &now.workload.cache, "cache"),
    ];
    let other_question = "the workload is a different one";
    found.extend(asked.into_iter().flatten().map(|c| c.difference(Severity::Void, cell, other_question)));
    let built = [
        changes(&then.stack.layers, &now.stack.layers, "stack.layers"),
        changes(&then.stack.volumes, &now.stack.volumes, "stack.volumes"),
        changes(&then.stack.beside, &now.stack.beside, "stack.beside"),
    ];
    found.extend(
        built
            .into_iter()
            .flatten()
            .map(|c| c.difference(Severity::Caveat, cell, "the stack is built differently")),
    );
    if a.engines != b.engines && !a.engines.is_empty() && !b.engines.is_empty() {
        let list = |view: &CellView| view.engines.iter().cloned().collect::<Vec<_>>().join(", ");
        let change = Change { what: "engine".to_owned(), before: Some(list(b)), after: Some(list(a)) };
        let means = "another generator made the load; `diskproof calibrate` shows how two of them differ";
        found.push(change.difference(Severity::Caveat, cell, means));
    }
    found
}

/// Merges the same change in several cells into one difference.
pub(super) fn summed_up(all: Vec<Difference>) -> Vec<Difference> {
    let mut found: Vec<(Difference, u64)> = Vec::new();
    for difference in all {
        let same = |d: &Difference| {
            (&d.what, &d.before, &d.after, d.severity, &d.text)
                == (
                    &difference.what,
                    &difference.before,
                    &difference.after,
                    difference.severity,
                    &difference.text,
                )
        };
        match found.iter_mut().find(|(d, _)| d.cell.is_some() && same(d)) {
            Some((_, times)) => *times += 1,
            None => found.push((difference, 1)),
        }
    }
    let whole = |(difference, times): (Difference, u64)| {
        if times == 1 {
            return difference;
        }
        Difference { text: format!("{} (in {times} cells)", difference.text), cell: None, ..difference }
    };
    found.into_iter().map(whole).collect()
}

/// A value that differs.
struct Change {
    what: String,
    before: Option<String>,
    after: Option<String>,
}

impl Change {
    fn difference(self, severity: Severity, cell: Option<&CellId>, means: &str) -> Difference {
        let show = |v: &Option<String>| v.clone().unwrap_or_else(|| "not there".to_owned());
        Difference {
            text: format!(
                "{} is {}, in the baseline {}: {means}",
                self.what,
                show(&self.after),
                show(&self.before)
            ),
            what: self.what,
            of: DifferenceOf::Plan,
            severity,
            cell: cell.cloned(),
            before: self.before,
            after: self.after,
        }
    }
}

/// All values that differ, by their path in the JSON document.
fn changes(before: &impl Serialize, after: &impl Serialize, what: &str) -> Vec<Change> {
    let value = |of: serde_json::Result<Value>| of.unwrap_or(Value::Null);
    let mut found = Vec::new();
    walk(&value(serde_json::to_value(before)), &value(serde_json::to_value(after)), what, &mut found);
    found
}

fn walk(before: &Value, after: &Value, what: &str, found: &mut Vec<Change>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(b), Value::Object(a)) => {
            let mut keys: Vec<&String> = b.keys().chain(a.keys().filter(|k| !b.contains_key(*k))).collect();
            keys.sort();
            for key in keys {
                // The name of a variant adds no information.
                let inner = matches!(key.as_str(), "options" | "job_file");
                let place = if inner || what.is_empty() { key.clone() } else { format!("{what}.{key}") };
                let place = if inner { what.to_owned() } else { place };
                let get = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                walk(&get(b), &get(a), &place, found);
            }
        }
        (Value::Array(b), Value::Array(a)) if b.len() == a.len() => {
            for (i, (b, a)) in b.iter().zip(a).enumerate() {
                walk(b, a, &format!("{what}[{i}]"), found);
            }
        }
        _ => found.push(Change { what: what.to_owned(), before: shown(before), after: shown(after) }),
    }
}

/// A value for a sentence; a long one is cut. `None` if there is none.
fn shown(value: &Value) -> Option<String> {
    const MOST: usize = 60;
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = text.chars().take(MOST).collect();
    Some(if cut.len() < text.len() { format!("{cut}...") } else { text })
}
