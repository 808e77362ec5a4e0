//! What is written on the disk: libblkid's low-level probe, and a look of our own. Both must find nothing.

use crate::block::Block;
use crate::refusal::{Dissent, Witness};
use crate::witness::magic;
use crate::witness::plain::{wipe, zero};
use crate::witness::probe::{Found, probe};
use host::Runner;
use record::printable::Shown as _;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Both looks at one disk.
pub(crate) fn testify(runner: &dyn Runner, disk: &Block, node: &Path) -> Vec<Dissent> {
    let mut dissent = Vec::new();
    match probe(runner, node) {
        Found::Nothing => {}
        Found::Signature(what) => {
            dissent.push(Dissent::new(Witness::Signature, format!("blkid found {what}"), wipe(disk)));
        }
        Found::Several => dissent.push(Dissent::new(
            Witness::Signature,
            "blkid found signatures of several kinds that contradict each other",
            wipe(disk),
        )),
        Found::Unheard(why, remedy) => dissent.push(Dissent::unheard(Witness::Signature, why, remedy)),
    }
    match own_look(disk, node) {
        Ok(found) if found.is_empty() => {}
        Ok(found) => dissent.push(Dissent::new(
            Witness::Signature,
            format!("found the mark of {}", found.join(", ")),
            if dissent.is_empty() { zero(disk) } else { wipe(disk) },
        )),
        Err(error) => dissent.push(Dissent::unheard(
            Witness::Signature,
            format!("{} can't be read: {error}", node.shown()),
            "ask again as root; if it is a read error, the disk is failing",
        )),
    }
    dissent
}

fn own_look(disk: &Block, node: &Path) -> std::io::Result<Vec<&'static str>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(node)?;
    magic::look(&file, disk.size_bytes().unwrap_or(0))
}
