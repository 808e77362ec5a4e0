//! Trials that other tools measured.

use serde::{Deserialize, Serialize};

/// Where an imported trial comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Path of the file, as it was given to `diskproof import`.
    pub file: String,
    /// Name of the file's format, e.g. `fio JSON`.
    pub format: String,
}
