//! What created machines are doing, and what is left of them.

use super::error::CreatedError;
use super::request::{Files, capabilities, other};
use driver::journal::{Entry, Journal, JournalError};
use driver::protocol::{Answer, Listed, MachineRequest, MachineState, Task};
use driver::settings::{Source, merge};
use driver::{How, Places, call};
use std::time::Duration;

/// How long a driver may take to tell.
const TELL: Duration = Duration::from_secs(120);

/// A target whose machine was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// The claim.
    pub claim: String,
    /// The run, or the name of the machines' set.
    pub run: String,
    /// The experiment.
    pub experiment: String,
    /// The target.
    pub target: String,
    /// The driver.
    pub driver: String,
    /// How far it is, in one word.
    pub stage: &'static str,
    /// The provider's word on it: `Err` if the driver can't tell, `None` if the machine doesn't exist.
    pub state: Result<Option<MachineState>, String>,
    /// When it may be removed by anybody, in seconds since 1970 (UTC).
    pub deadline: u64,
    /// Whether a process works with it now.
    pub in_use: bool,
}

/// Lists the machines in the journal; with `ask`, their drivers tell whether they exist. Returns, too, what of the journal can't be read.
#[must_use]
pub fn live(journal: &Journal, places: &Places, ask: bool) -> (Vec<Live>, Vec<JournalError>) {
    let mut all = Vec::new();
    let (entries, unreadable) = journal.entries();
    for entry in entries {
        let states = if ask { states(&entry, places) } else { Err("not asked".to_owned()) };
        for (target, machine) in entry.targets.iter().zip(&entry.machines) {
            let state = states.as_ref().map_err(Clone::clone);
            all.push(Live {
                claim: entry.claim.id.clone(),
                run: entry.claim.run.clone(),
                experiment: entry.experiment.clone(),
                target: target.clone(),
                driver: entry.driver.clone(),
                stage: entry.stage.name(),
                state: state
                    .map(|all| all.iter().find(|(name, _)| *name == machine.name).map(|(_, state)| *state)),
                deadline: entry.claim.deadline,
                in_use: journal.is_held(&entry.claim.id),
            });
        }
    }
    (all, unreadable)
}

/// Whether all machines of a claim exist and don't end; one that was stopped exists.
///
/// # Errors
/// The driver can't tell, and why.
pub fn are_there(entry: &Entry, places: &Places) -> Result<bool, String> {
    let states = states(entry, places)?;
    let is_there = |machine: &MachineRequest| {
        states.iter().any(|(name, state)| *name == machine.name && *state != MachineState::Ending)
    };
    Ok(entry.machines.iter().all(is_there))
}

fn states(entry: &Entry, places: &Places) -> Result<Vec<(String, MachineState)>, String> {
    let asked = || {
        let program = places.find(&entry.driver)?;
        let capabilities = capabilities(&program)?;
        let how = How { secrets: &capabilities.secrets, limit: TELL, ..How::default() };
        let task = Task::Status { claim: entry.claim.clone(), settings: entry.settings.clone() };
        match call(&program, task, &how, &mut |_| {})? {
            Answer::Status { machines } => {
                Ok(machines.into_iter().map(|one| (one.name, one.state)).collect())
            }
            _ => Err(other(&program)),
        }
    };
    asked().map_err(|error: CreatedError| record::printable::chain(&error))
}

/// A resource that some claim of diskproof has.
#[derive(Debug, Clone, PartialEq)]
pub struct Leftover {
    /// The driver that found it.
    pub driver: String,
    /// What it is.
    pub listed: Listed,
    /// Whether the claim stands in this machine's journal.
    pub known: bool,
    /// Whether a process works with the claim now.
    pub in_use: bool,
}

/// Asks drivers what any claim of diskproof has in their accounts: those in the journal and those that the user's file configures.
/// Returns what they found, and why a driver can't tell or a file of the journal can't be read.
#[must_use]
pub fn leftovers(journal: &Journal, places: &Places, files: &Files) -> (Vec<Leftover>, Vec<String>) {
    let (entries, unreadable) = journal.entries();
    let mut found: Vec<Leftover> = Vec::new();
    let mut failed: Vec<String> = unreadable.iter().map(|error| record::printable::chain(error)).collect();
    let mut asked: Vec<(String, driver::protocol::Settings)> = Vec::new();
    let configured = files.settings.iter().map(|(driver, settings)| (driver.clone(), settings.clone()));
    for (driver, settings) in
        entries.iter().map(|entry| (entry.driver.clone(), entry.settings.clone())).chain(configured)
    {
        match listed(&driver, &settings, places) {
            Ok((settings, _)) if asked.contains(&(driver.clone(), settings.clone())) => {}
            Ok((settings, all)) => {
                for listed in all {
                    let twice = found
                        .iter()
                        .any(|one| one.driver == driver && one.listed.resource == listed.resource);
                    let known = entries.iter().any(|entry| entry.claim.id == listed.claim.id);
                    let in_use = known && journal.is_held(&listed.claim.id);
                    if !twice {
                        found.push(Leftover { driver: driver.clone(), listed, known, in_use });
                    }
                }
                asked.push((driver, settings));
            }
            Err(error) => failed.push(format!("driver {driver}: {}", record::printable::chain(&error))),
        }
    }
    (found, failed)
}

fn listed(
    driver: &str,
    settings: &driver::protocol::Settings,
    places: &Places,
) -> Result<(driver::protocol::Settings, Vec<Listed>), CreatedError> {
    let program = places.find(driver)?;
    let capabilities = capabilities(&program)?;
    let own = Source { name: "the file", settings };
    let settings = merge(&capabilities.settings, &[own], &|name| std::env::var(name).ok(), &[]).settings;
    let how = How { secrets: &capabilities.secrets, limit: TELL, ..How::default() };
    match call(&program, Task::List { settings: settings.clone() }, &how, &mut |_| {})? {
        Answer::Listed { resources } => Ok((settings, resources)),
        _ => Err(other(&program)),
    }
}
