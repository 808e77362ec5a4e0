//! Fetches a run from its copy into a store.

use super::layout::{
    FORMAT, Head, head_key, key_of_place, plan_key, trial_key, trials_key, unpack, unreadable,
};
use super::objects::Objects;
use crate::bundle::is_run_name;
use crate::digest::Digest;
use crate::error::ShareError;
use record::event::Stopped;
use record::id::RunId;
use record::plan::Plan;
use record::trial::TrialRecord;
use record::version::FormatVersion;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use store::{Received, Store};

/// A run that has a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedRun {
    /// The run.
    pub run: RunId,
    /// Its experiment.
    pub experiment: String,
    /// Why it ended.
    pub stopped: Stopped,
    /// Number of trials in the copy, without those that were cut off.
    pub trials: u64,
    /// Number of planned trials.
    pub trials_planned: u64,
}

/// What a fetch did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Whether the store had the run already.
    pub was_here: bool,
    /// Number of trials that the store lacked.
    pub trials: u64,
}

/// Returns the runs that have a copy at this place, by name. Reads one small object for each.
///
/// # Errors
/// The place doesn't answer, or a run can't be read.
pub fn runs(objects: &dyn Objects) -> Result<Vec<CopiedRun>, ShareError> {
    let mut runs = Vec::new();
    for name in objects.folders()?.into_iter().filter(|name| is_run_name(name)) {
        let run = RunId(name);
        // A run without run.json isn't there yet.
        let Some(head) = head(objects, &run)? else { continue };
        let keys = objects.keys(&trials_key(&run))?;
        let trials = keys.iter().filter(|key| !key.contains(".cut-off-")).count() as u64;
        let Head { experiment, stopped, trials_planned, .. } = head;
        runs.push(CopiedRun { run, experiment, stopped, trials, trials_planned });
    }
    Ok(runs)
}

/// Whether a run has a copy.
///
/// # Errors
/// The place doesn't answer, or the run can't be read.
pub fn has_run(objects: &dyn Objects, run: &RunId) -> Result<bool, ShareError> {
    Ok(head(objects, run)?.is_some())
}

fn head(objects: &dyn Objects, run: &RunId) -> Result<Option<Head>, ShareError> {
    let key = head_key(run);
    let Some(found) = objects.get(&key)? else { return Ok(None) };
    let head: Head = serde_json::from_slice(&found.bytes)
        .map_err(|error| unreadable(&key, format!("it can't be read ({error})")))?;
    readable(&key, FORMAT, head.format)?;
    if head.run != *run {
        return Err(unreadable(&key, "it is of another run".to_owned()));
    }
    Ok(Some(head))
}

fn readable(key: &str, ours: FormatVersion, found: FormatVersion) -> Result<(), ShareError> {
    if ours.reads(found) {
        return Ok(());
    }
    let why = format!("it has format {found}, this diskproof reads {ours}: use a newer one");
    Err(unreadable(key, why))
}

/// Fetches a run into a store: the whole run, or the trials that the store lacks. The trials arrive in `folder` first.
///
/// # Errors
/// There is no such run, it can't be read, the store has another run of this name, or it can't be written.
pub fn fetch(
    objects: &dyn Objects,
    store: &Store,
    run: &RunId,
    folder: &Path,
) -> Result<Fetched, ShareError> {
    let head = head(objects, run)?.ok_or_else(|| ShareError::Missing { at: head_key(run) })?;
    let key = plan_key(run);
    let found = objects.get(&key)?.ok_or_else(|| ShareError::Missing { at: key.clone() })?;
    if Digest::of(&found.bytes).to_string() != head.plan_digest {
        return Err(unreadable(&key, "it isn't the plan of run.json".to_owned()));
    }
    let plan: Plan = unpack(&key, &found.bytes)?;
    readable(&key, FormatVersion::RECORD, plan.format)?;
    let was_here = store.runs()?.iter().any(|known| known.id == *run);
    if was_here && (store.plan_as_made(run)? != plan || store.origin(run)?.is_some()) {
        return Err(ShareError::Taken { run: run.clone(), from: head_key(run) });
    }
    let mut here = BTreeSet::new();
    if was_here {
        here.extend(store.trials_since(run, None)?.iter().map(|place| key_of_place(run, place)));
    }
    let arrived = arrive(objects, &plan, run, &here, folder)?;
    let trials = arrived.paths.len() as u64;
    let read = arrived.paths.iter().map(|path| {
        let bytes = fs::read(path).map_err(ShareError::file("read", path))?;
        unpack::<TrialRecord>(&path.to_string_lossy(), &bytes)
    });
    if !was_here {
        let received = Received {
            run,
            plan: &plan,
            raised: head.raised.as_ref(),
            environment: &head.environment,
            volumes: &head.volumes,
            stopped: &head.stopped,
            started_unix_ms: head.started_unix_ms,
            trials_planned: head.trials_planned,
            origin: None,
        };
        store.receive_run(&received, read)?;
    } else if trials > 0 {
        // The trials come last: if this is cut off, some are still missing, and the next fetch does all of it again.
        let mut environment = head.environment.clone();
        environment.add_bills(&store.head(run)?.environment);
        store.set_environment(run, &environment)?;
        store.set_volumes(run, &head.volumes)?;
        if let Some(raised) = &head.raised {
            store.raise_budgets(run, raised)?;
        }
        store.finish_run(run, &head.stopped)?;
        for trial in read {
            store.append_trial(run, &trial?)?;
        }
    }
    Ok(Fetched { was_here, trials })
}

/// Files of trials, in the order of their measurement.
struct Arrived {
    paths: Vec<PathBuf>,
    _folder: tempfile::TempDir,
}

/// Fetches the trials that the store lacks. One at a time is in memory.
fn arrive(
    objects: &dyn Objects,
    plan: &Plan,
    run: &RunId,
    here: &BTreeSet<String>,
    folder: &Path,
) -> Result<Arrived, ShareError> {
    let made = tempfile::Builder::new().prefix("diskproof-fetch-").tempdir_in(folder);
    let made = made.map_err(ShareError::file("make a folder in", folder))?;
    let mut arrived = Vec::new();
    let keys = objects.keys(&trials_key(run))?;
    for (number, key) in keys.into_iter().filter(|key| !here.contains(key)).enumerate() {
        let found = objects.get(&key)?.ok_or_else(|| ShareError::Missing { at: key.clone() })?;
        let trial: TrialRecord = unpack(&key, &found.bytes)?;
        readable(&key, FormatVersion::RECORD, trial.format)?;
        let is_planned = plan.cells.iter().any(|cell| cell.id == trial.id.cell);
        if !is_planned || trial_key(run, &trial.id, trial.cut_off, trial.started_unix_ms) != key {
            return Err(unreadable(&key, "it is another trial than its name says".to_owned()));
        }
        let path = made.path().join(number.to_string());
        fs::write(&path, &found.bytes).map_err(ShareError::file("write", &path))?;
        arrived.push((trial.started_unix_ms, number, path));
    }
    arrived.sort();
    Ok(Arrived { paths: arrived.into_iter().map(|(_, _, path)| path).collect(), _folder: made })
}
