//! Errors of reading kernel files.

use record::printable::{Printable, Shown as _};
use std::io;
use std::path::{Path, PathBuf};

/// A kernel file could not be read or parsed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kernel returned an error.
    #[error("cannot read {}", path.shown())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file exists, but one line differs from the kernel's documentation.
    #[error("{}:{line}: expected {expected}, found `{text}`", path.shown())]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Text of the line.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
}

impl ReadError {
    pub(crate) fn parse(path: &Path, line: usize, text: &[u8], expected: &'static str) -> Self {
        let text = Printable(text).to_string();
        Self::Parse { path: path.to_owned(), line, text, expected }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. } | Self::Parse { path, .. } => path,
        }
    }
}
