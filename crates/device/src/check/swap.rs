//! Active swap.

use crate::block::Block;
use crate::check::users::Sight;
use crate::devno::DevNo;
use crate::loops::file_at;
use crate::node::block_at;
use crate::refusal::{Check, Dissent};
use record::mountinfo::unescape;
use record::printable::Shown as _;
use record::roots::Roots;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Active swap on the disk, its partitions, anything stacked on them, or in a file on them.
pub(crate) fn testify(roots: &Roots, sight: &Sight) -> Vec<Dissent> {
    let text = match fs::read_to_string(roots.proc("swaps")) {
        Ok(text) => text,
        // A kernel without swap doesn't have this file.
        Err(error) if error.kind() == io::ErrorKind::NotFound && roots.proc("self").exists() => String::new(),
        Err(error) => {
            let why = format!("{}: {error}", roots.proc("swaps").shown());
            return vec![Dissent::unheard(Check::Swap, why, "check that /proc is mounted")];
        }
    };
    parse(&text).iter().filter_map(|path| judge(roots, sight, path)).collect()
}

fn judge(roots: &Roots, sight: &Sight, path: &Path) -> Option<Dissent> {
    let shown = path.shown();
    let remedy = format!("swapoff {shown}, if this machine can spare it");
    let Some(devno) = place(roots, path) else {
        let why = format!("it is unknown where the active swap {shown} is");
        return Some(Dissent::unheard(Check::Swap, why, remedy));
    };
    let member = sight.family.member(devno)?;
    let saw = format!("{} holds active swap ({shown})", member.block.label());
    Some(Dissent::new(Check::Swap, saw, remedy))
}

/// The block device of a swap area: the area itself, or the device of its file's file system. Tries the name as we see it, as
/// process 1 sees it, and as a kernel name.
fn place(roots: &Roots, path: &Path) -> Option<DevNo> {
    let inside = roots.proc("1/root").join(path.strip_prefix("/").unwrap_or(path));
    for candidate in [roots.in_dev(path), inside] {
        if let Ok(devno) = block_at(roots, &candidate) {
            return Some(devno);
        }
        if let Ok((file_system, _)) = file_at(&candidate) {
            return Some(file_system);
        }
    }
    let name = path.strip_prefix("/dev").ok()?.to_string_lossy().replace('/', "!");
    Some(Block::by_name(roots, &name).ok()?.devno)
}

fn parse(text: &str) -> Vec<PathBuf> {
    let names = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    names.map(|name| OsString::from_vec(unescape(name.as_bytes())).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::path::Path;

    #[test]
    fn the_header_is_skipped_and_escapes_are_undone() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/sda2   partition\t8388604\t0\t-2\n/swap\\040file file 1 0 -3\n";
        assert_eq!(parse(text), [Path::new("/dev/sda2"), Path::new("/swap file")]);
    }
}
