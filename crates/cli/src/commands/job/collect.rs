//! `diskproof job collect`: stores results from files.

use super::receive::next;
use super::taker::Taker;
use crate::args::JobCollect;
use crate::commands::{judged, show};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::queue::{Answer, Line};
use record::id::RunId;
use record::printable::{Shown as _, printable};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use store::Store;

/// What became of the lines.
#[derive(Default)]
struct Tally {
    stored: u64,
    known: u64,
    refused: u64,
    runs: BTreeSet<RunId>,
}

pub(super) fn collect(args: &JobCollect, settings: &Settings) -> Result<Exit, Failure> {
    let store = show::open_existing(settings)?;
    let mut tally = Tally::default();
    for path in files(&args.paths)? {
        let cant = |error: std::io::Error| Failure::input(format!("cannot read {}: {error}", path.shown()));
        if path == Path::new("-") {
            tally.add(&store, &path, &mut std::io::stdin().lock()).map_err(cant)?;
        } else {
            tally.add(&store, &path, &mut BufReader::new(File::open(&path).map_err(cant)?)).map_err(cant)?;
        }
    }
    for run in &tally.runs {
        let head = store.head(run).map_err(judged::unreadable)?;
        let planned = head.plan.cells.len() * head.plan.measure.rounds as usize;
        output::answer(&format!("run {run}: {} of {planned} trials are stored", head.trials_done))?;
    }
    output::answer(&format!("{} trials are new, {} were stored already", tally.stored, tally.known))?;
    Ok(if tally.refused > 0 { Exit::Input } else { Exit::Fine })
}

/// The files, and those in folders, in the order of their names.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let cant = |error: std::io::Error| Failure::input(format!("cannot read {}: {error}", path.shown()));
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(cant)? {
            let file = entry.map_err(cant)?.path();
            if file.extension().is_some_and(|end| end == "ndjson") {
                found.push(file);
            }
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

impl Tally {
    fn add(&mut self, store: &Store, path: &Path, input: &mut impl BufRead) -> std::io::Result<()> {
        let mut taker = Taker::new(store);
        let mut number = 0_u64;
        while let Some(line) = next(input)? {
            number += 1;
            let at = || format!("{}:{number}", path.shown());
            let line = match serde_json::from_slice::<Line>(&line) {
                Ok(line) => line,
                // The machine was killed or lost power while it wrote.
                Err(_) if line.last() != Some(&b'\n') => {
                    output::aside(&format!("{}: the last line is not whole and is left out", at()));
                    continue;
                }
                Err(error) => {
                    self.refuse(&at(), &error.to_string());
                    continue;
                }
            };
            let is_trial = matches!(line, Line::Trial { .. });
            match taker.take(line) {
                Answer::Refused { reason, .. } => self.refuse(&at(), &reason),
                Answer::Duplicate => {
                    self.known += 1;
                    output::aside(&format!("{}: this trial is stored already", at()));
                }
                Answer::Kept if is_trial => self.stored += 1,
                Answer::Kept | Answer::Accepted(_) => {}
            }
            self.runs.extend(taker.run().cloned());
        }
        Ok(())
    }

    fn refuse(&mut self, at: &str, reason: &str) {
        self.refused += 1;
        output::aside(&format!("{at}: {}", printable(reason)));
    }
}
