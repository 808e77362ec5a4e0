//! `diskproof report --all DIR`: a page for each run, a history for each experiment, a comparison of each run with the one before, and an
//! index.

use super::read::Read;
use super::{folder, write};
use crate::args::Choice;
use crate::commands::compare::{StoredRun, wanted};
use crate::commands::judged::unreadable;
use crate::commands::{history, list};
use crate::exit::{Exit, Failure};
use crate::output;
use ::page::{
    ExperimentEntry, FileNames, Link, MOST_CELLS, OVERVIEW, RunEntry, document_page, first_answer,
    history_page, index,
};
use record::printable::Shown as _;
use std::collections::BTreeMap;
use std::path::Path;
use store::{RunSummary, Store};
use verdict::Usual;

/// The name of the index.
const INDEX: &str = "index.html";

/// Writes all pages.
///
/// # Errors
/// A run can't be read, or a file can't be written.
pub(super) fn write_all(store: &Store, folder: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::machine(format!("can't create {}: {e}", folder.shown())))?;
    let mut experiments: BTreeMap<String, Vec<RunSummary>> = BTreeMap::new();
    for run in store.runs().map_err(unreadable)? {
        if run.trials_done > run.trials_failed {
            experiments.entry(run.experiment.clone()).or_default().push(run);
        }
    }
    let mut site = Site { store, folder, names: FileNames::default() };
    let mut entries = Vec::new();
    let mut pages = 0_usize;
    for (name, mut runs) in experiments {
        runs.reverse();
        pages += runs.len();
        entries.push(site.experiment(name, &runs)?);
    }
    write(&folder.join(INDEX), &index(&entries))?;
    output::aside(&format!(
        "wrote {pages} runs of {} experiments: {}",
        entries.len(),
        folder.join(INDEX).shown()
    ));
    Ok(Exit::Fine)
}

/// The pages that are being written.
struct Site<'a> {
    store: &'a Store,
    folder: &'a Path,
    names: FileNames,
}

impl Site<'_> {
    /// Writes the pages of an experiment. Its runs come oldest first.
    fn experiment(&mut self, name: String, runs: &[RunSummary]) -> Result<ExperimentEntry, Failure> {
        let file = self.names.name("history", &name);
        let links = [to_index(), Link { file: file.clone(), text: "History of this experiment".to_owned() }];
        let mut stored: Vec<StoredRun> = Vec::new();
        let mut entries: Vec<RunEntry> = Vec::new();
        for run in runs {
            let mut entry = self.run(run, &links)?;
            let now = StoredRun::read(self.store, &run.id)?;
            if let Some(before) = stored.last() {
                entry.compared = Some(self.comparison(before, &now, &links)?);
            }
            entries.push(entry);
            stored.push(now);
        }
        let history = history::of(runs, &stored, &Choice::default())?;
        let page = history_page(&history, &report::history(&history), &[to_index()]);
        write(&self.folder.join(&file), &page)?;
        entries.reverse();
        Ok(ExperimentEntry { name, history, file, runs: entries })
    }

    fn run(&mut self, run: &RunSummary, links: &[Link]) -> Result<RunEntry, Failure> {
        let read = Read::of(self.store, &run.id)?;
        let document = report::result(&read.view);
        let mut file = self.names.name("run", &run.id.0);
        if read.view.cells.len() > MOST_CELLS {
            let own = file.trim_end_matches(".html").to_owned();
            let up = |link: &Link| Link { file: format!("../{}", link.file), text: link.text.clone() };
            let links: Vec<Link> = links.iter().map(up).collect();
            folder::write_run(self.store, &read, &self.folder.join(&own), &links)?;
            file = format!("{own}/{OVERVIEW}");
        } else {
            let trials = read.trials(self.store)?;
            write(&self.folder.join(&file), &read.page(&document, &trials).linked(links))?;
        }
        Ok(RunEntry {
            run: run.id.to_string(),
            file,
            started: list::started(run),
            tags: run.tags.clone(),
            answer: first_answer(&document),
            compared: None,
        })
    }

    fn comparison(&mut self, before: &StoredRun, now: &StoredRun, links: &[Link]) -> Result<String, Failure> {
        let wanted = wanted(&Choice::default(), &[before, now], Usual::Compared)?;
        let comparison = verdict::between(&now.judged(), &before.judged(), &wanted);
        let file = self.names.name("compare", &format!("{}-{}", before.view.run, now.view.run));
        let page = document_page("Comparison", &report::comparison(&comparison), links);
        write(&self.folder.join(&file), &page)?;
        Ok(file)
    }
}

fn to_index() -> Link {
    Link { file: INDEX.to_owned(), text: "All experiments".to_owned() }
}
