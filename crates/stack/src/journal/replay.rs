//! Undoes the acts of a journal, newest first, as far as possible.

use super::file::{Journal, Mark};
use super::line::Entry;
use crate::act::loop_device::{AttachLoop, stay_gone};
use crate::act::{Act, Undoing, Undone};
use crate::error::{ActError, UndoError, UndoFailure};
use crate::machine::{Machine, Phase, Point};
use record::id::RunId;
use record::printable::Shown as _;
use std::fmt;
use std::path::PathBuf;

/// The result of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoReport {
    /// The run.
    pub run: RunId,
    /// The acts that were undone, as text.
    pub undone: Vec<String>,
    /// The objects that had been moved, and where they were found and removed, as text.
    pub moved: Vec<String>,
    /// The acts that needed no undo any more, or were left alone on purpose.
    pub skipped: Vec<Skipped>,
    /// The process ids of this run's processes that had outlived it and were ended.
    pub ended: Vec<u32>,
    /// The journal, if it lacks its beginning: it is unknown then what the run changed.
    pub beheaded: Option<PathBuf>,
}

/// An act that was not undone, on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The act.
    pub act: String,
    /// The reason.
    pub why: String,
}

impl fmt::Display for UndoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.undone.len(), self.skipped.len()) {
            (0, 0) if self.beheaded.is_some() => write!(f, "nothing undone")?,
            (0, 0) => write!(f, "nothing was left to undo")?,
            (1, _) => write!(f, "1 change undone")?,
            (count, _) => write!(f, "{count} changes undone")?,
        }
        if let Some(path) = &self.beheaded {
            let path = path.shown();
            write!(
                f,
                "; the journal {path} is empty or cut at its beginning, so it can't tell what the run changed: look for devices, mounts and files whose names begin with diskproof-"
            )?;
        }
        for pid in &self.ended {
            write!(f, "; ended process {pid}, which had outlived the run")?;
        }
        for moved in &self.moved {
            write!(f, "; {moved}")?;
        }
        for Skipped { act, why } in &self.skipped {
            write!(f, "; left alone: {act} ({why})")?;
        }
        Ok(())
    }
}

impl UndoReport {
    /// The report of a run that has nothing left.
    #[must_use]
    pub(super) fn nothing(run: &RunId) -> Self {
        Self {
            run: run.clone(),
            undone: Vec::new(),
            moved: Vec::new(),
            skipped: Vec::new(),
            ended: Vec::new(),
            beheaded: None,
        }
    }
}

impl Journal {
    /// Undoes all acts since the mark, newest first.
    ///
    /// # Errors
    /// When some acts could not be undone; they stay in the journal.
    pub fn undo_to(&mut self, machine: &Machine<'_>, mark: Mark) -> Result<UndoReport, UndoError> {
        self.undo_without(machine, mark, None)
    }

    /// The same, without a disk that won't come back.
    pub(super) fn undo_without(
        &mut self,
        machine: &Machine<'_>,
        mark: Mark,
        given_up: Option<&str>,
    ) -> Result<UndoReport, UndoError> {
        let since = self.entries().iter().filter(|entry| entry.step >= mark.0);
        let entries: Vec<Entry> = since.cloned().collect();
        undo_entries(machine, self, &entries, given_up)
    }

    /// Undoes all acts that are left and removes the journal.
    ///
    /// # Errors
    /// When some acts could not be undone; they stay, and so does the journal.
    pub fn undo_all(mut self, machine: &Machine<'_>) -> Result<(), UndoError> {
        self.undo_to(machine, Mark(0))?;
        self.remove(machine)
    }
}

/// Undoes these entries. After a failed step, the older ones are still tried: each checks by itself that nothing rests on what it
/// removes.
fn undo_entries(
    machine: &Machine<'_>,
    journal: &mut Journal,
    entries: &[Entry],
    given_up: Option<&str>,
) -> Result<UndoReport, UndoError> {
    let mut report = UndoReport { beheaded: journal.beheaded(), ..UndoReport::nothing(journal.run()) };
    let (mut failures, mut gone) = (Vec::new(), Vec::new());
    for entry in entries.iter().rev() {
        let act = entry.act.to_string();
        match undo_entry(machine, journal, entry, given_up) {
            Ok(undone) => {
                gone.extend(may_come_back(journal, entry, &undone).map(|device| (entry, device)));
                match undone {
                    Undone::Done => report.undone.push(act),
                    Undone::Elsewhere(path) => {
                        report
                            .moved
                            .push(format!("{act}: undone at {}, where somebody had moved it", path.shown()));
                        report.undone.push(act);
                    }
                    Undone::Nothing => {}
                    Undone::Left(why) => report.skipped.push(Skipped { act, why }),
                }
            }
            Err(error) => failures.push(UndoFailure { step: entry.step, act, error }),
        }
    }
    failures.extend(confirm_gone(machine, journal, &gone));
    if failures.is_empty() {
        return Ok(report);
    }
    Err(UndoError::Steps { run: journal.run().clone(), of: entries.len(), failures })
}

/// The loop device of an act in this boot, which is gone but may reappear.
fn may_come_back<'e>(journal: &Journal, entry: &'e Entry, undone: &Undone) -> Option<&'e AttachLoop> {
    match (&entry.act, undone) {
        (Act::AttachLoop(device), Undone::Done | Undone::Nothing) if !is_rebooted(journal, entry) => {
            Some(device)
        }
        _ => None,
    }
}

fn is_rebooted(journal: &Journal, entry: &Entry) -> bool {
    entry.boot_id != journal.boot_id()
}

/// Marks loop devices as undone if they stay gone.
fn confirm_gone(
    machine: &Machine<'_>,
    journal: &mut Journal,
    gone: &[(&Entry, &AttachLoop)],
) -> Vec<UndoFailure> {
    let devices: Vec<&AttachLoop> = gone.iter().map(|(_, device)| *device).collect();
    let stayed = stay_gone(machine, &devices);
    let undone = |((entry, _), stayed): (&(&Entry, _), Result<(), ActError>)| {
        let error = stayed.and_then(|()| mark_undone(journal, entry)).err()?;
        Some(UndoFailure { step: entry.step, act: entry.act.to_string(), error })
    };
    gone.iter().zip(stayed).filter_map(undone).collect()
}

fn undo_entry(
    machine: &Machine<'_>,
    journal: &mut Journal,
    entry: &Entry,
    given_up: Option<&str>,
) -> Result<Undone, ActError> {
    let point = |phase| Point { step: entry.step, phase, act: entry.act.name() };
    machine.hooks.at(&point(Phase::BeforeUndo))?;
    let run = journal.run().clone();
    let undoing = Undoing { machine, run: &run, given_up, rebooted: is_rebooted(journal, entry) };
    let undone = entry.act.undo(&undoing)?;
    machine.hooks.at(&point(Phase::AfterUndo))?;
    if may_come_back(journal, entry, &undone).is_none() {
        mark_undone(journal, entry)?;
    }
    Ok(undone)
}

fn mark_undone(journal: &mut Journal, entry: &Entry) -> Result<(), ActError> {
    journal.undone(entry.step).map_err(|error| ActError::Journal { source: Box::new(error) })
}
