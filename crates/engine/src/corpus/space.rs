//! What copied data takes on the device, as far as the file system tells.

use record::copy::Extents;
use std::fs::File;
use std::path::Path;

const EXT: i64 = 0xEF53;
const XFS: i64 = 0x5846_5342;
const BTRFS: i64 = 0x9123_683E;

/// Whether it is on btrfs.
pub(crate) fn is_btrfs(directory: &File) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|about| about.f_type == BTRFS)
}

/// Data before and after compression: counted extent by extent on btrfs where the whole file system is ours, the same on file systems that
/// can't compress, `None` where nobody can tell.
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
