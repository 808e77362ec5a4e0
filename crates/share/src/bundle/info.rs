//! The description of a bundle.

use crate::digest::Digest;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of bundles that this build writes.
pub(crate) const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// What an archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// Plan, experiment file, machine, volumes, and why the run ended.
    Head,
    /// All trials: records, counters, and the raw output of engines.
    Trials,
}

impl LayerKind {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Head => "application/vnd.diskproof.head.v1.tar+zstd",
            Self::Trials => "application/vnd.diskproof.trials.v1.tar+zstd",
        }
    }
}

/// An archive of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// What it holds.
    pub kind: LayerKind,
    /// Digest of the archive as it travels.
    pub digest: Digest,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Digest of the archive before compression.
    pub content_digest: Digest,
    /// Its size before compression in bytes.
    pub content_bytes: u64,
}

/// The description of a bundle: the artifact's configuration, in a registry's words. A signature covers it, and thereby everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the bundle's format.
    pub format: FormatVersion,
    /// The run's name where it was measured.
    pub run: String,
    /// Its experiment.
    pub experiment: String,
    /// When it began, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// Number of trials.
    pub trials: u64,
    /// Number of planned trials.
    pub trials_planned: u64,
    /// The diskproof that measured it.
    pub measured_by: String,
    /// The diskproof that packed it.
    pub packed_by: String,
    /// The judge of the diskproof that packed it. No judgement travels.
    pub judge: String,
    /// Which kinds of names were replaced by pseudonyms.
    pub replaced: Vec<String>,
    /// What a search reads: devices, firmware, stacks, workloads.
    pub facts: BTreeMap<String, String>,
    /// The archives.
    pub layers: Vec<Layer>,
}
