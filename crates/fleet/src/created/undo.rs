//! Destroys created machines, also those of killed runs.

use super::error::CreatedError;
use super::make::{hear, now};
use super::request::{capabilities, other};
use driver::journal::{Entry, Held, Journal, JournalError};
use driver::protocol::{Answer, Task};
use driver::{How, Places, call};
use std::time::Duration;

/// How long a driver may take to destroy.
const DESTROY: Duration = Duration::from_secs(30 * 60);
/// How long `undo` waits for a driver that outlived its controller.
const OUTLIVED: Duration = Duration::from_secs(60);

/// What an undo of created machines did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// One line for each claim.
    pub lines: Vec<String>,
    /// What could not be destroyed, and why.
    pub left: Vec<String>,
    /// Whether a run is still going on, whose machines were left alone.
    pub going_on: bool,
}

/// Destroys everything of a claim. The claim ends if nothing is left; else it stays in the journal with what is left.
///
/// # Errors
/// The driver fails. The claim stays in the journal.
pub fn destroy(mut held: Held, places: &Places, tell: &dyn Fn(&str)) -> Result<Vec<String>, CreatedError> {
    let program = places.find(&held.entry().driver)?;
    let capabilities = capabilities(&program)?;
    let file =
        held.lock().try_clone().map_err(|source| CreatedError::File { path: "the lock".into(), source })?;
    let how =
        How { secrets: &capabilities.secrets, limit: DESTROY, request_file: Some(&file), ..How::default() };
    let Entry { claim, settings, .. } = held.entry().clone();
    let mut broken = None;
    let answer = call(&program, Task::Destroy { claim, settings }, &how, &mut |heard| {
        let failed = hear(&program.name, &mut held, &heard, tell);
        broken = broken.take().or(failed);
    })?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    if !matches!(answer, Answer::Destroyed { .. }) {
        return Err(other(&program));
    }
    let left = held.destroyed(answer)?;
    Ok(left.iter().map(|left| format!("{} {}: {}", left.resource.name, left.resource.id, left.why)).collect())
}

/// Destroys what runs left that have no living owner: those of `only`, or all. Machines that `create` made stay until their deadline, unless
/// `also_kept` or `only` says otherwise.
///
/// # Errors
/// The journal can't be read.
pub fn undo(
    journal: &Journal,
    places: &Places,
    only: Option<&str>,
    also_kept: bool,
    tell: &dyn Fn(&str),
) -> Result<Undone, JournalError> {
    let mut undone = Undone::default();
    for entry in journal.entries()? {
        if only.is_some_and(|run| run != entry.claim.run) {
            continue;
        }
        if entry.kept
            && !also_kept
            && only.is_none()
            && now() < entry.claim.deadline
            && !entry.created.is_empty()
        {
            continue;
        }
        one(journal, places, &entry, tell, &mut undone)?;
    }
    Ok(undone)
}

fn one(
    journal: &Journal,
    places: &Places,
    entry: &Entry,
    tell: &dyn Fn(&str),
    undone: &mut Undone,
) -> Result<(), JournalError> {
    let (run, driver) = (&entry.claim.run, &entry.driver);
    let held =
        match journal.take(&entry.claim.id, if entry.is_abandoned() { OUTLIVED } else { Duration::ZERO }) {
            Ok(Some(held)) => held,
            Ok(None) => return Ok(()),
            Err(JournalError::Busy { .. }) => {
                undone.going_on = true;
                undone.lines.push(format!("machines of run {run}: in use, left alone"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
    let names = entry.targets.join(", ");
    match destroy(held, places, tell) {
        Ok(left) if left.is_empty() => {
            undone.lines.push(format!("machines of run {run}: driver {driver} destroyed {names}"));
        }
        Ok(left) => {
            undone.left.extend(left.into_iter().map(|left| format!("run {run}, driver {driver}: {left}")))
        }
        Err(error) => {
            let why = record::printable::chain(&error);
            undone.left.push(format!(
                "run {run}, driver {driver}, machines {names} (claim {}): {why}",
                entry.claim.id
            ));
        }
    }
    Ok(())
}
