//! Device nodes, by their device numbers.

use crate::devno::DevNo;
use record::roots::Roots;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// A device node by its device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    /// A block device.
    Block(DevNo),
    /// A character device.
    Char(DevNo),
}

/// The block device at a path, under any name: follows links, then takes the device number of the node.
pub(crate) fn block_at(roots: &Roots, path: &Path) -> io::Result<DevNo> {
    match node_at(roots, path)? {
        Node::Block(number) => Ok(number),
        Node::Char(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a block device")),
    }
}

/// The device at a path. In a fake tree, which can't have device nodes, a plain file below [`Roots::dev`] with the text `major:minor`
/// is a block device, and one with `c major:minor` a character device.
pub(crate) fn node_at(roots: &Roots, path: &Path) -> io::Result<Node> {
    let about = fs::metadata(path)?;
    let number = DevNo::from_raw(about.rdev());
    if about.file_type().is_block_device() {
        return Ok(Node::Block(number));
    }
    if about.file_type().is_char_device() {
        return Ok(Node::Char(number));
    }
    let made_up = if !roots.is_real() && about.is_file() && is_made_up(roots, path)? {
        let text = fs::read_to_string(path)?;
        match text.trim().strip_prefix("c ") {
            Some(number) => DevNo::parse(number).map(Node::Char),
            None => DevNo::parse(text.trim()).map(Node::Block),
        }
    } else {
        None
    };
    made_up.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a block device"))
}

fn is_made_up(roots: &Roots, path: &Path) -> io::Result<bool> {
    Ok(path.starts_with(&roots.dev) || fs::canonicalize(path)?.starts_with(fs::canonicalize(&roots.dev)?))
}
