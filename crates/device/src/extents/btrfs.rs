//! The disk usage of a file's data on btrfs: its EXTENT_DATA items (btrfs on-disk format, `struct btrfs_file_extent_item`), read
//! with BTRFS_IOC_TREE_SEARCH_V2. Needs root.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;

/// `_IOWR(0x94, 17, struct btrfs_ioctl_search_args_v2)`: the size of the head without the buffer.
const BTRFS_IOC_TREE_SEARCH_V2: libc::c_ulong = 0xC070_9411;
const EXTENT_DATA_KEY: u32 = 108;
const BUFFER_BYTES: usize = 64 << 10;
/// `struct btrfs_ioctl_search_header`: transid, objectid, offset (u64 each), type, len (u32 each).
const HEADER_BYTES: usize = 32;
/// The size of an item's head before an inline extent's data.
const INLINE_DATA_AT: usize = 21;
const INLINE: u8 = 0;
const REGULAR: u8 = 1;

/// `struct btrfs_ioctl_search_args_v2`, with space for items.
#[repr(C)]
struct Search {
    tree_id: u64,
    min_objectid: u64,
    max_objectid: u64,
    min_offset: u64,
    max_offset: u64,
    min_transid: u64,
    max_transid: u64,
    min_type: u32,
    max_type: u32,
    nr_items: u32,
    unused: u32,
    unused_u64: [u64; 4],
    buf_size: u64,
    buf: [u8; BUFFER_BYTES],
}

/// The bytes on the device (before RAID copies) of the data to which the file refers. An extent to which it refers only in part
/// counts in proportion. Preallocated, unwritten extents hold no data and don't count.
pub(crate) fn disk_bytes(file: &File) -> io::Result<u64> {
    let inode = file.metadata()?.ino();
    let mut total = 0_u64;
    extents(file, (inode, inode), |item| total = total.saturating_add(item_disk_bytes(item).unwrap_or(0)))?;
    Ok(total)
}

/// The same for all files of the subvolume of a file or directory: the bytes to which they refer, and those on the device.
///
/// # Errors
/// When it isn't on btrfs, or the caller isn't root.
pub fn of_subvolume(within: &File) -> io::Result<(u64, u64)> {
    let (mut referred, mut disk) = (0_u64, 0_u64);
    extents(within, (0, u64::MAX), |item| {
        referred = referred.saturating_add(item_referred_bytes(item).unwrap_or(0));
        disk = disk.saturating_add(item_disk_bytes(item).unwrap_or(0));
    })?;
    Ok((referred, disk))
}

/// Calls `show` with every EXTENT_DATA item of these inodes, in order.
fn extents(file: &File, inodes: (u64, u64), mut show: impl FnMut(&[u8])) -> io::Result<()> {
    let mut from = (inodes.0, 0, 0);
    loop {
        let search = ask(file, from, inodes.1)?;
        let mut next = None;
        for found in (Items { bytes: &search.buf, left: search.nr_items }) {
            // The search also returns items of other kinds in between.
            if found.kind == EXTENT_DATA_KEY {
                show(found.item);
            }
            next = match found.offset.checked_add(1) {
                Some(offset) => Some((found.inode, found.kind, offset)),
                None => found.inode.checked_add(1).map(|inode| (inode, 0, 0)),
            };
        }
        match next {
            Some(next) if next.0 <= inodes.1 => from = next,
            _ => return Ok(()),
        }
    }
}

/// The items from an inode, kind and offset on.
fn ask(file: &File, from: (u64, u32, u64), last_inode: u64) -> io::Result<Box<Search>> {
    let mut search = Box::new(Search {
        tree_id: 0,
        min_objectid: from.0,
        max_objectid: last_inode,
        min_offset: from.2,
        max_offset: u64::MAX,
        min_transid: 0,
        max_transid: u64::MAX,
        min_type: from.1,
        max_type: EXTENT_DATA_KEY,
        nr_items: u32::MAX,
        unused: 0,
        unused_u64: [0; 4],
        buf_size: BUFFER_BYTES as u64,
        buf: [0; BUFFER_BYTES],
    });
    // SAFETY: the descriptor is open, and the kernel writes at most `buf_size` bytes after the head, for which `search` has
    // space.
    #[expect(unsafe_code, reason = "no safe wrapper for this ioctl exists")]
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BTRFS_IOC_TREE_SEARCH_V2 as _, &raw mut *search) };
    if result == 0 { Ok(search) } else { Err(io::Error::last_os_error()) }
}

/// An item: its key and its bytes.
struct TreeItem<'a> {
    inode: u64,
    kind: u32,
    /// The offset in the file.
    offset: u64,
    item: &'a [u8],
}

struct Items<'a> {
    bytes: &'a [u8],
    left: u32,
}

impl<'a> Iterator for Items<'a> {
    type Item = TreeItem<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let header = self.bytes.get(..HEADER_BYTES)?;
        // The header has the machine's byte order, items are little endian.
        let word = |at: usize| header[at..at + 8].try_into().ok().map(u64::from_ne_bytes);
        let short = |at: usize| header[at..at + 4].try_into().ok().map(u32::from_ne_bytes);
        let end = HEADER_BYTES.checked_add(usize::try_from(short(28)?).ok()?)?;
        let item = self.bytes.get(HEADER_BYTES..end)?;
        self.bytes = &self.bytes[end..];
        Some(TreeItem { inode: word(8)?, kind: short(24)?, offset: word(16)?, item })
    }
}

fn item_disk_bytes(item: &[u8]) -> Option<u64> {
    let word = |at: usize| Some(u64::from_le_bytes(item.get(at..at + 8)?.try_into().ok()?));
    match *item.get(20)? {
        INLINE => Some((item.len() - INLINE_DATA_AT) as u64),
        REGULAR => {
            let (ram_bytes, disk_start, disk_bytes) = (word(8)?, word(21)?, word(29)?);
            let referred = word(45)?;
            if disk_start == 0 || ram_bytes == 0 {
                return Some(0);
            }
            let share = u128::from(disk_bytes) * u128::from(referred) / u128::from(ram_bytes);
            u64::try_from(share).ok()
        }
        _ => Some(0),
    }
}

/// The bytes of an item in its file: an inline extent's length before compression, or the part of a regular extent to which the
/// file refers.
fn item_referred_bytes(item: &[u8]) -> Option<u64> {
    let word = |at: usize| Some(u64::from_le_bytes(item.get(at..at + 8)?.try_into().ok()?));
    match *item.get(20)? {
        INLINE => word(8),
        REGULAR if word(21)? != 0 => word(45),
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_BYTES, Items, Search, item_disk_bytes, item_referred_bytes};

    fn regular(kind: u8, ram: u64, start: u64, disk: u64, referred: u64) -> Vec<u8> {
        let mut item = vec![0; 53];
        item[8..16].copy_from_slice(&ram.to_le_bytes());
        item[20] = kind;
        for (at, value) in [(21, start), (29, disk), (37, 0), (45, referred)] {
            item[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        item
    }

    #[test]
    fn structures_are_the_kernels() {
        assert_eq!(std::mem::offset_of!(Search, buf), 112);
        assert_eq!(std::mem::offset_of!(Search, buf_size), 104);
    }

    #[test]
    fn parts_of_extents_count_in_proportion() {
        assert_eq!(item_disk_bytes(&regular(1, 131_072, 1 << 20, 8192, 131_072)), Some(8192));
        assert_eq!(item_disk_bytes(&regular(1, 131_072, 1 << 20, 8192, 65_536)), Some(4096));
        assert_eq!(item_disk_bytes(&regular(1, 4096, 1 << 20, 4096, 4096)), Some(4096));
    }

    #[test]
    fn what_an_item_stands_for_is_its_length_before_compression() {
        assert_eq!(item_referred_bytes(&regular(1, 131_072, 1 << 20, 8192, 65_536)), Some(65_536));
        let mut inline = vec![0; 21 + 100];
        inline[8..16].copy_from_slice(&250_u64.to_le_bytes());
        assert_eq!((item_referred_bytes(&inline), item_disk_bytes(&inline)), (Some(250), Some(100)));
        assert_eq!(item_referred_bytes(&regular(1, 4096, 0, 0, 4096)), Some(0), "a hole");
        assert_eq!(item_referred_bytes(&regular(2, 4096, 1 << 20, 4096, 4096)), Some(0), "reserved");
    }

    #[test]
    fn items_are_read_with_their_keys() {
        let mut bytes = vec![0; HEADER_BYTES + 3];
        bytes[8..16].copy_from_slice(&257_u64.to_ne_bytes());
        bytes[16..24].copy_from_slice(&4096_u64.to_ne_bytes());
        bytes[24..28].copy_from_slice(&108_u32.to_ne_bytes());
        bytes[28..32].copy_from_slice(&3_u32.to_ne_bytes());
        let found: Vec<_> =
            Items { bytes: &bytes, left: 2 }.map(|f| (f.inode, f.kind, f.offset, f.item.len())).collect();
        assert_eq!(found, [(257, 108, 4096, 3)], "what is cut off is left out");
    }

    #[test]
    fn holes_and_reservations_hold_no_data() {
        assert_eq!(item_disk_bytes(&regular(1, 4096, 0, 0, 4096)), Some(0));
        assert_eq!(item_disk_bytes(&regular(2, 1 << 20, 1 << 20, 1 << 20, 1 << 20)), Some(0));
        assert_eq!(item_disk_bytes(&[0; 21 + 100]), Some(100), "inline");
        assert_eq!(item_disk_bytes(&[0; 5]), None);
    }
}
