//! Reads text files in the directory of an experiment.

use std::io::{self, Read as _};
use std::path::Path;
use thiserror::Error;

/// Why a file is no text for an experiment.
#[derive(Debug, Error)]
pub(crate) enum NoText {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("not a regular file")]
    NotRegular,
    #[error("larger than {} KiB", .most_bytes >> 10)]
    TooLarge { most_bytes: u64 },
    #[error("no name of a file")]
    NoName,
    #[error("not UTF-8 text")]
    NotUtf8,
}

/// Reads a file's text.
pub(crate) fn text(path: &Path, most_bytes: u64) -> Result<String, NoText> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(NoText::NotRegular);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(NoText::TooLarge { most_bytes });
    }
    String::from_utf8(bytes).map_err(|_| NoText::NotUtf8)
}
