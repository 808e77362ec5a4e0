//! `diskproof import FILE|DIR...`: stores results of other tools as a run.

use super::experiment::run_id;
use super::{job_file, judged};
use crate::args::Import;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use files::{Files, Read, Unread};
use import::{About, Assembled};
use record::environment::Environment;
use record::event::Stopped;
use record::id::RunId;
use record::job_file::Size;
use record::printable::Shown as _;
use store::Store;

mod files;

/// The most names in a sentence.
const NAMED: usize = 5;
/// Format of the JSON document; docs/formats.md.
const FORMAT: &str = "diskproof.import/1.0";

pub(crate) fn import(args: &Import, settings: &Settings) -> Result<Exit, Failure> {
    let about = about(args)?;
    let mut files = Files::default();
    args.paths.iter().for_each(|path| files.find(path));
    let open = || Store::open(&settings.store.value);
    // A new store waits for the disk several times, which costs nothing while files are read.
    let Read { found, unread, first: store } = files::read_all(&files.found, open)?;
    let mut all = files.wrong;
    all.extend(unread);
    let (mut unread, skipped): (Vec<Unread>, Vec<Unread>) = all.into_iter().partition(|file| !file.is_other);
    let mut skipped: Vec<String> = skipped.into_iter().map(|file| file.path).collect();
    skipped.extend(files.other);
    let mut run = import::assemble(found, &about);
    unread.extend(run.left.iter().map(|(path, why)| Unread::new(path.clone(), why.to_string())));
    if run.trials.is_empty() {
        return Err(Failure::input(nothing(&unread, &skipped)));
    }
    let id = run_id();
    let environment = Environment {
        diskproof: env!("CARGO_PKG_VERSION").to_owned(),
        memory_bytes: about.memory_bytes,
        ..Environment::default()
    };
    let store = store.unwrap_or_else(open).map_err(judged::unreadable)?;
    let stopped = Stopped::Imported { files: run.files };
    let trials = std::mem::take(&mut run.trials);
    let count = trials.len();
    store.import_run(&id, &run.plan, &environment, trials, &stopped).map_err(judged::unreadable)?;
    let done = Done { id: &id, run: &run, trials: count, unread: &unread, skipped: &skipped };
    if args.json {
        output::json(&done.json()?)?
    } else {
        output::answer(&done.text())?
    }
    for (file, note) in &run.notes {
        output::aside(&format!("note: {file}: {note}"));
    }
    for file in &unread {
        output::aside(&format!("not imported: {}: {}", file.path, file.why));
    }
    Ok(if unread.is_empty() { Exit::Fine } else { Exit::Input })
}

fn about(args: &Import) -> Result<About, Failure> {
    let named = args.paths.first().map_or_else(String::new, |path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        job_file::name(&real)
    });
    let experiment = args.name.clone().unwrap_or(named);
    if experiment.is_empty() || experiment.contains('@') {
        return Err(Failure::input(format!(
            "--name {}: a name holds no @ and isn't empty",
            experiment.shown()
        )));
    }
    let memory_bytes = args.memory.as_deref().map(memory).transpose()?;
    Ok(About { experiment, stack: args.stack.clone(), filesystem: args.filesystem.clone(), memory_bytes })
}

fn memory(text: &str) -> Result<u64, Failure> {
    match Size::parse(text, None) {
        Some(Size::Bytes(bytes)) if bytes > 0 => Ok(bytes),
        _ => Err(Failure::input(format!(
            "--memory {}: expected a size, e.g. 64g (powers of 1024)",
            text.shown()
        ))),
    }
}

/// Why nothing was imported.
fn nothing(unread: &[Unread], skipped: &[String]) -> String {
    let mut lines: Vec<String> = unread.iter().map(|file| format!("  {}: {}", file.path, file.why)).collect();
    if lines.is_empty() {
        lines.push(match skipped.len() {
            0 => "  there are no files".to_owned(),
            count => format!("  none of {count} files is a result: {}", listed(skipped)),
        });
    }
    format!("nothing was imported:\n{}", lines.join("\n"))
}

fn listed(names: &[String]) -> String {
    let mut list: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("and {} more", names.len().saturating_sub(NAMED));
    if names.len() > NAMED {
        list.push(&more);
    }
    list.join(", ")
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What was done.
struct Done<'a> {
    id: &'a RunId,
    run: &'a Assembled,
    trials: usize,
    unread: &'a [Unread],
    skipped: &'a [String],
}

impl Done<'_> {
    fn text(&self) -> String {
        let Assembled { plan, files, .. } = self.run;
        let files = counted(usize::try_from(*files).unwrap_or(usize::MAX), "file");
        let mut text = format!(
            "run {}, experiment {}: {} of {} from {files}\n",
            self.id,
            plan.experiment.shown(),
            counted(self.trials, "trial"),
            counted(plan.cells.len(), "cell"),
        );
        if plan.measure.rounds > 1 {
            text.push_str(&format!(
                "  the same job again is another round: up to {} of a cell\n",
                plan.measure.rounds
            ));
        }
        if !self.skipped.is_empty() {
            text.push_str(&format!("  no results, left out: {}\n", listed(self.skipped)));
        }
        text.push_str(&format!("`diskproof show {}` shows it\n", self.id));
        text
    }

    fn json(&self) -> Result<String, Failure> {
        let document = serde_json::json!({
            "format": FORMAT,
            "run": self.id,
            "experiment": self.run.plan.experiment,
            "files": self.run.files,
            "cells": self.run.plan.cells.len(),
            "trials": self.trials,
            "notes": self.run.notes.iter().map(note).collect::<Vec<_>>(),
            "unreadable": self.unread,
            "skipped": self.skipped,
        });
        serde_json::to_string_pretty(&document).map_err(Failure::ours)
    }
}

fn note((path, text): &(String, String)) -> serde_json::Value {
    serde_json::json!({ "path": path, "text": text })
}
