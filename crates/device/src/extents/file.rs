//! The sums of a file's extents by class.

use crate::extents::btrfs;
use crate::extents::fiemap::{self, Class, Extent};
use record::extents::FileExtents;
use record::printable::Shown as _;
use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// `statfs.f_type` of tmpfs, btrfs and FUSE (linux/magic.h), and of OpenZFS (its include/sys/zfs_vfsops_os.h).
const TMPFS: u64 = 0x0102_1994;
const BTRFS: u64 = 0x9123_683E;
const FUSE: u64 = 0x6573_5546;
const ZFS: u64 = 0x2FC1_2FC1;
/// The most that ZFS allocates for a file without data: an indirect block.
const ZFS_NOTHING: u64 = 16 << 10;

/// Why a file's extents can't be read.
#[derive(Debug, Error)]
#[error("cannot tell what the bytes of {} are", .path.shown())]
pub struct ExtentsError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// A file's bytes by class, in logical bytes; preallocated bytes beyond its end don't count. It flushes nothing: sync the file
/// first to avoid delayed allocations.
///
/// # Errors
/// When the file can't be opened, or its file system reports no extents.
pub fn of_file(path: &Path) -> Result<FileExtents, ExtentsError> {
    let failed = |source| ExtentsError { path: path.to_path_buf(), source };
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let kind = rustix::fs::fstatfs(&file).map(|s| s.f_type.cast_unsigned()).map_err(|e| failed(e.into()))?;
    let size_bytes = about.len();
    if kind == ZFS || (kind == FUSE && is_zfs_fuse(path)) {
        let known = (kind == ZFS).then(|| seek_data(&file, size_bytes)).transpose().map_err(failed)?;
        let allocated = about.blocks().saturating_mul(512);
        return Ok(FileExtents { path: path.to_path_buf(), ..on_zfs(known, size_bytes, allocated) });
    }
    let extents = match fiemap::extents(&file) {
        Ok(extents) => extents,
        // tmpfs reports no extents, but knows its holes. Where neither is known, a guess would be wrong.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) && kind == TMPFS => {
            seek_data(&file, size_bytes).map_err(failed)?
        }
        Err(error) => return Err(failed(error)),
    };
    let mut sum = summed(&extents, size_bytes);
    sum.path = path.to_path_buf();
    sum.disk_bytes = if kind == BTRFS { btrfs::disk_bytes(&file).ok() } else { None };
    Ok(sum)
}

/// ZFS reports no extents, but the disk usage of a file's data, and OpenZFS its holes. Data that use less than their size are
/// compressed. `data`: the ranges with data; `None` when they are unknown.
fn on_zfs(data: Option<Vec<Extent>>, size_bytes: u64, allocated: u64) -> FileExtents {
    let data = match data {
        Some(data) => data,
        None if allocated <= ZFS_NOTHING && size_bytes > 64 * ZFS_NOTHING => Vec::new(),
        None => vec![Extent { start: 0, length: size_bytes, class: Class::Written }],
    };
    let mut sum = summed(&data, size_bytes);
    if allocated < sum.written_bytes - sum.written_bytes / 50 {
        (sum.encoded_bytes, sum.written_bytes) = (sum.written_bytes, 0);
    }
    FileExtents { disk_bytes: Some(allocated), ..sum }
}

fn is_zfs_fuse(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let mounts = crate::mountinfo::own(&record::roots::Roots::default()).unwrap_or_default();
    crate::family::mount_of(&mounts, &real).is_some_and(|mount| mount.kind == "fuse.zfs")
}

fn summed(extents: &[Extent], size_bytes: u64) -> FileExtents {
    let mut sum = FileExtents { size_bytes, ..FileExtents::default() };
    // Each extent counts from the end of the one before, so that nothing counts twice.
    let mut counted_to = 0;
    for extent in extents {
        let start = extent.start.clamp(counted_to, size_bytes.max(counted_to));
        let end = extent.start.saturating_add(extent.length).clamp(start, size_bytes.max(start));
        counted_to = end;
        if start == end {
            continue;
        }
        sum.extents += 1;
        *match extent.class {
            Class::Written => &mut sum.written_bytes,
            Class::Unwritten => &mut sum.unwritten_bytes,
            Class::Encoded => &mut sum.encoded_bytes,
            Class::Inline => &mut sum.inline_bytes,
            Class::Delalloc => &mut sum.delalloc_bytes,
        } += end - start;
    }
    let placed =
        sum.written_bytes + sum.unwritten_bytes + sum.encoded_bytes + sum.inline_bytes + sum.delalloc_bytes;
    sum.hole_bytes = size_bytes.saturating_sub(placed);
    sum
}

/// Data and holes from SEEK_DATA and SEEK_HOLE.
fn seek_data(file: &File, size_bytes: u64) -> io::Result<Vec<Extent>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < size_bytes {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = seek(file, SeekFrom::Hole(start))?;
        found.push(Extent { start, length: end.saturating_sub(start), class: Class::Written });
        at = end.max(at + 1);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{of_file, on_zfs, summed};
    use crate::extents::fiemap::{Class, Extent};
    use std::io::{Seek as _, SeekFrom, Write as _};
    use std::path::Path;

    fn extent(start: u64, length: u64, class: Class) -> Extent {
        Extent { start, length, class }
    }

    #[test]
    fn classes_add_up_to_the_size() {
        let all = [
            extent(0, 4096, Class::Written),
            extent(8192, 4096, Class::Unwritten),
            extent(12288, 8192, Class::Encoded),
        ];
        let sum = summed(&all, 16000);
        assert_eq!((sum.written_bytes, sum.unwritten_bytes, sum.encoded_bytes), (4096, 4096, 16000 - 12288));
        assert_eq!((sum.hole_bytes, sum.extents), (4096, 3));
    }

    #[test]
    fn bytes_beyond_the_end_and_twice_told_ones_do_not_count() {
        let all = [
            extent(0, 8192, Class::Written),
            extent(4096, 8192, Class::Written),
            extent(1 << 20, 4096, Class::Unwritten),
        ];
        let sum = summed(&all, 10000);
        assert_eq!((sum.written_bytes, sum.unwritten_bytes, sum.hole_bytes, sum.extents), (10000, 0, 0, 2));
        assert_eq!(summed(&[], 0).hole_bytes, 0);
    }

    #[test]
    fn zfs_tells_holes_and_what_is_stored() {
        const MIB: u64 = 1 << 20;
        let half = vec![extent(0, 8 * MIB, Class::Written)];
        let plain = on_zfs(Some(half.clone()), 16 * MIB, 8 * MIB + 4096);
        assert_eq!((plain.written_bytes, plain.hole_bytes, plain.encoded_bytes), (8 * MIB, 8 * MIB, 0));
        let packed = on_zfs(Some(half), 16 * MIB, 3 * MIB);
        assert_eq!((packed.written_bytes, packed.hole_bytes, packed.encoded_bytes), (0, 8 * MIB, 8 * MIB));
        assert_eq!(packed.disk_bytes, Some(3 * MIB));
        // zfs-fuse reports no holes: a file without disk usage is one.
        assert_eq!(on_zfs(None, 16 * MIB, 512).hole_bytes, 16 * MIB);
        assert_eq!(on_zfs(None, 16 * MIB, 4 * MIB).encoded_bytes, 16 * MIB);
        assert_eq!(on_zfs(None, 8192, 512).hole_bytes, 0, "too small to tell");
    }

    #[test]
    fn tmpfs_knows_its_holes() {
        let mut file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        file.as_file_mut().set_len(1 << 20).unwrap();
        file.seek(SeekFrom::Start(512 << 10)).unwrap();
        file.write_all(&vec![1; 64 << 10]).unwrap();
        let sum = of_file(file.path()).unwrap();
        assert_eq!(sum.size_bytes, 1 << 20);
        assert_eq!(sum.written_bytes + sum.hole_bytes, 1 << 20);
        assert!((64 << 10..1 << 20).contains(&sum.written_bytes), "{sum:?}");
    }

    #[test]
    fn what_is_no_file_is_an_error() {
        assert!(of_file(Path::new("/dev/null")).is_err());
        assert!(of_file(Path::new("/")).is_err());
        let text = of_file(Path::new("/no/such/file")).unwrap_err().to_string();
        assert_eq!(text, "cannot tell what the bytes of /no/such/file are");
    }
}
