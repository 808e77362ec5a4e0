//! Which trial a block is of: told to headers, so that what an earlier trial left is never taken for this one's, not even one
//! with the same seed.

use crate::data::io_error;
use crate::error::EngineError;
use crate::native::random::SplitMix;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the layout leaves the trial for the load, in the scratch directory.
const FILE: &str = "native.verify";

fn path(scratch: &Path) -> PathBuf {
    scratch.join(FILE)
}

/// Makes a trial's number and leaves it for the load.
pub(crate) fn begin(scratch: &Path, seed: u64) -> Result<u64, EngineError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let trial = SplitMix::new(SplitMix::new(seed).next() ^ now).next();
    let path = path(scratch);
    std::fs::write(&path, format!("{seed} {trial}")).map_err(io_error("write", &path))?;
    Ok(trial)
}

/// Leaves nothing: the data is laid out without headers.
pub(crate) fn forget(scratch: &Path) -> Result<(), EngineError> {
    let path = path(scratch);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
        _ => Ok(()),
    }
}

/// The trial that the data was laid out for; `None` if it was laid out for none, or for one of another seed.
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
