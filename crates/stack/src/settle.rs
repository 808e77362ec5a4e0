//! Empties or fills the page cache before a trial. Neither needs an undo.

use crate::machine::Machine;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the page cache could not be brought to the requested state.
#[derive(Debug, Error)]
pub enum SettleError {
    /// A data file could not be flushed or dropped.
    #[error("can't drop {path} from the page cache")]
    Drop {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The kernel refused to drop all caches.
    #[error("can't drop all caches by {path}")]
    DropAll {
        /// The kernel's file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A data file could not be read.
    #[error("can't read {path} into the page cache")]
    Warm {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Flushes `files` and drops them from the page cache; as root it also drops all clean caches of the machine, so that the file
/// system's metadata are cold too. The caller checks what is left (`device::extents::residency`).
///
/// # Errors
/// When a file can't be opened or flushed, or when root may not drop the caches.
pub fn drop_caches(machine: &Machine<'_>, files: &[PathBuf]) -> Result<(), SettleError> {
    for path in files {
        device::extents::drop_file_cache(path).map_err(|source| SettleError::Drop {
            path: path.clone(),
            source: std::io::Error::other(source),
        })?;
    }
    if rustix::process::geteuid().is_root() {
        rustix::fs::sync();
        let path = machine.roots.proc.join("sys/vm/drop_caches");
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut f| f.write_all(b"3\n"))
            .map_err(|source| SettleError::DropAll { path, source })?;
    }
    Ok(())
}

/// Reads `files` once from end to end through the page cache.
///
/// # Errors
/// When a file can't be read.
pub fn read_all(files: &[PathBuf]) -> Result<(), SettleError> {
    files.iter().try_for_each(|path| {
        read_through(path).map_err(|source| SettleError::Warm { path: path.clone(), source })
    })
}

fn read_through(path: &Path) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}
