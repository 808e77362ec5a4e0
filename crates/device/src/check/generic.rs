//! Other device nodes of a disk: SCSI generic (sg, bsg), and NVMe's generic and controller nodes. A process that has one open for
//! writing can send the disk any command, around the block device and its exclusive open.

use crate::block::{Block, names_in};
use crate::devno::DevNo;
use crate::node::Node;
use std::fs;
use std::path::Path;

/// A character device that leads to a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generic {
    pub(crate) node: Node,
    /// Its description with its kernel name.
    pub(crate) name: String,
}

/// All of a disk's nodes. sysfs lists them below the parent of the block device.
pub(crate) fn of(disk: &Block) -> Vec<Generic> {
    let device = disk.dir.join("device");
    let mut found = below(&device.join("scsi_generic"), "SCSI generic node");
    found.extend(below(&device.join("bsg"), "SCSI generic node bsg/"));
    if let Some(rest) = disk.name.strip_prefix("nvme") {
        // nvme0n1 has ng0n1 beside it; its parent is the controller, or with multipath the subsystem.
        found.extend(at(&device.join(format!("ng{rest}")), "NVMe generic node", &format!("ng{rest}")));
        let controllers = names_in(&device).unwrap_or_default();
        let controllers = controllers.into_iter().filter(|name| is_controller(name));
        found.extend(controllers.filter_map(|name| at(&device.join(&name), CONTROLLER, &name)));
        let own = fs::canonicalize(&device).ok();
        let own = own.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        found.extend(own.filter(|name| is_controller(name)).and_then(|name| at(&device, CONTROLLER, &name)));
    }
    found
}

const CONTROLLER: &str = "NVMe controller";

/// Accepts `nvme3`, but not `nvme3n1` or `nvme-subsys3`.
fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn below(dir: &Path, what: &str) -> Vec<Generic> {
    let names = names_in(dir).unwrap_or_default();
    names.into_iter().filter_map(|name| at(&dir.join(&name), what, &name)).collect()
}

fn at(dir: &Path, what: &str, name: &str) -> Option<Generic> {
    let number = DevNo::parse(fs::read_to_string(dir.join("dev")).ok()?.trim())?;
    let gap = if what.ends_with('/') { "" } else { " " };
    Some(Generic { node: Node::Char(number), name: format!("{what}{gap}{name}") })
}

#[cfg(test)]
mod tests {
    use super::is_controller;

    #[test]
    fn controllers_are_told_from_their_namespaces() {
        assert!(is_controller("nvme0") && is_controller("nvme12"));
        assert!(!is_controller("nvme0n1") && !is_controller("nvme-subsys0") && !is_controller("nvme"));
    }
}
