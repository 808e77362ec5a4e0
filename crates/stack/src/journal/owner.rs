//! Runs without a living owner: what they left, and its undo.

use super::file::{Journal, Mark};
use super::line::parse;
use super::orphans;
use super::replay::UndoReport;
use crate::act::Act;
use crate::error::{JournalError, UndoError};
use crate::machine::Machine;
use record::id::RunId;
use std::path::Path;

/// A run that changed the machine and has not undone everything yet.
#[derive(Debug)]
pub struct Leftover {
    /// The run.
    pub run: RunId,
    /// What is left, oldest first, as text.
    pub acts: Vec<String>,
    /// Whether its process is alive: then nothing is wrong, and nothing can be undone.
    pub owner_alive: bool,
    /// Why its journal can't be used, if so.
    pub trouble: Option<String>,
}

/// All runs that have a journal, sorted by name.
///
/// # Errors
/// When the journal directory exists and can't be read.
pub fn leftovers(machine: &Machine<'_>) -> Result<Vec<Leftover>, JournalError> {
    let dir = machine.journal_dir();
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(JournalError::Io { doing: "read", path: dir, source }),
    };
    let mut runs: Vec<RunId> = entries
        .flatten()
        .filter_map(|entry| {
            entry.file_name().to_str()?.strip_suffix(".jsonl").map(|run| RunId(run.to_owned()))
        })
        .collect();
    runs.sort();
    Ok(runs.iter().filter_map(|run| leftover(machine, run)).collect())
}

fn leftover(machine: &Machine<'_>, run: &RunId) -> Option<Leftover> {
    let of = |acts, owner_alive, trouble| Some(Leftover { run: run.clone(), acts, owner_alive, trouble });
    match Journal::lock(machine, run, false) {
        Ok(None) => None,
        Ok(Some(journal)) => of(journal.entries().iter().map(|e| e.act.to_string()).collect(), false, None),
        Err(JournalError::Locked { .. }) => of(Vec::new(), true, None),
        Err(error) => of(Vec::new(), false, Some(record::printable::chain(&error))),
    }
}

/// Undoes what a run left. Safe to run at any time, from any process, any number of times; refuses a run with a living owner.
/// First it ends the processes in the run's own cgroup (an engine may have outlived its agent process), and waits for programs
/// that the run started.
///
/// # Errors
/// When the run has a living owner, one of its programs can't be ended, its journal can't be read, or some acts could not be
/// undone and stay in the journal.
pub fn undo_run(machine: &Machine<'_>, run: &RunId) -> Result<UndoReport, UndoError> {
    undo_run_without(machine, run, None)
}

/// The same when a disk won't come back, as its owner says, by the name or serial number in the journal. What was written on it
/// stays there; if the disk is here all the same, that is removed.
///
/// # Errors
/// As above.
pub fn undo_run_without(
    machine: &Machine<'_>,
    run: &RunId,
    given_up: Option<&str>,
) -> Result<UndoReport, UndoError> {
    let locked = Journal::lock(machine, run, false);
    let Some(mut journal) = locked.map_err(|source| UndoError::Journal { run: run.clone(), source })? else {
        return Ok(UndoReport::nothing(run));
    };
    let cgroups = journal.entries().iter().filter_map(|entry| match &entry.act {
        Act::MakeCgroup(made) => Some(made),
        _ => None,
    });
    let mut ended: Vec<u32> = cgroups.flat_map(|made| made.end_processes(machine, run)).collect();
    if let Some(owner) = journal.last_owner() {
        let outlived = orphans::wait(machine, owner);
        ended.extend(outlived.map_err(|left| UndoError::AtWork { run: run.clone(), left })?);
    }
    let mut report = journal.undo_without(machine, Mark(0), given_up)?;
    journal.undo_all(machine)?;
    report.ended = ended;
    Ok(report)
}

/// Another run that has changed this kernel setting and hasn't put it back. If two runs changed the same setting, the later one
/// would put back the value that the earlier one set.
pub(crate) fn set_by_another(machine: &Machine<'_>, own: &RunId, file: &Path) -> Option<RunId> {
    let entries = std::fs::read_dir(machine.journal_dir()).ok()?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let runs = names.filter_map(|name| name.strip_suffix(".jsonl").map(|run| RunId(run.to_owned())));
    let sets = |run: &RunId| {
        let path = machine.journal_dir().join(format!("{run}.jsonl"));
        // A journal that can't be read or trusted is reported when it is undone.
        let text = host::read_trusted(&path).ok().flatten().unwrap_or_default();
        let content = parse(&String::from_utf8_lossy(&text), &path, run, machine.prefix);
        let open = content.map(|content| content.open).unwrap_or_default();
        open.iter().any(|entry| match &entry.act {
            Act::SetKnob(knob) => knob.path == *file,
            Act::SetArcMax(arc) => arc.path == *file,
            Act::StartNfsServer(server) => server.threads == *file,
            _ => false,
        })
    };
    runs.filter(|run| run != own).find(sets)
}
