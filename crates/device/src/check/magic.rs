//! diskproof's own search for signatures of file systems, volume managers and partition tables.
//!
//! libblkid knows more and verifies better. This search exists because libblkid may be old or missing, or skip contradictory
//! signatures, and because some signatures have copies at the end of the disk that it doesn't always read. In doubt it objects.
//! But the noise that our own loads leave on a raw disk must not look like a signature, so a magic of two bytes needs more fields
//! than these.

use super::copies;
use super::mark::{Mark, read};
use std::io;
use std::os::unix::fs::FileExt;

/// The place of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end.
    End(u64),
}

use At::{End, Start};

/// Name, place and bytes of a signature.
type Magic = (&'static str, At, &'static [u8]);

const MAGICS: &[Magic] = &[
    ("xfs", Start(0), b"XFSB"),
    ("btrfs", Start(0x1_0040), b"_BHRfS_M"),
    ("btrfs (second copy)", Start(0x400_0040), b"_BHRfS_M"),
    ("btrfs (third copy)", Start(0x40_0000_0040), b"_BHRfS_M"),
    ("bcache or bcachefs", Start(4096 + 24), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    ("bcachefs", Start(4096 + 24), b"\xc6\x85\x73\xf6\x66\xce\x90\xa9"),
    ("f2fs", Start(1024), &[0x10, 0x20, 0xF5, 0xF2]),
    ("f2fs (second copy)", Start(4096 + 1024), &[0x10, 0x20, 0xF5, 0xF2]),
    ("f2fs (second copy)", Start(16384 + 1024), &[0x10, 0x20, 0xF5, 0xF2]),
    ("erofs", Start(1024), &[0xE2, 0xE1, 0xF5, 0xE0]),
    ("squashfs", Start(0), b"hsqs"),
    ("jfs", Start(32768), b"JFS1"),
    ("jfs (second copy)", Start(0xF000), b"JFS1"),
    ("reiserfs", Start(65536 + 52), b"ReIsEr"),
    // The two bytes of magic, with revision 2 and the header's size.
    ("nilfs2", Start(1024), &[2, 0, 0, 0, 0, 0, 0x34, 0x34]),
    ("gfs2", Start(65536), &[0x01, 0x16, 0x19, 0x70]),
    ("ocfs2", Start(8192), b"OCFSV2"),
    ("ocfs2 (second copy)", Start(1 << 30), b"OCFSV2"),
    ("ocfs2 (third copy)", Start(4 << 30), b"OCFSV2"),
    ("iso9660", Start(32769), b"CD001"),
    ("udf", Start(32769), b"BEA01"),
    ("ntfs", Start(3), b"NTFS    "),
    ("ntfs (second copy)", End(512 - 3), b"NTFS    "),
    ("exfat", Start(3), b"EXFAT   "),
    ("exfat (second copy)", Start(12 * 512 + 3), b"EXFAT   "),
    ("fat", Start(54), b"FAT1"),
    ("fat32", Start(82), b"FAT32"),
    ("fat32 (second copy)", Start(6 * 512 + 82), b"FAT32"),
    ("BitLocker", Start(3), b"-FVE-FS-"),
    ("apfs", Start(32), b"NXSB"),
    ("hfs+", Start(1024), b"H+\0\x04"),
    ("hfsx", Start(1024), b"HX\0\x05"),
    ("hfs+ (second copy)", End(1024), b"H+\0\x04"),
    ("hfsx (second copy)", End(1024), b"HX\0\x05"),
    ("vmfs", Start(0x20_0000), &[0x5E, 0xF1, 0xAB, 0x2F]),
    ("vmfs volume", Start(0x10_0000), &[0x0D, 0xD0, 0x01, 0xC0]),
    ("LUKS", Start(0), b"LUKS\xba\xbe"),
    ("LUKS2 (second header)", Start(0x4000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x8000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x1_0000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x2_0000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x4_0000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x8_0000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x10_0000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x20_0000), b"SKUL\xba\xbe"),
    ("LUKS2 (second header)", Start(0x40_0000), b"SKUL\xba\xbe"),
    // The type inside the label, in one of the first four sectors: wipefs removes it, and LVM recognises no volume without it.
    ("LVM physical volume", Start(24), b"LVM2 001"),
    ("LVM physical volume", Start(512 + 24), b"LVM2 001"),
    ("LVM physical volume", Start(1024 + 24), b"LVM2 001"),
    ("LVM physical volume", Start(1536 + 24), b"LVM2 001"),
    ("md member (1.1)", Start(0), &[0xFC, 0x4E, 0x2B, 0xA9]),
    ("md member (1.2)", Start(4096), &[0xFC, 0x4E, 0x2B, 0xA9]),
    ("stratis", Start(512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("stratis (second copy)", Start(9 * 512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("dm-integrity", Start(0), b"integrt\0"),
    ("dm-verity", Start(0), b"verity\0\0"),
    ("VDO", Start(0), b"dmvdo001"),
    ("Ceph BlueStore", Start(0), b"bluestore block device"),
    ("Oracle ASM", Start(32), b"ORCLDISK"),
    ("DDF RAID", End(512), &[0xDE, 0x11, 0xDE, 0x11]),
    ("Intel RAID", End(1024), b"Intel Raid ISM Cfg Sig. "),
    ("GPT", Start(512), b"EFI PART"),
    ("GPT (4 KiB sectors)", Start(4096), b"EFI PART"),
    ("GPT (second copy)", End(512), b"EFI PART"),
    ("GPT (second copy, 4 KiB sectors)", End(4096), b"EFI PART"),
];

/// The magic on little-endian machines, which made all arrays of the last decade; the other byte order is searched too.
const MD_MAGIC: u32 = 0xA92B_4EFC;
const ZFS_UBERBLOCK: u64 = 0x00BA_B10C;
const ZFS_LABEL_BYTES: u64 = 256 << 10;
/// Uberblocks fill the second half of a label, in slots of at least 1 KiB.
const ZFS_RING: std::ops::Range<usize> = (128 << 10)..(256 << 10);
const SWAP_PAGES: [u64; 5] = [4096, 8192, 16384, 32768, 65536];
const SWAP_MAGICS: [&[u8; 10]; 2] = [b"SWAPSPACE2", b"SWAP-SPACE"];

/// All signatures that are found. Copies of ext and xfs superblocks, which are all over the disk, are searched only if nothing
/// else is found.
///
/// # Errors
/// When the disk can't be read where it should be readable.
pub(crate) fn look(disk: &dyn FileExt, size_bytes: u64, copies: bool) -> io::Result<Vec<Mark>> {
    let mut found = Vec::new();
    for (name, at, bytes) in MAGICS {
        let offset = match at {
            Start(offset) => Some(*offset),
            End(before) => size_bytes.checked_sub(*before),
        };
        if let Some(offset) = offset
            && read(disk, size_bytes, offset, bytes.len())?.as_deref() == Some(*bytes)
        {
            found.push(Mark::new(name, offset));
        }
    }
    found.extend(ext(disk, size_bytes)?);
    found.extend(boot_sector(disk, size_bytes)?);
    found.extend(swap(disk, size_bytes)?);
    found.extend(old_md(disk, size_bytes)?);
    found.extend(zfs(disk, size_bytes)?);
    if copies && found.is_empty() {
        found.extend(copies::marks(disk, size_bytes)?);
    }
    Ok(found)
}

fn ext(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<Mark>> {
    let bytes = read(disk, size_bytes, 1024, 512)?;
    Ok(bytes.and_then(|bytes| copies::ext(&bytes)).map(|_| Mark::new("ext2/3/4", 1024)))
}

/// A boot sector: its last two bytes, with four plausible partition entries or a jump at the start.
fn boot_sector(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<Mark>> {
    let Some(sector) = read(disk, size_bytes, 0, 512)? else { return Ok(None) };
    let table = [446, 462, 478, 494].iter().all(|at| matches!(sector[*at], 0x00 | 0x80));
    let jump = sector[0] == 0xE9 || (sector[0] == 0xEB && sector[2] == 0x90);
    let signed = sector[510..] == [0x55, 0xAA] && (table || jump);
    Ok(signed.then(|| Mark::new("MBR or boot sector", 0)))
}

fn swap(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<Mark>> {
    for page in SWAP_PAGES {
        let bytes = read(disk, size_bytes, page - 10, 10)?;
        if bytes.is_some_and(|b| SWAP_MAGICS.iter().any(|m| b == *m)) {
            return Ok(Some(Mark::new("swap", page - 10)));
        }
    }
    Ok(None)
}

/// md superblocks at the end: 0.90 in the last whole 64 KiB, 1.0 at least 8 KiB before the end (md(4)).
fn old_md(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<Mark>> {
    let v090 = (size_bytes & !0xFFFF).checked_sub(0x1_0000);
    let v10 = (size_bytes / 512).checked_sub(16).map(|sector| (sector & !7) * 512);
    for (name, offset) in [("md member (0.90)", v090), ("md member (1.0)", v10)] {
        let bytes = offset.map(|o| read(disk, size_bytes, o, 4)).transpose()?.flatten();
        let little = bytes.as_deref() == Some(&MD_MAGIC.to_le_bytes());
        if little || bytes.as_deref() == Some(&MD_MAGIC.to_be_bytes()) {
            return Ok(Some(Mark::new(name, offset.unwrap_or(0))));
        }
    }
    Ok(None)
}

/// ZFS writes four labels, two at each end, each with a ring of uberblocks (ZFS On-Disk Specification, 1.2.1).
fn zfs(disk: &dyn FileExt, size_bytes: u64) -> io::Result<Option<Mark>> {
    let whole = size_bytes & !(ZFS_LABEL_BYTES - 1);
    let labels = [
        Some(0),
        Some(ZFS_LABEL_BYTES),
        whole.checked_sub(2 * ZFS_LABEL_BYTES),
        whole.checked_sub(ZFS_LABEL_BYTES),
    ];
    let label_bytes = ZFS_RING.end;
    for label in labels.into_iter().flatten() {
        let Some(bytes) = read(disk, size_bytes, label, label_bytes)? else { continue };
        let mut slots = bytes[ZFS_RING].chunks_exact(1024).map(|slot| &slot[..8]);
        if slots.any(|s| s == ZFS_UBERBLOCK.to_le_bytes() || s == ZFS_UBERBLOCK.to_be_bytes()) {
            return Ok(Some(Mark::new("zfs", label)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
