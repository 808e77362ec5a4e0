//! The root file system of this machine.

use crate::block::Block;
use crate::family::{below, sources};
use crate::mountinfo::{Mount, parse};
use crate::refusal::{Check, Dissent};
use record::printable::Shown as _;
use record::roots::Roots;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Fails if the root file system, ours or that of process 1, rests on the disk, however indirectly.
///
/// A root on a file system that doesn't show its devices (zfs, overlay, nfs, tmpfs) doesn't fail this check: the mount tables,
/// the kernel's partitions and the exclusive open are checked too.
pub(crate) fn testify(roots: &Roots, disk: &Block) -> Vec<Dissent> {
    let mut heard = false;
    for process in ["self", "1"] {
        let Ok(text) = fs::read(roots.proc(process).join("mountinfo")) else { continue };
        let mounts = parse(&text);
        for mount in mounts.iter().filter(|m| m.target == Path::new("/")) {
            heard = true;
            if let Some(dissent) = judge(roots, disk, mount, &mounts) {
                return vec![dissent];
            }
        }
    }
    if heard {
        return Vec::new();
    }
    let why = format!("{} names no root file system", roots.proc("self/mountinfo").shown());
    vec![Dissent::unheard(Check::Root, why, "check that /proc is mounted")]
}

fn judge(roots: &Roots, disk: &Block, mount: &Mount, mounts: &[Mount]) -> Option<Dissent> {
    let start = sources(roots, mount);
    match below(roots, &start, mounts, &BTreeSet::new()) {
        Ok(all) if all.contains(&disk.devno) => Some(Dissent::new(
            Check::Root,
            format!("this machine's root file system ({}) rests on {}", mount.kind, disk.label()),
            "choose another disk",
        )),
        Ok(_) => None,
        Err(error) => Some(Dissent::unheard(
            Check::Root,
            format!("it is unknown what the root file system ({}) rests on: {error}", mount.kind),
            "check that /sys is mounted",
        )),
    }
}
