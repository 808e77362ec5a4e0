//! The disk usage of copied data, as far as the file system reports it.

use record::copy::Extents;
use std::fs::File;
use std::path::Path;

const EXT: i64 = 0xEF53;
const XFS: i64 = 0x5846_5342;
const BTRFS: i64 = 0x9123_683E;

/// Whether a directory is on btrfs.
pub(crate) fn is_btrfs(directory: &File) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|about| about.f_type == BTRFS)
}

/// The bytes of the data before and after compression. On btrfs they are summed over the extents if the whole file system is
/// ours; on file systems without compression they are equal; `None` where they are unknown.
pub(crate) fn extents(target: &Path, ours_alone: bool, logical_bytes: u64) -> Option<Extents> {
    let directory = File::open(target).ok()?;
    let kind = rustix::fs::fstatfs(&directory).ok()?.f_type;
    match kind {
        EXT | XFS => Some(Extents { uncompressed_bytes: logical_bytes, disk_bytes: logical_bytes }),
        BTRFS if ours_alone => {
            let (uncompressed_bytes, disk_bytes) = device::extents::of_subvolume(&directory).ok()?;
            Some(Extents { uncompressed_bytes, disk_bytes })
        }
        _ => None,
    }
}
