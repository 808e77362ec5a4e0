//! Build steps. Each writes to a temporary name and renames it when it is complete, so an interrupted step is repeated and a finished one
//! isn't.

use crate::error::LabError;
use record::printable::Shown as _;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// An event of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepEvent {
    /// A step begins.
    Begins {
        /// What it does.
        step: String,
        /// The usual duration, in words.
        usually: &'static str,
    },
    /// A step is done.
    Done {
        /// What it did.
        step: String,
        /// Its duration.
        seconds: f64,
    },
    /// Another message for the user.
    Note(String),
}

impl fmt::Display for StepEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins { step, usually } => write!(f, "{step} ... ({usually})"),
            Self::Done { step, seconds } => write!(f, "{step}: {}", record::quantity::Seconds(*seconds)),
            Self::Note(text) => f.write_str(text),
        }
    }
}

/// The callback for events.
pub(crate) type Ear<'a> = &'a dyn Fn(&StepEvent);

/// Runs one step and reports its events.
pub(crate) fn step<T>(
    ear: Ear<'_>,
    step: &str,
    usually: &'static str,
    act: impl FnOnce() -> Result<T, LabError>,
) -> Result<T, LabError> {
    ear(&StepEvent::Begins { step: step.to_owned(), usually });
    let began = Instant::now();
    let made = act()?;
    ear(&StepEvent::Done { step: step.to_owned(), seconds: began.elapsed().as_secs_f64() });
    Ok(made)
}

/// Renames a finished file or folder to its final path.
pub(crate) fn put(made: &Path, place: &Path) -> Result<(), LabError> {
    fs::rename(made, place).map_err(LabError::file("put in place", place))
}

/// Removes a file, or a folder with its content. It need not exist. Refuses a folder with a mount in it.
pub(crate) fn remove(path: &Path) -> Result<(), LabError> {
    let kind = match fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(LabError::file("look at", path)(error)),
    };
    if !kind.is_dir() {
        return fs::remove_file(path).map_err(LabError::file("remove", path));
    }
    if let Some(mount) = mount_below(path) {
        return Err(LabError::Mounted { path: path.to_path_buf(), mount });
    }
    fs::remove_dir_all(path).map_err(LabError::file("remove", path))
}

/// A mount point in a folder, in this process's mount namespace.
fn mount_below(folder: &Path) -> Option<String> {
    let real = folder.canonicalize().ok()?;
    let table = fs::read("/proc/self/mountinfo").ok()?;
    let mut mounts = table.split(|&byte| byte == b'\n').filter_map(record::mountinfo::parse);
    mounts.find(|mount| mount.point.starts_with(&real)).map(|mount| mount.point.shown().to_string())
}

/// Writes a small file atomically: it is complete or doesn't exist.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, bytes).map_err(LabError::file("write", &temporary))?;
    put(&temporary, path)
}

/// Creates a folder and its parents.
pub(crate) fn folder(path: &Path) -> Result<(), LabError> {
    fs::create_dir_all(path).map_err(LabError::file("make", path))
}

/// Appends a text to a path. It isn't an extension, since versions have dots.
pub(crate) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut text = path.as_os_str().to_owned();
    text.push(end);
    text.into()
}

#[cfg(test)]
mod tests {
    use super::{StepEvent, mount_below, remove};
    use std::path::Path;

    #[test]
    fn what_is_mounted_is_seen() {
        assert!(mount_below(Path::new("/proc")).is_some());
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(mount_below(dir.path()), None);
        assert!(remove(Path::new("/proc")).unwrap_err().to_string().contains("holds a mount"));
    }

    #[test]
    fn removing_what_is_not_there_is_fine() {
        remove(Path::new("/tmp/diskproof-test-not-there")).unwrap();
    }

    #[test]
    fn steps_read_well() {
        let done = StepEvent::Done { step: "packages".to_owned(), seconds: 55.2 };
        assert_eq!(done.to_string(), "packages: 55 s");
    }
}
