//! Destroys created machines, also those of killed runs.

use super::error::CreatedError;
use super::make::{hear, now};
use super::request::{capabilities, other};
use driver::journal::{Entry, Held, Journal, JournalError, Stage};
use driver::protocol::{Answer, Event, Task};
use driver::{CallError, Heard, How, Places, call};
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

/// Which claims to undo.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which<'a> {
    /// Only those of this run; `None`: all.
    pub run: Option<&'a str>,
    /// Also machines that `create` made and that were to stay.
    pub also_kept: bool,
    /// The id of a claim that ends in any case.
    pub give_up: Option<&'a str>,
}

/// Destroys everything of a claim. The claim ends if nothing is left; else it stays in the journal with what is left.
///
/// # Errors
/// The driver fails, or finds nothing of a claim that has something: it may look into another account. The claim stays in the journal.
pub fn destroy(mut held: Held, places: &Places, tell: &dyn Fn(&str)) -> Result<Vec<String>, CreatedError> {
    let program = places.find(&held.entry().driver)?;
    let capabilities = capabilities(&program)?;
    let file =
        held.lock().try_clone().map_err(|source| CreatedError::File { path: "the lock".into(), source })?;
    let how =
        How { secrets: &capabilities.secrets, limit: DESTROY, request_file: Some(&file), ..How::default() };
    let Entry { claim, settings, ending, .. } = held.entry().clone();
    let is_own_account = ending || held.is_begun_here();
    // From here on the machines don't count as existing, whatever ends this.
    held.change(|entry| {
        entry.created.clear();
        entry.stage = Stage::Begun;
        entry.ending = is_own_account;
    })?;
    let (mut broken, mut finds) = (None, false);
    let answer = call(&program, Task::Destroy { claim, settings }, &how, &mut |heard| {
        let mut failed = hear(&program.name, &mut held, &heard, tell);
        if let Heard::Event(Event::Resource { exists: false, .. }) = &heard
            && !std::mem::replace(&mut finds, true)
        {
            failed = failed.or(held.change(|entry| entry.ending = true).err());
        }
        broken = broken.take().or(failed);
    });
    if matches!(answer, Ok(_) | Err(CallError::Failed { .. })) {
        held.change(|entry| entry.ending = false)?;
    }
    let answer = answer?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    let Answer::Destroyed { removed, left } = &answer else { return Err(other(&program)) };
    let finds = finds || !removed.is_empty() || !left.is_empty();
    let may_end_alone = capabilities.enforces_deadline && now() >= held.entry().claim.deadline;
    if !finds && !is_own_account && !may_end_alone && !held.entry().resources.is_empty() {
        return Err(no_trace(held.entry()));
    }
    let left = held.destroyed(answer)?;
    Ok(left.iter().map(|left| format!("{} {}: {}", left.resource.name, left.resource.id, left.why)).collect())
}

fn no_trace(entry: &Entry) -> CreatedError {
    let unseen = entry.resources.iter().map(|resource| format!("{} {}", resource.name, resource.id));
    CreatedError::NoTrace {
        driver: entry.driver.clone(),
        unseen: unseen.collect::<Vec<_>>().join(", "),
        run: entry.claim.run.clone(),
        claim: entry.claim.id.clone(),
    }
}

/// Destroys what runs left that have no living owner. Machines that `create` made stay until their deadline, unless `which` says otherwise.
/// What can't be read or destroyed is reported, and the others are undone nevertheless.
pub fn undo(journal: &Journal, places: &Places, which: Which<'_>, tell: &dyn Fn(&str)) -> Undone {
    let (entries, unreadable) = journal.entries();
    let mut undone = Undone { left: unreadable.iter().map(chain).collect(), ..Undone::default() };
    for entry in entries {
        if which.run.is_some_and(|run| run != entry.claim.run) {
            continue;
        }
        let stays = entry.kept && now() < entry.claim.deadline && !entry.created.is_empty();
        if stays && !which.also_kept && which.run.is_none() {
            continue;
        }
        let is_given_up = which.give_up == Some(entry.claim.id.as_str());
        if let Err(error) = one(journal, places, (&entry, is_given_up), tell, &mut undone) {
            undone.left.push(chain(&error));
        }
    }
    undone
}

fn chain(error: &JournalError) -> String {
    record::printable::chain(error)
}

fn one(
    journal: &Journal,
    places: &Places,
    (entry, is_given_up): (&Entry, bool),
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
        Ok(_) | Err(_) if is_given_up => {
            let id = &entry.claim.id;
            if let Some(held) = journal.take(id, Duration::ZERO)? {
                held.give_up()?;
            }
            undone.lines.push(format!("machines of run {run}: claim {id} is given up; what still exists of {names} stays"));
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
