//! Names and contents of the objects of a copy. A trial has the same name whichever controller sends it.

use crate::error::ShareError;
use record::environment::Environment;
use record::event::Stopped;
use record::id::{RunId, TrialId};
use record::plan::Raised;
use record::version::FormatVersion;
use record::volume::VolumeFacts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use store::TrialPlace;

/// The version of copies that this build writes.
pub(crate) const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };
/// zstd's own default.
const LEVEL: i32 = 3;
/// Largest window of zstd, as a power of two: 8 MiB.
const WINDOW: u32 = 23;
/// Largest content of an object before compression.
const CONTENT_BYTES: u64 = 1 << 30;

/// The content of `run.json`: the run without its plan and trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) format: FormatVersion,
    pub(crate) run: RunId,
    pub(crate) experiment: String,
    /// When it began, UTC, milliseconds since the epoch.
    pub(crate) started_unix_ms: u64,
    pub(crate) trials_planned: u64,
    /// SHA-256 of the object with the plan.
    pub(crate) plan_digest: String,
    pub(crate) environment: Environment,
    pub(crate) volumes: Vec<VolumeFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) raised: Option<Raised>,
    pub(crate) stopped: Stopped,
}

pub(crate) fn head_key(run: &RunId) -> String {
    format!("{run}/run.json")
}

pub(crate) fn plan_key(run: &RunId) -> String {
    format!("{run}/plan.json.zst")
}

pub(crate) fn experiment_key(run: &RunId) -> String {
    format!("{run}/experiment.yaml")
}

pub(crate) fn lease_key(run: &RunId) -> String {
    format!("{run}/lease.json")
}

/// The beginning of the keys of all trials.
pub(crate) fn trials_key(run: &RunId) -> String {
    format!("{run}/trials/")
}

/// The key of a trial. A trial that was cut off has another key than the one that replaced it.
pub(crate) fn trial_key(run: &RunId, trial: &TrialId, cut_off: bool, started_unix_ms: u64) -> String {
    let end = if cut_off { format!(".cut-off-{started_unix_ms}") } else { String::new() };
    format!("{}{:05}/{}{end}.json.zst", trials_key(run), trial.round, trial.cell)
}

/// The key of a trial in the store.
pub(crate) fn key_of_place(run: &RunId, place: &TrialPlace) -> String {
    trial_key(run, &place.id, place.cut_off, place.started_unix_ms)
}

/// Packs a record as an object: JSON, compressed by zstd, with zstd's checksum.
pub(crate) fn pack<T: Serialize>(what: &str, value: &T) -> Result<Vec<u8>, ShareError> {
    let packed = || -> io::Result<Vec<u8>> {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        encoder.include_checksum(true)?;
        encoder.write_all(&serde_json::to_vec(value)?)?;
        encoder.finish()
    };
    packed().map_err(|source| ShareError::Pack { what: what.to_owned(), source })
}

/// Reads an object that [`pack`] made.
pub(crate) fn unpack<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, ShareError> {
    let unpacked = || -> io::Result<T> {
        let mut decoder = zstd::Decoder::new(bytes)?;
        decoder.window_log_max(WINDOW)?;
        let mut text = Vec::new();
        decoder.take(CONTENT_BYTES).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    };
    unpacked().map_err(|error| unreadable(key, error.to_string()))
}

pub(crate) fn unreadable(key: &str, why: String) -> ShareError {
    ShareError::Unreadable { from: key.to_owned(), why }
}
