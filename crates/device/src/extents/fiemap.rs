//! FIEMAP: the file system's list of a file's extents (Documentation/filesystems/fiemap.rst).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
const LAST: u32 = 0x1;
const DELALLOC: u32 = 0x4;
const ENCODED: u32 = 0x8;
const INLINE: u32 = 0x200;
const UNWRITTEN: u32 = 0x800;
/// The number of extents per call.
const BATCH: usize = 256;

/// The state of an extent's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Written,
    Unwritten,
    Encoded,
    Inline,
    Delalloc,
}

/// An extent, in file offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) class: Class,
}

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` of linux/fiemap.h, with space for extents.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

/// All extents of a file, in order. It flushes nothing: delayed allocations have their own class.
pub(crate) fn extents(file: &File) -> io::Result<Vec<Extent>> {
    let mut found = Vec::new();
    let mut start = 0;
    loop {
        let batch = ask(file, start)?;
        let Some(last) = batch.last() else { return Ok(found) };
        let (end, is_last) = (last.logical.saturating_add(last.length), last.flags & LAST != 0);
        found.extend(batch.iter().map(|raw| Extent {
            start: raw.logical,
            length: raw.length,
            class: class(raw.flags),
        }));
        if is_last || end <= start {
            return Ok(found);
        }
        start = end;
    }
}

fn class(flags: u32) -> Class {
    // An inline extent may be compressed too, but what matters is that a read of it needs no block of its own.
    if flags & INLINE != 0 {
        Class::Inline
    } else if flags & DELALLOC != 0 {
        Class::Delalloc
    } else if flags & UNWRITTEN != 0 {
        Class::Unwritten
    } else if flags & ENCODED != 0 {
        Class::Encoded
    } else {
        Class::Written
    }
}

fn ask(file: &File, start: u64) -> io::Result<Vec<RawExtent>> {
    let none =
        RawExtent { logical: 0, physical: 0, length: 0, reserved64: [0; 2], flags: 0, reserved: [0; 3] };
    let mut request = Request {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped_extents: 0,
        extent_count: u32::try_from(BATCH).unwrap_or(u32::MAX),
        reserved: 0,
        extents: [none; BATCH],
    };
    // SAFETY: the descriptor is open, and the kernel writes at most `extent_count` extents after the head, for which `request`
    // has space.
    #[expect(unsafe_code, reason = "no safe wrapper for this ioctl exists")]
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut request) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let mapped = usize::try_from(request.mapped_extents).unwrap_or(BATCH).min(BATCH);
    Ok(request.extents[..mapped].to_vec())
}

#[cfg(test)]
mod tests {
    use super::{RawExtent, Request};

    #[test]
    fn structures_are_the_kernels() {
        assert_eq!(size_of::<RawExtent>(), 56);
        assert_eq!(std::mem::offset_of!(RawExtent, flags), 40);
        assert_eq!(std::mem::offset_of!(Request, extents), 32);
    }
}
