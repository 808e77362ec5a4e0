//! The directory of ssh's sockets: this user's only, with a short path, and removed with this process.

use rustix::process::geteuid;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const PREFIX: &str = "diskproof-ssh-";
/// Longest path of the directory, in bytes. A socket's path has 108 at most, and ssh appends 17 while it makes one.
const LONGEST: usize = 70;

/// A directory of this process alone. Removed on drop.
#[derive(Debug)]
pub(crate) struct RuntimeDir {
    path: PathBuf,
}

impl RuntimeDir {
    /// Makes it in `$XDG_RUNTIME_DIR` if that is this user's, else in `/tmp`. Directories that killed processes left are removed.
    pub(crate) fn make() -> io::Result<Self> {
        let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        Self::below(&named.filter(|dir| is_own(dir)).unwrap_or_else(|| PathBuf::from("/tmp")))
    }

    fn below(base: &Path) -> io::Result<Self> {
        sweep(base);
        let name = format!("{PREFIX}{}", std::process::id());
        let mut tried = 0;
        loop {
            // Another process may hold the name in /tmp; mkdir never follows what it put there.
            let path = base.join(format!("{name}-{tried}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    std::fs::set_permissions(&path, Permissions::from_mode(0o700))?;
                    return Ok(Self { path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < 400 => tried += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The socket of a machine's master.
    pub(crate) fn socket(&self, machine: usize) -> PathBuf {
        self.path.join(format!("{machine}"))
    }
}

impl RuntimeDir {
    /// Its own name.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The path of a small file of this process.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for RuntimeDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn is_own(dir: &Path) -> bool {
    // ssh replaces `%` in the path of a socket.
    let short = dir.as_os_str().len() + PREFIX.len() < LONGEST && !dir.as_os_str().as_bytes().contains(&b'%');
    let own = |about: std::fs::Metadata| {
        about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o022 == 0
    };
    dir.is_absolute() && short && std::fs::symlink_metadata(dir).is_ok_and(own)
}

/// Removes this user's directories whose process is gone.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).map(|(pid, _)| pid);
        let gone =
            process.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists());
        let own = || entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == geteuid().as_raw());
        if gone && own() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RuntimeDir;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn it_is_private_and_goes_with_its_owner_and_what_the_dead_left_goes_too() {
        let base = tempfile::tempdir().unwrap();
        let dead = base.path().join("diskproof-ssh-4294967295-0");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join("0"), "").unwrap();
        let dir = RuntimeDir::below(base.path()).unwrap();
        let second = RuntimeDir::below(base.path()).unwrap();
        assert_ne!(dir.path, second.path);
        assert!(!dead.exists());
        assert_eq!(std::fs::metadata(&dir.path).unwrap().mode() & 0o777, 0o700);
        let path = dir.path.clone();
        drop(dir);
        assert!(!path.exists() && second.path.exists());
    }
}
