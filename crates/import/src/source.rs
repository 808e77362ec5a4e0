//! A file to import.

/// A file to import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// Its path as it was given, safe to show.
    pub path: String,
    /// The folders between the directory that was given and the file, outermost first.
    pub folders: Vec<String>,
    /// When it was last changed, UTC, milliseconds since the epoch: the time of a result that doesn't tell its own.
    pub modified_unix_ms: u64,
    /// Its content.
    pub text: String,
}

impl Source {
    /// Returns the file's name without its folders.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}
