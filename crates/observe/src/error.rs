//! What can go wrong when a kernel file is read.

use record::printable::{Printable, Shown as _};
use std::io;
use std::path::{Path, PathBuf};

/// A kernel file could not be read or understood.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kernel refused.
    #[error("cannot read {}", path.shown())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is there, but a line of it isn't what the kernel documents.
    #[error("{}:{line}: expected {expected}, found `{text}`", path.shown())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The line itself.
        text: String,
        /// What it should have been.
        expected: &'static str,
    },
}

impl ReadError {
    pub(crate) fn parse(path: &Path, line: usize, text: &[u8], expected: &'static str) -> Self {
        let text = Printable(text).to_string();
        Self::Parse { path: path.to_owned(), line, text, expected }
    }

    /// Which file it was.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. } | Self::Parse { path, .. } => path,
        }
    }
}
