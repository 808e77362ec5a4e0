//! Runs whose owner is gone: what they left, and its undo.

use super::file::{Journal, Mark};
use super::line::parse;
use super::orphans;
use super::replay::UndoReport;
use crate::act::{Act, cgroup};
use crate::error::{JournalError, UndoError};
use crate::machine::Machine;
use record::id::RunId;
use std::path::Path;

/// A run that changed the machine and has not put everything back yet.
#[derive(Debug)]
pub struct Leftover {
    /// The run.
    pub run: RunId,
    /// What is left, oldest first, in words.
    pub acts: Vec<String>,
    /// Whether its process is alive and at work: then nothing is wrong, and nothing can be undone.
    pub owner_alive: bool,
    /// Why its journal can't be used, if it can't.
    pub trouble: Option<String>,
}

/// All runs that have a journal, by name.
///
/// # Errors
/// The journal directory is there and can't be read.
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

/// Undoes what a run left. Safe to run at any time, from any process, any number of times; refuses a run whose owner is
/// alive. Processes that are still in the run's own cgroup (an engine that outlived us) are ended first, and programs that it had
/// started are waited for.
///
/// # Errors
/// The run is alive, or a program of its is and can't be ended; its journal can't be read; some acts could not be undone and stay in the journal.
pub fn undo_run(machine: &Machine<'_>, run: &RunId) -> Result<UndoReport, UndoError> {
    undo_run_without(machine, run, None)
}

/// The same where a disk never returns, as its owner says: it is named by the name or the serial number that the journal knows. What was
/// written on it stays there; if it is here all the same, that is removed.
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
    let mut ended = cgroup::end_processes(machine, run, journal.entries());
    if let Some(owner) = journal.last_owner() {
        let outlived = orphans::wait(machine, owner);
        ended.extend(outlived.map_err(|left| UndoError::AtWork { run: run.clone(), left })?);
    }
    let mut report = journal.undo_without(machine, Mark(0), given_up)?;
    journal.undo_all(machine)?;
    report.ended = ended;
    Ok(report)
}

/// Another run that has set this file of the kernel and hasn't put it back. Of two that set the same, the later one would put
/// back what the earlier one had set.
pub(crate) fn set_by_another(machine: &Machine<'_>, own: &RunId, file: &Path) -> Option<RunId> {
    let entries = std::fs::read_dir(machine.journal_dir()).ok()?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let runs = names.filter_map(|name| name.strip_suffix(".jsonl").map(|run| RunId(run.to_owned())));
    let sets = |run: &RunId| {
        let path = machine.journal_dir().join(format!("{run}.jsonl"));
        // what can't be read, or isn't to be trusted, is told by whoever undoes it
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
