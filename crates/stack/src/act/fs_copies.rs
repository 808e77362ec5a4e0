//! The copies of an ext or xfs superblock. wipefs leaves them, and the guard finds them.

use crate::error::ActError;
use device::{SuperblockCopy, copies_of_first_superblock, superblock_copies};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Overwrites the copies that carry this UUID and leaves others alone. They are where the first superblock says, or, when that is
/// gone already, where the guard looks for them. Safe to repeat.
///
/// # Errors
/// When the device can't be read or written.
pub(super) fn clear(path: &Path, uuid: &str) -> Result<(), ActError> {
    let open = OpenOptions::new().read(true).write(true).open(path);
    let device = open.map_err(ActError::io("open", path))?;
    let size = rustix::fs::seek(&device, rustix::fs::SeekFrom::End(0));
    let size = size.map_err(io::Error::from).map_err(ActError::io("find the size of", path))?;
    let find = || match copies_of_first_superblock(&device, size)? {
        Some(copies) => Ok(copies),
        None => superblock_copies(&device, size),
    };
    let copies = find().map_err(ActError::io("look for copies of the superblock on", path))?;
    for copy in copies.iter().filter(|copy| is(copy, uuid)) {
        let zeros = vec![0; usize::try_from(copy.bytes).unwrap_or(0)];
        device
            .write_all_at(&zeros, copy.offset)
            .map_err(ActError::io("clear a copy of the superblock on", path))?;
    }
    device.sync_data().map_err(ActError::io("flush", path))
}

fn is(copy: &SuperblockCopy, uuid: &str) -> bool {
    let digits: String = copy.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    digits == uuid.replace('-', "").to_ascii_lowercase()
}
