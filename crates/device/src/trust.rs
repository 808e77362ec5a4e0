//! Whether anybody but us and root can exchange what a path leads to.
//!
//! A path is as safe as the least safe directory on it: who may rename in one of them decides what everything below is. So a
//! path is trusted only if each directory from `/` down belongs to us or to root, and nobody else may write to it. In one with
//! the sticky bit (`/tmp`) others may make files, but not rename ours.

use record::printable::Shown as _;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// A directory in which somebody else can exchange our files.
#[derive(Debug, Error)]
pub enum TrustError {
    /// It can't be looked at.
    #[error("cannot look at {}", .path.shown())]
    Look {
        /// Which directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Its owner can rename what is in it.
    #[error("{} belongs to user {owner}, who can exchange what is in it; {}", .path.shown(), remedy(*.us))]
    Owner {
        /// Which directory.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        us: u32,
    },
    /// Others may write to it.
    #[error("{} may be written by others (mode {mode:o}), who can exchange what is in it; chmod go-w it, or name another directory", .path.shown())]
    Mode {
        /// Which directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

fn remedy(us: u32) -> String {
    format!("chown it to user {us}, or name a directory below ones of root's or your own")
}

/// Checks each directory from `/` down to `dir`, which must exist; links are resolved first.
///
/// # Errors
/// The first directory, from the top, in which others can exchange what is in it; or one that can't be looked at.
pub fn only_ours_down_to(dir: &Path) -> Result<(), TrustError> {
    let look = |source| TrustError::Look { path: dir.to_path_buf(), source };
    let real = fs::canonicalize(dir).map_err(look)?;
    let mut above: Vec<&Path> = real.ancestors().collect();
    above.reverse();
    for path in above {
        let about = fs::symlink_metadata(path)
            .map_err(|source| TrustError::Look { path: path.to_path_buf(), source })?;
        check(path, &about, path != real)?;
    }
    Ok(())
}

/// Checks a state directory: the way down to it, and each directory in it, since what is below these is trusted too.
///
/// # Errors
/// As [`only_ours_down_to`].
pub fn only_ours_in(state_dir: &Path) -> Result<(), TrustError> {
    only_ours_down_to(state_dir)?;
    let look = |source| TrustError::Look { path: state_dir.to_path_buf(), source };
    for entry in fs::read_dir(state_dir).map_err(look)? {
        let path = entry.map_err(look)?.path();
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() => only_ours_down_to(&path)?,
            // a file is checked by who opens it, and a link that leads nowhere leads nobody astray
            _ => {}
        }
    }
    Ok(())
}

fn check(path: &Path, about: &Metadata, sticky_is_enough: bool) -> Result<(), TrustError> {
    let us = rustix::process::geteuid().as_raw();
    let path = || path.to_path_buf();
    if about.uid() != us && about.uid() != 0 {
        return Err(TrustError::Owner { path: path(), owner: about.uid(), us });
    }
    let mode = about.mode() & 0o7777;
    if mode & WRITABLE_BY_OTHERS != 0 && !(sticky_is_enough && mode & STICKY != 0) {
        return Err(TrustError::Mode { path: path(), mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{TrustError, only_ours_down_to, only_ours_in};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_is_named_wherever_it_is_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        mode(&dir.path().join("a"), 0o755);
        mode(&below, 0o700);
        only_ours_down_to(&below).unwrap();
        mode(&dir.path().join("a"), 0o775);
        let error = only_ours_down_to(&below).unwrap_err();
        assert!(matches!(&error, TrustError::Mode { path, mode: 0o775 } if path.ends_with("a")), "{error}");
        mode(&dir.path().join("a"), 0o1777);
        only_ours_down_to(&below).unwrap();
        assert!(
            only_ours_down_to(&dir.path().join("a")).is_err(),
            "sticky or not, others may make files in it"
        );
    }

    #[test]
    fn a_link_counts_as_what_it_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let (state, open) = (dir.path().join("state"), dir.path().join("open"));
        fs::create_dir(&state).unwrap();
        fs::create_dir(&open).unwrap();
        mode(&state, 0o700);
        mode(&open, 0o777);
        only_ours_in(&state).unwrap();
        std::os::unix::fs::symlink(&open, state.join("volumes")).unwrap();
        let error = only_ours_in(&state).unwrap_err();
        assert!(matches!(&error, TrustError::Mode { path, .. } if path.ends_with("open")), "{error}");
    }
}
