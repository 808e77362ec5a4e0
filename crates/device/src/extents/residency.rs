//! How much of a file the page cache holds, and how to drop it.

use record::extents::Residency;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::ptr;

/// The number of cachestat(2), Linux 6.5; the same on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;
/// `statfs.f_type` of OpenZFS.
const ZFS: u64 = 0x2FC1_2FC1;
/// The bytes per mincore(2), so that its result stays small.
const WINDOW_BYTES: u64 = 1 << 30;

/// `struct cachestat_range` of linux/mman.h.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of linux/mman.h, in pages.
#[repr(C)]
#[derive(Default)]
struct Stat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The bytes of a file or block device in the page cache. Dirty bytes are known with cachestat(2), but not with mincore(2).
///
/// # Errors
/// When the file can't be opened or examined.
pub fn residency(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let size_bytes = match about.file_type().is_block_device() {
        true => rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))?,
        false => about.len(),
    };
    let page = rustix::param::page_size() as u64;
    let mut found = Residency { path: path.to_path_buf(), size_bytes, ..Residency::default() };
    if size_bytes == 0 {
        found.dirty_bytes = Some(0);
        return Ok(found);
    }
    if let Ok(stat) = cachestat(&file) {
        let bytes = |pages: u64| pages.saturating_mul(page).min(size_bytes);
        found.cached_bytes = bytes(stat.cached);
        found.dirty_bytes = Some(bytes(stat.dirty.saturating_add(stat.writeback)));
    } else if rustix::fs::fstatfs(&file)?.f_type.cast_unsigned() == ZFS {
        // A mapping would make later reads of the file slower: ZFS then reads it page by page.
        return Err(io::Error::new(io::ErrorKind::Unsupported, "ZFS remembers that a file was mapped"));
    } else {
        found.cached_bytes = mincore(&file, size_bytes, page)?;
    }
    Ok(found)
}

/// Writes a file's dirty pages and drops the file from the page cache; needs no root. Pages in use (mapped, being read) stay,
/// which [`residency`] shows.
///
/// # Errors
/// When the file can't be opened or synced, or fadvise fails.
pub fn drop_file_cache(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

fn cachestat(file: &File) -> io::Result<Stat> {
    let range = Range { offset: 0, length: 0 };
    let mut stat = Stat::default();
    // SAFETY: the descriptor is open, and the kernel reads one `struct cachestat_range` and writes one `struct cachestat`;
    // `range` and `stat` have the layout of linux/mman.h.
    #[expect(unsafe_code, reason = "libc has no wrapper for this system call")]
    let result =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0_u32) };
    if result == 0 { Ok(stat) } else { Err(io::Error::last_os_error()) }
}

/// Resident bytes by mincore(2), with mappings that are never accessed.
fn mincore(file: &File, size_bytes: u64, page: u64) -> io::Result<u64> {
    let mut resident = 0;
    let mut offset = 0;
    while offset < size_bytes {
        let length = WINDOW_BYTES.min(size_bytes - offset);
        for (index, held) in window(file, offset, length, page)?.into_iter().enumerate() {
            if held {
                resident += page.min(length - index as u64 * page);
            }
        }
        offset += length;
    }
    Ok(resident)
}

fn window(file: &File, offset: u64, length: u64, page: u64) -> io::Result<Vec<bool>> {
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let bytes = usize::try_from(length).map_err(too_large)?;
    let from = libc::off_t::try_from(offset).map_err(too_large)?;
    let mut pages = vec![0_u8; usize::try_from(length.div_ceil(page)).map_err(too_large)?];
    // SAFETY: the mapping is private to this function, is never read, and is unmapped before it returns; `pages` has one byte for
    // every page of it. If the file is truncated meanwhile, a mapping that nobody reads does no harm.
    #[expect(unsafe_code, reason = "mincore(2) needs a mapping")]
    unsafe {
        let map =
            libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), from);
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let result = libc::mincore(map, bytes, pages.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(map, bytes);
        if result != 0 {
            return Err(error);
        }
    }
    Ok(pages.into_iter().map(|p| p & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    use super::{drop_file_cache, mincore, residency};
    use std::fs::{self, File};
    use std::io::Write as _;

    /// A file on a file system with a block device.
    fn written(bytes: usize) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
        file
    }

    #[test]
    fn written_bytes_are_cached_and_dropped_ones_are_not() {
        let file = written(3_000_000);
        let before = residency(file.path()).unwrap();
        assert_eq!((before.size_bytes, before.cached_bytes), (3_000_000, 3_000_000));
        drop_file_cache(file.path()).unwrap();
        let after = residency(file.path()).unwrap();
        assert_eq!(after.cached_bytes, 0);
        assert!(after.dirty_bytes.is_none_or(|d| d == 0));
    }

    #[test]
    fn both_ways_to_ask_agree() {
        let file = written(1_000_001);
        drop_file_cache(file.path()).unwrap();
        let page = rustix::param::page_size() as u64;
        assert_eq!(mincore(&File::open(file.path()).unwrap(), 1_000_001, page).unwrap(), 0);
        fs::read(file.path()).unwrap();
        let told = residency(file.path()).unwrap().cached_bytes;
        assert_eq!(told, 1_000_001);
        assert_eq!(mincore(&File::open(file.path()).unwrap(), 1_000_001, page).unwrap(), told);
    }

    #[test]
    fn an_empty_file_has_nothing_cached() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(residency(file.path()).unwrap().cached_bytes, 0);
    }
}
