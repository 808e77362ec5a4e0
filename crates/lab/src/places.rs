//! The lab's paths below the state folder.

use crate::error::LabError;
use crate::steps::with_end;
use std::path::{Path, PathBuf};

/// The characters besides letters and digits that a path may have. Others have a meaning in options of QEMU, ssh or mmdebstrap.
const PLAIN: &str = "/-_.+=@~";
/// The longest path of a guest's folder: a socket's path has 107 bytes at most, and ssh adds 17 bytes to the longest file name.
const LONGEST: usize = 80;

/// The lab's folders.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    root: PathBuf,
}

impl Places {
    /// The folders below a state folder.
    pub(crate) fn below(state: &Path) -> Result<Self, LabError> {
        let root = state.join("lab");
        let wrong = |why| LabError::Place { path: root.clone(), why };
        let text = root.to_str().ok_or_else(|| wrong("its path is not UTF-8"))?;
        if !root.is_absolute() {
            return Err(wrong("its path is not absolute"));
        }
        if !text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c)) {
            return Err(wrong("its path has characters that mean something else to QEMU or ssh"));
        }
        Ok(Self { root })
    }

    /// The lab's root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The paths of a recipe's image.
    pub(crate) fn base(&self, hash: &str) -> Base {
        Base { folder: self.root.join("base").join(hash) }
    }

    /// The folder of ZFS modules for a kernel.
    pub(crate) fn modules(&self, kernel: &str) -> PathBuf {
        self.root.join("zfs").join(kernel)
    }

    /// The folder of saved machine states.
    pub(crate) fn saved(&self) -> PathBuf {
        self.root.join("saved")
    }

    /// The file of results of trying KVM.
    pub(crate) fn accelerators(&self) -> PathBuf {
        self.root.join("accelerators.json")
    }

    /// The folder of all guests.
    pub(crate) fn guests(&self) -> PathBuf {
        self.root.join("guests")
    }

    /// The folder of the leases' notes.
    pub(crate) fn stays(&self) -> PathBuf {
        self.root.join("stays")
    }

    /// A guest's own folder.
    pub(crate) fn guest(&self, name: &str) -> Result<GuestPlaces, LabError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 40 || name.starts_with('-') || !name.chars().all(plain) {
            return Err(LabError::Name { name: name.to_owned() });
        }
        let folder = self.guests().join(name);
        if folder.as_os_str().len() > LONGEST {
            return Err(LabError::Place {
                path: folder,
                why: "its path is too long for a socket (80 bytes)",
            });
        }
        Ok(GuestPlaces { folder })
    }
}

/// The paths of one image and its keys.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) folder: PathBuf,
}

impl Base {
    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.join("keys")
    }

    /// The private key for root's login in the guest.
    pub(crate) fn key(&self) -> PathBuf {
        self.keys().join("user")
    }

    /// The guest's host key.
    pub(crate) fn host_key(&self) -> PathBuf {
        self.keys().join("host")
    }

    /// The known_hosts file with the guest's key.
    pub(crate) fn known_hosts(&self) -> PathBuf {
        self.keys().join("known_hosts")
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    pub(crate) fn root_image(&self) -> PathBuf {
        self.folder.join("root.img")
    }

    pub(crate) fn vmlinuz(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    pub(crate) fn initrd(&self) -> PathBuf {
        self.folder.join("initrd")
    }

    /// The file with the kernel's version. It is written last, so if it exists, the image is complete.
    pub(crate) fn kernel(&self) -> PathBuf {
        self.folder.join("kernel")
    }
}

/// A guest's files.
#[derive(Debug, Clone)]
pub(crate) struct GuestPlaces {
    pub(crate) folder: PathBuf,
}

impl GuestPlaces {
    /// The lock file of the process that changes this guest.
    pub(crate) fn lock(&self) -> PathBuf {
        with_end(&self.folder, ".lock")
    }

    /// The guest's description.
    pub(crate) fn card(&self) -> PathBuf {
        self.folder.join("guest.json")
    }

    /// The root disk's overlay.
    pub(crate) fn overlay(&self) -> PathBuf {
        self.folder.join("root.qcow2")
    }

    pub(crate) fn pidfile(&self) -> PathBuf {
        self.folder.join("qemu.pid")
    }

    pub(crate) fn console(&self) -> PathBuf {
        self.folder.join("console")
    }

    pub(crate) fn qmp(&self) -> PathBuf {
        self.folder.join("qmp")
    }

    /// The socket for QEMU's migration stream.
    pub(crate) fn stream(&self) -> PathBuf {
        self.folder.join("stream")
    }

    /// The socket of ssh's shared connection.
    pub(crate) fn shared(&self) -> PathBuf {
        self.folder.join("ssh")
    }

    pub(crate) fn disk(&self, name: &str) -> PathBuf {
        self.folder.join(format!("disk-{name}.img"))
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use std::path::Path;

    #[test]
    fn folders_that_mean_something_else_are_refused() {
        for bad in ["/a b", "/a,b", "/a%b", "/a:b", "relative"] {
            let text = Places::below(Path::new(bad)).unwrap_err().to_string();
            assert!(text.contains("--state"), "{text}");
        }
        assert!(Places::below(Path::new("/var/lib/diskproof")).is_ok());
    }

    #[test]
    fn names_are_short_and_plain() {
        let places = Places::below(Path::new("/tmp/x")).unwrap();
        for bad in ["", "-a", "A", "a/b", "..", &"a".repeat(41)] {
            assert!(places.guest(bad).is_err(), "{bad}");
        }
        assert!(places.guest("diskproof-test-1").is_ok());
        let deep = Places::below(Path::new(&format!("/{}", "x".repeat(70)))).unwrap();
        assert!(deep.guest("a").unwrap_err().to_string().contains("too long"));
    }
}
