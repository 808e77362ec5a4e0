//! The trial's number in block headers: it distinguishes this trial's blocks from those of earlier trials, even with the same
//! seed.

use crate::data::io_error;
use crate::error::EngineError;
use crate::native::random::SplitMix;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file for the trial's number between layout and load, in the scratch directory.
const FILE: &str = "native.verify";

fn path(scratch: &Path) -> PathBuf {
    scratch.join(FILE)
}

/// Creates a trial's number and stores it for the load.
pub(crate) fn begin(scratch: &Path, seed: u64) -> Result<u64, EngineError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let trial = SplitMix::new(SplitMix::new(seed).next() ^ now).next();
    let path = path(scratch);
    std::fs::write(&path, format!("{seed} {trial}")).map_err(io_error("write", &path))?;
    Ok(trial)
}

/// Removes the number: the data are laid out without headers.
pub(crate) fn forget(scratch: &Path) -> Result<(), EngineError> {
    let path = path(scratch);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
        _ => Ok(()),
    }
}

/// The trial for which the data were laid out; `None` if there is none, or it has another seed.
pub(crate) fn recall(scratch: &Path, seed: u64) -> Option<u64> {
    let text = std::fs::read_to_string(path(scratch)).ok()?;
    let (of, trial) = text.split_once(' ')?;
    (of.parse() == Ok(seed)).then(|| trial.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{begin, forget, recall};

    #[test]
    fn the_load_finds_what_the_layout_left() {
        let scratch = tempfile::tempdir().unwrap();
        assert_eq!(recall(scratch.path(), 5), None);
        let trial = begin(scratch.path(), 5).unwrap();
        assert_eq!(recall(scratch.path(), 5), Some(trial));
        assert_eq!(recall(scratch.path(), 6), None);
        assert_ne!(begin(scratch.path(), 5).unwrap(), trial, "the same seed again is another trial");
        forget(scratch.path()).unwrap();
        forget(scratch.path()).unwrap();
        assert_eq!(recall(scratch.path(), 5), None);
    }
}
