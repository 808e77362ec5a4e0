//! Signatures on the disk: by libblkid's low-level probe and by our own search. Both must find nothing.

use crate::block::Block;
use crate::check::magic;
use crate::check::mark::Mark;
use crate::check::plain::{wipe, zero};
use crate::check::probe::{Probed, probe};
use crate::refusal::{Check, Dissent};
use host::Runner;
use record::printable::Shown as _;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Runs both on a disk; `copies`: also searches for copies of superblocks.
pub(crate) fn testify(runner: &dyn Runner, disk: &Block, node: &Path, copies: bool) -> Vec<Dissent> {
    let mut dissent = Vec::new();
    match probe(runner, node) {
        Probed::Nothing => {}
        Probed::Signature(what) => {
            dissent.push(Dissent::new(Check::Signature, format!("blkid found {what}"), wipe(disk)));
        }
        Probed::Several => dissent.push(Dissent::new(
            Check::Signature,
            "blkid found signatures of several kinds that contradict each other",
            wipe(disk),
        )),
        Probed::Unheard(why, remedy) => dissent.push(Dissent::unheard(Check::Signature, why, remedy)),
    }
    match own_look(disk, node, copies) {
        Ok(found) if found.is_empty() => {}
        Ok(found) => dissent.push(Dissent::new(
            Check::Signature,
            format!("found the mark of {}", describe(&found)),
            if dissent.is_empty() { zero(disk) } else { wipe(disk) },
        )),
        Err(error) => dissent.push(Dissent::unheard(
            Check::Signature,
            format!("{} can't be read: {error}", node.shown()),
            "ask again as root; if it is a read error, the disk is failing",
        )),
    }
    dissent
}

/// Each name once, with the offsets of all copies.
fn describe(marks: &[Mark]) -> String {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for mark in marks {
        let plain = mark.copy && !mark.name.ends_with(')');
        let name = if plain { format!("{} (copy)", mark.name) } else { mark.name.to_owned() };
        let place = mark.copy.then(|| mark.offset.to_string());
        match said.iter_mut().find(|(other, _)| *other == name) {
            Some((_, places)) => places.extend(place),
            None => said.push((name, place.into_iter().collect())),
        }
    }
    let one = |(name, places): &(String, Vec<String>)| match places.as_slice() {
        [] => name.clone(),
        places => format!("{name} at byte {}", places.join(", ")),
    };
    said.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn own_look(disk: &Block, node: &Path, copies: bool) -> std::io::Result<Vec<Mark>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(node)?;
    magic::look(&file, disk.size_bytes().unwrap_or(0), copies)
}

#[cfg(test)]
mod tests {
    use super::{Mark, describe};

    #[test]
    fn copies_are_told_with_their_places() {
        let copy = |name, offset| Mark { name, offset, copy: true };
        let first = Mark { name: "swap", offset: 4086, copy: false };
        let all = [first, copy("xfs", 80), copy("xfs", 160), copy("GPT (second copy)", 7)];
        assert_eq!(describe(&all), "swap, xfs (copy) at byte 80, 160, GPT (second copy) at byte 7");
    }
}
