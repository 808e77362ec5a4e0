//! A loop device over a scratch file.

use crate::{PREFIX, keep_wreck, tool};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A loop device over `<temp>/diskproof-test-<name>.img` (sparse); detached and removed when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    device: PathBuf,
    backing: PathBuf,
}

impl LoopDevice {
    /// Attaches a device. Take [`crate::exclusive`] first, and use a name only once within a test.
    ///
    /// # Panics
    /// If the file can't be created or the device can't be attached.
    #[must_use]
    pub fn new(size_bytes: u64, name: &str) -> Self {
        let backing = std::env::temp_dir().join(format!("{PREFIX}{name}.img"));
        let _ = std::fs::remove_file(&backing);
        if let Err(error) = File::create(&backing).and_then(|file| file.set_len(size_bytes)) {
            panic!("{}: {error}", backing.to_string_lossy());
        }
        let file = backing.to_string_lossy().into_owned();
        match tool::run("losetup", &["--find", "--show", "--direct-io=on", &file]) {
            Ok(shown) => Self { device: PathBuf::from(shown.trim()), backing },
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns `/dev/loopN`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// Returns `loopN`.
    ///
    /// # Panics
    /// Never: losetup made the path.
    #[must_use]
    pub fn name(&self) -> String {
        self.device.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the path of the backing file.
    #[must_use]
    pub fn backing(&self) -> &Path {
        &self.backing
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if keep_wreck() {
            return;
        }
        let _ = tool::run("losetup", &["-d".as_ref(), self.device.as_os_str()]);
        let _ = std::fs::remove_file(&self.backing);
    }
}
