//! Copies of ext and xfs superblocks: the remains of a file system with a damaged first superblock.
//!
//! When the first superblock is gone, nothing says where the copies are, so this checks a bounded number of places. For ext these
//! are all groups that can hold a copy, for every block size, since group sizes are powers of two. An xfs allocation group may
//! have any size: this finds every file system that fills the disk with 2 to 64 groups, and those with groups of a power of two
//! or of the largest size; it may miss others.

use super::mark::{Mark, read};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

const EXT: &str = "ext2/3/4";
const XFS: &str = "xfs";
const MIB: u64 = 1 << 20;
/// The offset of ext's first superblock.
const EXT_FIRST: u64 = 1024;
const SECTOR: usize = 512;
/// The largest number of groups for which a disk-filling xfs is searched.
const XFS_GROUPS: u64 = 64;
/// The most bytes by which a group may begin later than its share of the disk, by rounding to blocks of up to 64 KiB.
const ROUNDED: u64 = 68 << 10;
/// The largest xfs group: 1 TiB, less one block if that is 4 KiB (`XFS_AG_MAX_BLOCKS`).
const XFS_LARGEST: [u64; 2] = [1 << 40, (1 << 40) - 4096];
/// The stripe units to which a stripe geometry rounds groups down.
const STRIPE_UNITS: [u64; 5] = [64 << 10, 128 << 10, 256 << 10, 512 << 10, MIB];
/// The bytes searched on each side of the middle and the quarters of the disk. A group begins at the middle for every even number
/// of groups, so one is found there even if everything before it is overwritten.
const WINDOW: u64 = MIB / 2;

/// A copy of a superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuperblockCopy {
    /// Its offset in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The UUID of its file system.
    pub uuid: [u8; 16],
    /// The kind of file system.
    pub kind: &'static str,
}

/// The copies on a disk, unless its owner removed the first superblock's magic.
pub(crate) fn marks(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Vec<Mark>> {
    let wiped = [wiped_ext(disk, size_bytes)?, wiped_xfs(disk, size_bytes)?];
    let left = find(disk, size_bytes)?.into_iter().filter(|copy| !wiped.contains(&Some(copy.uuid)));
    Ok(left.map(|copy| Mark { name: copy.kind, offset: copy.offset, copy: true }).collect())
}

/// All copies that are found, by offset.
///
/// # Errors
/// When the disk can't be read.
pub fn find(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Vec<SuperblockCopy>> {
    let mut places: Vec<(u64, &'static str)> =
        ext_places(size_bytes).into_iter().map(|at| (at, EXT)).collect();
    places.extend(xfs_places(size_bytes).into_iter().map(|at| (at, XFS)));
    // In ascending order, so that a disk's head crosses it only once.
    places.sort_unstable();
    let mut found = Vec::new();
    for (offset, kind) in places {
        let Some(bytes) = read(disk, size_bytes, offset, SECTOR)? else { continue };
        let uuid = if kind == EXT { ext(&bytes) } else { xfs(&bytes) };
        found.extend(uuid.map(|uuid| copy(offset, kind, uuid)));
    }
    found.extend(in_stretches(disk, size_bytes)?);
    found.sort_by_key(|copy| copy.offset);
    found.dedup();
    Ok(found)
}

fn copy(offset: u64, kind: &'static str, uuid: [u8; 16]) -> SuperblockCopy {
    // ext's is 1 KiB; xfs has four sectors of its own at the beginning of a group, and only the first one identifies the file
    // system.
    let bytes = if kind == EXT { 1024 } else { SECTOR as u64 };
    SuperblockCopy { offset, bytes, uuid, kind }
}

fn little(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |sum, b| sum << 8 | u32::from(*b))
}

fn big(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |sum, b| sum << 8 | u32::from(*b))
}

fn uuid(bytes: &[u8], at: usize) -> [u8; 16] {
    std::array::from_fn(|n| bytes[at + n])
}

/// The UUID of an ext superblock, whatever its magic (Documentation/filesystems/ext4/super.rst): block size, revision and group
/// size must be valid.
fn ext_but_magic(bytes: &[u8]) -> Option<[u8; 16]> {
    let (log_block, revision, blocks) = (little(bytes, 24), little(bytes, 76), little(bytes, 4));
    let can_be = log_block <= 6 && revision <= 1 && little(bytes, 32) != 0 && little(bytes, 40) != 0;
    (can_be && blocks != 0).then(|| uuid(bytes, 104))
}

/// The UUID of an ext superblock with magic.
pub(super) fn ext(bytes: &[u8]) -> Option<[u8; 16]> {
    ext_but_magic(bytes).filter(|_| bytes[56..58] == [0x53, 0xEF])
}

/// The same for xfs (`struct xfs_dsb`): block size, sector size and number of groups must be valid.
fn xfs_but_magic(bytes: &[u8]) -> Option<[u8; 16]> {
    let (block, groups) = (big(bytes, 4), big(bytes, 88));
    let sector = u16::from_be_bytes([bytes[102], bytes[103]]);
    let can_be = block.is_power_of_two() && (512..=65536).contains(&block) && groups > 0;
    (can_be && sector.is_power_of_two() && sector >= 512).then(|| uuid(bytes, 32))
}

fn xfs(bytes: &[u8]) -> Option<[u8; 16]> {
    xfs_but_magic(bytes).filter(|_| bytes[..4] == *b"XFSB")
}

/// The UUID of a first superblock that is complete except for its magic, as wipefs leaves it. Its owner removed the magic on
/// purpose, so the copies with its UUID don't count.
fn wiped_ext(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<[u8; 16]>> {
    let bytes = read(disk, size_bytes, EXT_FIRST, SECTOR)?;
    Ok(bytes.filter(|b| b[56..58] == [0, 0]).and_then(|b| ext_but_magic(&b)))
}

fn wiped_xfs(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<[u8; 16]>> {
    let bytes = read(disk, size_bytes, 0, SECTOR)?;
    Ok(bytes.filter(|b| b[..4] == [0; 4]).and_then(|b| xfs_but_magic(&b)))
}

/// The groups that hold copies: 1 and the powers of 3, 5 and 7 (`sparse_super`); also 2 and 4, for file systems with copies in
/// all groups.
fn sparse_groups(below: u64) -> BTreeSet<u64> {
    let powers = |base: u64| std::iter::successors(Some(base), move |n| n.checked_mul(base));
    let all = [3, 5, 7].into_iter().flat_map(|base| powers(base).take_while(move |n| *n < below));
    all.chain([1, 2, 4]).filter(|n| *n < below).collect()
}

/// The offsets of ext groups. A group has 8 blocks for each byte of a block, or 8 clusters with bigalloc: a power of two from 8
/// MiB on. With blocks of 1 KiB it begins one block later.
fn ext_places(size_bytes: u64) -> Vec<u64> {
    let mut places = Vec::new();
    for bits in 23..=46 {
        let group = 1_u64 << bits;
        let groups = sparse_groups(size_bytes.div_ceil(group));
        // Group sizes between those of plain block sizes come from clusters; there only the first copies are searched.
        let common = bits % 2 == 1 && bits <= 35;
        for number in groups.into_iter().filter(|n| common || *n <= 9) {
            places.push(number * group);
            if bits == 23 {
                places.push(number * group + 1024);
            }
        }
    }
    places
}

/// The exact offsets of xfs groups: of a power of two, of the largest size, and rounded down to a stripe; the first and the last
/// group of each.
fn xfs_places(size_bytes: u64) -> BTreeSet<u64> {
    let mut sizes: BTreeSet<u64> = XFS_LARGEST.into_iter().chain((24..40).map(|bits| 1 << bits)).collect();
    for (groups, unit) in [8, 16, 32].into_iter().flat_map(|groups| STRIPE_UNITS.map(|unit| (groups, unit))) {
        let whole = (size_bytes / 4096).div_ceil(groups) * 4096 / unit * unit;
        // mkfs takes one unit less, so that not all groups begin on the same disk.
        sizes.extend([whole, whole.saturating_sub(unit)]);
    }
    let last = |size: u64| (size_bytes.saturating_sub(1) / size).max(1) * size;
    let both = |size: u64| [size, last(size)];
    sizes.into_iter().filter(|size| (MIB..size_bytes).contains(size)).flat_map(both).collect()
}

/// The ranges in which every sector is searched: the beginning of the second group for each number of groups that fills the disk,
/// with any rounding to blocks; and more around the middle and the quarters.
fn xfs_stretches(size_bytes: u64) -> Vec<Range<u64>> {
    let aligned = |at: u64| at / 4096 * 4096;
    let numbers = 2..=XFS_GROUPS;
    let begins =
        numbers.map(|groups| aligned(size_bytes / groups)).map(|at| at.saturating_sub(4096)..at + ROUNDED);
    let quarters =
        (1..=3).map(|n| aligned(size_bytes / 4 * n)).map(|at| at.saturating_sub(WINDOW)..at + WINDOW);
    begins.chain(quarters).filter(|stretch| stretch.start > 0 && stretch.end <= size_bytes).collect()
}

fn in_stretches(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Vec<SuperblockCopy>> {
    let mut found = Vec::new();
    for stretch in xfs_stretches(size_bytes) {
        let length = usize::try_from(stretch.end - stretch.start).unwrap_or(0);
        let Some(bytes) = read(disk, size_bytes, stretch.start, length)? else { continue };
        for (n, sector) in bytes.chunks_exact(SECTOR).enumerate() {
            found.extend(xfs(sector).map(|uuid| copy(stretch.start + (n * SECTOR) as u64, XFS, uuid)));
        }
    }
    Ok(found)
}

/// The exact copies of the file system with a complete first superblock, by its UUID; `None` when there is no such superblock.
///
/// # Errors
/// When the disk can't be read.
pub fn of_first(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<Vec<SuperblockCopy>>> {
    let xfs_first = read(disk, size_bytes, 0, SECTOR)?.filter(|bytes| xfs(bytes).is_some());
    let ext_first = read(disk, size_bytes, EXT_FIRST, SECTOR)?.filter(|bytes| ext(bytes).is_some());
    let (bytes, places): (_, Vec<u64>) = match (xfs_first, ext_first) {
        (Some(bytes), _) => {
            let group = u64::from(big(&bytes, 84)) * u64::from(big(&bytes, 4));
            let places = (1..u64::from(big(&bytes, 88))).filter_map(|n| n.checked_mul(group));
            (bytes, places.collect())
        }
        (None, Some(bytes)) => {
            let block = 1024_u64 << little(&bytes, 24).min(6);
            let group = u64::from(little(&bytes, 32)) * block;
            let groups = sparse_groups(size_bytes.div_ceil(group.max(1)));
            let first = u64::from(little(&bytes, 20)) * block;
            (bytes, groups.into_iter().map(|n| n * group + first).collect())
        }
        (None, None) => return Ok(None),
    };
    let (kind, own) = xfs(&bytes).map_or((EXT, ext(&bytes)), |uuid| (XFS, Some(uuid)));
    let mut found = Vec::new();
    for offset in places {
        let Some(bytes) = read(disk, size_bytes, offset, SECTOR)? else { continue };
        let uuid = if kind == EXT { ext(&bytes) } else { xfs(&bytes) };
        found.extend(uuid.filter(|uuid| Some(*uuid) == own).map(|uuid| copy(offset, kind, uuid)));
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::{MIB, ext_places, sparse_groups, xfs_places, xfs_stretches};

    #[test]
    fn groups_with_copies_are_those_of_sparse_super() {
        let groups: Vec<u64> = sparse_groups(50).into_iter().collect();
        assert_eq!(groups, [1, 2, 3, 4, 5, 7, 9, 25, 27, 49]);
        assert!(sparse_groups(1).is_empty());
    }

    #[test]
    fn copies_of_ext_are_sought_for_every_block_size() {
        let places = ext_places(1 << 40);
        for place in [8193 << 10, 40961 << 10, 16384 * 2048, 32768 * 4096, 49 * 32768 * 4096, 524_288 * 65536]
        {
            assert!(places.contains(&place), "{place}");
        }
        assert!(places.len() < 300, "{}", places.len());
        assert!(ext_places(8 * MIB).is_empty(), "one group only");
    }

    #[test]
    fn groups_of_xfs_are_sought_for_every_number_of_them() {
        let size = (1 << 40) + 123 * 4096;
        let stretches = xfs_stretches(size);
        for (groups, block) in (2..=64).flat_map(|groups| [(groups, 4096), (groups, 512), (groups, 65536)]) {
            let second = (size / block).div_ceil(groups) * block;
            assert!(stretches.iter().any(|s| s.contains(&second)), "{groups} groups, blocks of {block}");
        }
        assert!(xfs_places(size).contains(&(256 << 30)), "a round size");
        assert!(xfs_places(8 << 40).contains(&((1 << 40) - 4096)), "the largest group");
        assert!(stretches.len() + xfs_places(size).len() < 160);
        assert!(stretches.iter().all(|s| s.start > 0), "the first superblock is no copy");
    }
}
