//! The copies of a btrfs superblock. wipefs leaves them, and the guard finds them.

use crate::error::ActError;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The offsets of the copies (`btrfs_sb_offset`, fs/btrfs/volumes.h): 64 MiB and 256 GiB. wipefs removes the first superblock.
const COPIES: [u64; 2] = [64 << 20, 256 << 30];
/// The size of a superblock (`struct btrfs_super_block`).
const BYTES: usize = 4096;
const FSID: std::ops::Range<usize> = 0x20..0x30;
const MAGIC: std::ops::Range<usize> = 0x40..0x48;

/// Overwrites the copies that carry this UUID and leaves others alone; without a UUID, overwrites all. Safe to repeat.
///
/// # Errors
/// When the device can't be read or written.
pub(super) fn clear(path: &Path, uuid: Option<&str>) -> Result<(), ActError> {
    let ours = |fsid| uuid.is_none_or(|uuid| bytes_of(uuid) == Some(fsid));
    let open = OpenOptions::new().read(true).write(true).open(path);
    let device = open.map_err(ActError::io("open", path))?;
    for offset in COPIES {
        clear_one(&device, offset, &ours).map_err(ActError::io("clear a superblock's copy on", path))?;
    }
    device.sync_data().map_err(ActError::io("flush", path))
}

fn clear_one(device: &File, offset: u64, ours: &dyn Fn(u128) -> bool) -> io::Result<()> {
    let mut block = [0; BYTES];
    match device.read_exact_at(&mut block, offset) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        other => other?,
    }
    let fsid = block[FSID].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
    if &block[MAGIC] == b"_BHRfS_M" && ours(fsid) {
        device.write_all_at(&[0; BYTES], offset)?;
    }
    Ok(())
}

fn bytes_of(uuid: &str) -> Option<u128> {
    let digits: String = uuid.chars().filter(|c| *c != '-').collect();
    (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{BYTES, clear};
    use std::os::unix::fs::FileExt as _;

    const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

    fn signed(first_byte: u8) -> Vec<u8> {
        let mut block = vec![7; BYTES];
        block[0x20..0x30].copy_from_slice(&[
            first_byte, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
            0xff,
        ]);
        block[0x40..0x48].copy_from_slice(b"_BHRfS_M");
        block
    }

    #[test]
    fn only_our_own_copies_are_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let disk = std::fs::File::create(&path).unwrap();
        disk.set_len((256 << 30) + (1 << 20)).unwrap();
        disk.write_all_at(&signed(0x00), 64 << 20).unwrap();
        disk.write_all_at(&signed(0x01), 256 << 30).unwrap();
        for _ in 0..2 {
            clear(&path, Some(UUID)).unwrap();
        }
        let read = |offset| {
            let mut block = vec![0; BYTES];
            std::fs::File::open(&path).unwrap().read_exact_at(&mut block, offset).unwrap();
            block
        };
        assert_eq!(read(64 << 20), vec![0; BYTES]);
        assert_eq!(read(256 << 30), signed(0x01), "another file system's");
        clear(&path, None).unwrap();
        assert_eq!(read(256 << 30), vec![0; BYTES], "whoever's");
    }

    #[test]
    fn small_disks_have_no_copies() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(32 << 20).unwrap();
        clear(file.path(), Some(UUID)).unwrap();
        assert_eq!(file.as_file().metadata().unwrap().len(), 32 << 20);
    }
}
