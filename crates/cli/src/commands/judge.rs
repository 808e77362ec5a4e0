//! `diskproof judge [RUN...]`: judges stored runs again and shows what changed.

use super::judged;
use super::show::{find, open_existing};
use crate::args::Judge;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::id::RunId;
use record::judged::RunView;
use record::printable::{Shown as _, one_line};
use serde::Serialize;
use std::fmt::Write as _;
use store::Store;

pub(crate) fn judge(args: &Judge, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let runs: Vec<RunId> = if args.all {
        let mut all: Vec<RunId> =
            store.runs().map_err(judged::unreadable)?.into_iter().map(|r| r.id).collect();
        all.reverse();
        all
    } else if args.run.is_empty() {
        vec![find(&store, "latest")?]
    } else {
        args.run.iter().map(|name| find(&store, name)).collect::<Result<_, _>>()?
    };
    let mut all = Vec::new();
    for run in &runs {
        let judged = one(&store, run)?;
        if args.json {
            all.push(judged);
        } else {
            output::answer(&judged.text())?;
        }
    }
    if args.json {
        let document = Document { format: FORMAT, runs: all };
        let text = serde_json::to_string_pretty(&document).map_err(Failure::ours)?;
        output::json(&(text + "\n"))?;
    }
    Ok(Exit::Fine)
}

/// Format of the JSON document; docs/formats.md.
const FORMAT: &str = "diskproof.judge/1.0";

#[derive(Debug, Serialize)]
struct Document {
    format: &'static str,
    runs: Vec<Judged>,
}

/// One run, judged again.
#[derive(Debug, Serialize)]
struct Judged {
    run: RunId,
    judged_by: String,
    /// The version of the rules that judged it before; null: no judgement was stored.
    before: Option<String>,
    /// What differs from the judgement before; null: there was none, or it can't be read.
    changes: Option<Vec<String>>,
}

fn one(store: &Store, run: &RunId) -> Result<Judged, Failure> {
    let kept = store.kept_judgement(run).map_err(judged::unreadable)?;
    let view = judged::anew(store, run)?;
    let (before, text) = kept.map(|(judge, text)| (judge.to_string(), text)).unzip();
    let old = text.and_then(|text| serde_json::from_str::<RunView>(&text).ok());
    let changes = old.map(|old| changes(&old, &view));
    Ok(Judged { run: run.clone(), judged_by: view.judged_by.clone(), before, changes })
}

impl Judged {
    fn text(&self) -> String {
        let begin = format!("run {}: judged by {}", self.run.0.shown(), self.judged_by.shown());
        match (&self.before, &self.changes) {
            (None, _) => format!("{begin}; no judgement was kept\n"),
            (Some(judge), None) => format!("{begin}; what {} had said of it can't be read\n", judge.shown()),
            (Some(judge), Some(changes)) if changes.is_empty() => {
                format!("{begin}; nothing changed against {}\n", judge.shown())
            }
            (Some(judge), Some(changes)) => {
                let mut said = format!("{begin}; against {}:\n", judge.shown());
                for change in changes {
                    let _ = writeln!(said, "  {}", one_line(change));
                }
                said
            }
        }
    }
}

/// The differences of the new judgement, one line each.
fn changes(before: &RunView, after: &RunView) -> Vec<String> {
    let findings = |view: &RunView| -> Vec<(String, String)> {
        let text = |f: &record::finding::Finding| {
            let cell = view.cells.iter().find(|c| c.id == f.cell);
            let cell = cell.map_or_else(|| f.cell.to_string(), |c| format!("{} {}", c.workload, c.stack));
            (format!("{} ({}) of {cell}", name(&f.claim), name(&f.severity)), f.text.clone())
        };
        view.findings.iter().map(text).collect()
    };
    let (old, new) = (findings(before), findings(after));
    let has = |all: &[(String, String)], one: &(String, String)| all.iter().any(|(head, _)| *head == one.0);
    let mut said: Vec<String> = Vec::new();
    said.extend(new.iter().filter(|f| !has(&old, f)).map(|(head, text)| format!("new: {head}: {text}")));
    said.extend(old.iter().filter(|f| !has(&new, f)).map(|(head, _)| format!("gone: {head}")));
    said.extend(of_answers(before, after));
    for now in &after.expectations {
        let same = |e: &&record::judged::ExpectationView| e.cell == now.cell && e.of == now.of;
        let then = before.expectations.iter().find(same);
        if let Some(then) = then.filter(|e| e.status != now.status) {
            let (is, was) = (name(&now.status), name(&then.status));
            said.push(format!("expectation: {is}, was {was}: {}", now.text));
        }
    }
    said
}

/// A variant's name in JSON and in the documentation.
fn name(of: &impl Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn of_answers(before: &RunView, after: &RunView) -> Vec<String> {
    let mut said = Vec::new();
    for now in &after.answers {
        let then = before.answers.iter().find(|a| a.workload == now.workload && a.metric == now.metric);
        match then {
            Some(then) if then.text == now.text => {}
            Some(then) => {
                said.push(format!("answer: {}: {}; was: {}", now.workload, now.text, then.text));
            }
            None => said.push(format!("new answer: {}: {}", now.workload, now.text)),
        }
    }
    let gone = before
        .answers
        .iter()
        .filter(|a| !after.answers.iter().any(|now| now.workload == a.workload && now.metric == a.metric));
    said.extend(gone.map(|a| format!("no answer any more: {}: {}", a.workload, a.text)));
    said
}
