//! Frees blocks: punches holes into files, discards on block devices.

use record::printable::Shown as _;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// `BLKDISCARD` of linux/fs.h: `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// The mode of fallocate.
pub(crate) const HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// A place that doesn't support trims at all.
#[derive(Debug, Error)]
pub(crate) enum TrimError {
    #[error("{} can't discard (its queue/discard_max_bytes is 0); use another device, or an rw without trims", .0.shown())]
    Device(PathBuf),
    #[error(
        "{} can't be trimmed: its file system punches no holes; use one that does (ext4, xfs, btrfs, zfs, tmpfs), or an rw without trims",
        .0.shown()
    )]
    File(PathBuf),
}

/// Trims a range.
///
/// # Errors
/// The kernel's error.
pub(crate) fn trim(file: &File, block_device: bool, offset: u64, length: u64) -> io::Result<()> {
    if block_device { discard(file, offset, length) } else { punch(file, offset, length) }
}

fn punch(file: &File, offset: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(file, hole, offset, length).map_err(io::Error::from)
}

#[expect(unsafe_code, reason = "a discard is an ioctl, which rustix doesn't have")]
fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let range = [offset, length];
    // SAFETY: the request reads two 64-bit numbers at the pointer, which is to a live array of two; the descriptor is open.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Fails if the error of a trim means that its place supports none at all; any other failure is that of one I/O.
pub(crate) fn check_supported(errno: i32, path: &Path, block_device: bool) -> Result<(), TrimError> {
    match errno {
        libc::EOPNOTSUPP | libc::ENOTTY if block_device => Err(TrimError::Device(path.to_owned())),
        libc::EOPNOTSUPP | libc::ENOTTY => Err(TrimError::File(path.to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{check_supported, trim};
    use std::io::Write as _;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    use std::path::Path;

    #[test]
    fn a_hole_reads_as_zeros_and_the_rest_stays() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let before = file.metadata().unwrap();
        trim(&file, false, 1 << 18, 1 << 18).unwrap();
        let after = file.metadata().unwrap();
        assert_eq!(after.len(), before.len());
        assert!(after.blocks() < before.blocks());
        let mut bytes = vec![0; 1 << 20];
        file.read_exact_at(&mut bytes, 0).unwrap();
        for (at, byte) in bytes.iter().enumerate() {
            let hole = (1 << 18..1 << 19).contains(&at);
            assert_eq!(*byte, if hole { 0 } else { 7 }, "at {at}");
        }
    }

    #[test]
    fn what_cannot_trim_is_named_with_the_way_out() {
        let said =
            |errno, path, device| check_supported(errno, Path::new(path), device).unwrap_err().to_string();
        let device = said(libc::EOPNOTSUPP, "/dev/x", true);
        assert!(device.contains("/dev/x") && device.contains("rw without trims"));
        assert!(said(libc::ENOTTY, "/m/y", false).contains("/m/y"));
        assert!(check_supported(libc::EIO, Path::new("/m/y"), false).is_ok());
    }
}
