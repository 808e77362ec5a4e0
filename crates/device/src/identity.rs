//! The identity of a disk, as it reports it.

use crate::block::{Block, names_in};
use crate::node::block_at;
use record::printable::is_hidden;
use record::roots::Roots;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;

/// The properties that distinguish one disk from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its world wide name (`naa.`, `eui.`, `t10.`... as the kernel writes it).
    pub wwn: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its path below `/sys/devices`, which shows where it is plugged in. Virtual disks often have nothing else.
    pub plugged: Option<String>,
}

/// How reliably an identity distinguishes a disk from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Not at all: another disk would look the same. Never accepted.
    None,
    /// By model, size and where it is plugged in: a swap with an identical disk goes unnoticed, unless the kernel saw it.
    Weak,
    /// By a world wide name or a serial number.
    Strong,
}

impl Identity {
    pub(crate) fn of(roots: &Roots, block: &Block) -> Self {
        let plugged = fs::canonicalize(block.dir.join("device")).ok();
        let devices = fs::canonicalize(roots.sys.join("devices")).ok();
        let plugged = plugged.zip(devices).and_then(|(path, devices)| {
            path.strip_prefix(devices).ok().map(|p| p.to_string_lossy().into_owned())
        });
        Self {
            wwn: block.text("wwid").or_else(|| block.text("device/wwid")),
            serial: block
                .text("serial")
                .or_else(|| block.text("device/serial"))
                .or_else(|| scsi_serial(block)),
            model: block.text("device/model").or_else(|| block.text("device/name")),
            size_bytes: block.size_bytes().unwrap_or(0),
            plugged,
        }
    }

    /// How reliably this identity distinguishes the disk from others.
    #[must_use]
    pub fn strength(&self) -> Strength {
        if self.wwn.is_some() || self.serial.is_some() {
            Strength::Strong
        } else if self.plugged.is_some() {
            Strength::Weak
        } else {
            Strength::None
        }
    }

    /// Whether the disk `found` is the one recorded as `self`. A WWN or serial number decides. If the kernel reported one of the
    /// two only then or only now, the other one decides.
    pub(crate) fn is_same_disk(&self, found: &Self) -> bool {
        if self.size_bytes != found.size_bytes || self.model != found.model {
            return false;
        }
        match (self.strength(), found.strength()) {
            (Strength::Strong, Strength::Strong) => self.same_name(found),
            // A disk that suddenly has a serial number is another disk.
            (Strength::Weak, Strength::Weak) => self.plugged == found.plugged,
            _ => false,
        }
    }

    /// Whether at least one of WWN and serial number is in both and equal, and none differs.
    pub(crate) fn same_name(&self, other: &Self) -> bool {
        let pairs = [(&self.wwn, &other.wwn), (&self.serial, &other.serial)];
        let both: Vec<_> = pairs.into_iter().filter_map(|(a, b)| a.as_ref().zip(b.as_ref())).collect();
        !both.is_empty() && both.iter().all(|(a, b)| a == b)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.model.as_deref().unwrap_or("unnamed model"))?;
        for (name, value) in [("serial", &self.serial), ("wwn", &self.wwn)] {
            if let Some(value) = value {
                write!(f, ", {name} {value}")?;
            }
        }
        if self.strength() == Strength::Weak {
            write!(f, ", at {}", self.plugged.as_deref().unwrap_or("?"))?;
        }
        write!(f, ", {} bytes", self.size_bytes)
    }
}

/// SCSI's unit serial number page: four bytes of header, then the text (SPC-4, 7.8.16).
fn scsi_serial(block: &Block) -> Option<String> {
    let page = fs::read(block.dir.join("device/vpd_pg80")).ok()?;
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = String::from_utf8_lossy(page.get(4..4 + length)?).into_owned();
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty() && !text.contains(is_hidden)).then(|| text.to_owned())
}

/// The names in `/dev/disk/by-id` that lead to a device, sorted.
pub(crate) fn ids_of(roots: &Roots, block: &Block) -> Vec<String> {
    let dir = roots.dev.join("disk/by-id");
    let names = names_in(&dir).unwrap_or_default();
    names.into_iter().filter(|name| block_at(roots, &dir.join(name)).ok() == Some(block.devno)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Identity, Strength};

    fn disk(wwn: Option<&str>, serial: Option<&str>, plugged: Option<&str>) -> Identity {
        Identity {
            wwn: wwn.map(Into::into),
            serial: serial.map(Into::into),
            model: Some("M".into()),
            size_bytes: 1 << 30,
            plugged: plugged.map(Into::into),
        }
    }

    #[test]
    fn a_strong_name_decides() {
        let claimed = disk(Some("naa.1"), Some("S1"), Some("pci/0"));
        assert!(
            claimed.is_same_disk(&disk(Some("naa.1"), Some("S1"), Some("usb/7"))),
            "moved to another port"
        );
        assert!(claimed.is_same_disk(&disk(None, Some("S1"), None)), "the kernel tells less than before");
        assert!(!claimed.is_same_disk(&disk(Some("naa.1"), Some("S2"), Some("pci/0"))), "one name differs");
        assert!(!claimed.is_same_disk(&disk(None, None, Some("pci/0"))), "nameless now");
    }

    #[test]
    fn size_and_model_must_agree_too() {
        let claimed = disk(Some("naa.1"), None, None);
        assert!(!claimed.is_same_disk(&Identity { size_bytes: 2 << 30, ..claimed.clone() }));
        assert!(!claimed.is_same_disk(&Identity { model: None, ..claimed.clone() }));
    }

    #[test]
    fn a_weak_one_must_stay_where_it_was_plugged_in() {
        let claimed = disk(None, None, Some("pci/0"));
        assert_eq!(claimed.strength(), Strength::Weak);
        assert!(claimed.is_same_disk(&claimed.clone()));
        assert!(!claimed.is_same_disk(&disk(None, None, Some("pci/1"))));
        assert!(
            !claimed.is_same_disk(&disk(None, Some("S1"), Some("pci/0"))),
            "has a serial now: another disk"
        );
    }

    #[test]
    fn nothing_is_never_the_same() {
        let nothing = disk(None, None, None);
        assert_eq!(nothing.strength(), Strength::None);
        assert!(!nothing.is_same_disk(&nothing.clone()));
    }
}
