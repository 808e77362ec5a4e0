//! Block devices as sysfs shows them.

use crate::devno::DevNo;
use record::printable::Printable;
use record::roots::Roots;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The kernel's unit of sizes in bytes, whatever the device's own sector size is.
const SECTOR_BYTES: u64 = 512;

/// A block device: a whole disk, a partition, or a stacked device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// Kernel name, e.g. `sda1`.
    pub(crate) name: String,
    pub(crate) devno: DevNo,
    /// Its directory in sysfs, links resolved.
    pub(crate) dir: PathBuf,
}

impl Block {
    fn at(dir: &Path) -> io::Result<Self> {
        let dir = fs::canonicalize(dir)?;
        let text = fs::read_to_string(dir.join("dev"))?;
        let devno = DevNo::parse(text.trim())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a device number"))?;
        let name = dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, devno, dir })
    }

    pub(crate) fn by_devno(roots: &Roots, devno: DevNo) -> io::Result<Self> {
        Self::at(&roots.sys.join("dev/block").join(devno.to_string()))
    }

    pub(crate) fn by_name(roots: &Roots, name: &str) -> io::Result<Self> {
        Self::at(&roots.sys.join("class/block").join(name))
    }

    /// All block devices and partitions, sorted by name. Leaves out those that vanish meanwhile.
    pub(crate) fn all(roots: &Roots) -> io::Result<Vec<Self>> {
        let mut all: Vec<_> = names_in(&roots.sys.join("class/block"))?
            .iter()
            .filter_map(|name| Self::by_name(roots, name).ok())
            // A hidden device is one path of a multipath NVMe disk, which has another device for the whole.
            .filter(|block| block.text("hidden").as_deref() != Some("1"))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// The text of a sysfs attribute, trimmed and made printable; `None` if it is missing or empty.
    pub(crate) fn text(&self, attribute: &str) -> Option<String> {
        let bytes = fs::read(self.dir.join(attribute)).ok()?;
        let is_padding = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
        let begin = bytes.iter().position(|byte| !is_padding(byte))?;
        let end = bytes.iter().rposition(|byte| !is_padding(byte))?;
        // Disks and USB gadgets choose these texts themselves.
        Some(Printable(&bytes[begin..=end]).to_string())
    }

    pub(crate) fn size_bytes(&self) -> Option<u64> {
        self.text("size")?.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES)
    }

    /// Whether the device is read-only; `None` when the kernel doesn't say.
    pub(crate) fn is_read_only(&self) -> Option<bool> {
        Some(self.text("ro")? != "0")
    }

    /// A number that grows with every disk that the kernel finds, so it shows a disk that was replaced under the same name (Linux
    /// 5.15).
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.text("diskseq")?.parse().ok()
    }

    pub(crate) fn is_partition(&self) -> bool {
        self.dir.join("partition").exists()
    }

    /// The disk of a partition; the device itself when it is no partition.
    pub(crate) fn whole(&self) -> io::Result<Self> {
        match self.dir.parent() {
            Some(parent) if self.is_partition() => Self::at(parent),
            _ => Ok(self.clone()),
        }
    }

    pub(crate) fn partitions(&self) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for name in names_in(&self.dir)? {
            let dir = self.dir.join(&name);
            if dir.join("partition").exists() {
                found.push(Self::at(&dir)?);
            }
        }
        found.sort_by_key(|p| p.devno);
        Ok(found)
    }

    /// The kernel names of the devices that are stacked directly on it.
    pub(crate) fn holders(&self) -> io::Result<Vec<String>> {
        names_in(&self.dir.join("holders"))
    }

    /// The kernel names of the devices directly below it.
    pub(crate) fn slaves(&self) -> io::Result<Vec<String>> {
        // Partitions don't have this directory.
        match names_in(&self.dir.join("slaves")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        }
    }

    /// The path of its device node.
    pub(crate) fn node(&self, roots: &Roots) -> PathBuf {
        let uevent = fs::read_to_string(self.dir.join("uevent")).unwrap_or_default();
        let name = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME="));
        // sysfs has `!` where a device's name has `/` (cciss!c0d0).
        roots.dev.join(name.map_or_else(|| self.name.replace('!', "/"), str::to_owned))
    }

    /// Its name and number, for messages.
    pub(crate) fn label(&self) -> String {
        format!("{} ({})", self.name, self.devno)
    }
}

/// Names in a directory, sorted.
pub(crate) fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
