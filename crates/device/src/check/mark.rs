//! A signature on a disk, and the reading of its bytes.

use std::io;
use std::os::unix::fs::FileExt;

/// A signature that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// What signed it.
    pub(crate) name: &'static str,
    /// Its offset in bytes.
    pub(crate) offset: u64,
    /// Whether it is a copy of a superblock, which wipefs leaves.
    pub(crate) copy: bool,
}

impl Mark {
    /// A signature by its name and its offset in bytes.
    pub(crate) fn new(name: &'static str, offset: u64) -> Self {
        Self { name, offset, copy: name.ends_with("copy)") || name.ends_with("header)") }
    }
}

/// The bytes at a place; `None` where the disk is too small for it.
pub(crate) fn read(
    disk: &dyn FileExt,
    size_bytes: u64,
    offset: u64,
    length: usize,
) -> io::Result<Option<Vec<u8>>> {
    let end = offset.checked_add(length as u64);
    if end.is_none_or(|end| end > size_bytes) {
        return Ok(None);
    }
    let mut bytes = vec![0; length];
    disk.read_exact_at(&mut bytes, offset)?;
    Ok(Some(bytes))
}
