//! `diskproof report [RUN]`: the result as one HTML file, one of its pictures, or pages of all runs.

mod site;

use super::judged;
use super::show::{find, open_existing};
use crate::args::Report;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use ::page::{Reading, RunPage, TrialPart, Trials};
use record::id::RunId;
use record::judged::RunView;
use record::printable::Shown as _;
use std::io::IsTerminal as _;
use std::path::Path;
use store::Store;

pub(crate) fn report(args: &Report, settings: &Settings) -> Result<Exit, Failure> {
    if args.all.is_none() && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::input("a terminal can't show pictures: give a file, e.g. -o report.html"));
    }
    let store = open_existing(settings)?;
    if let Some(folder) = &args.all {
        return site::write_all(&store, folder);
    }
    let run = find(&store, &args.run)?;
    let read = ReadRun::of(&store, &run)?;
    let document = report::result(&read.view);
    let page = read.page(&document);
    let text = match &args.chart {
        Some(name) => page.chart(name).map_err(Failure::input)?,
        None => page.html(),
    };
    match &args.output {
        None => output::answer(&text)?,
        Some(path) => write(path, &text)?,
    }
    Ok(Exit::Fine)
}

/// A run with all that its page shows.
struct ReadRun {
    view: RunView,
    trials: Trials,
    source: String,
}

impl ReadRun {
    /// # Errors
    /// The run can't be read.
    fn of(store: &Store, run: &RunId) -> Result<Self, Failure> {
        let view = judged::view(store, run)?;
        let mut trials = Trials::default();
        store
            .reduced(
                run,
                |trial, readings: Vec<Reading>| TrialPart::of(&trial, &readings),
                |part| trials.add(part),
            )
            .map_err(judged::unreadable)?;
        let source = store.head(run).map_err(judged::unreadable)?.plan.source;
        Ok(Self { view, trials, source })
    }

    fn page<'a>(&'a self, document: &'a report::Document) -> RunPage<'a> {
        RunPage { view: &self.view, document, trials: &self.trials, source: &self.source }
    }
}

/// # Errors
/// The file can't be written.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::machine(format!("can't write {}: {e}", path.shown())))
}
