//! Upper bounds of the room that layers leave of the devices below, as far as they are known beforehand.

use record::lvm::{Lvm, LvmLayout, Thin};
use record::md::{Md, MdLevel};
use record::stack::{Bcache, Btrfs, BtrfsProfile, Layer, Luks};
use record::zfs::Zfs;

const MIB: u64 = 1 << 20;
/// LVM's default extent size.
const EXTENT: u64 = 4 * MIB;

/// Returns the room that one layer leaves on devices of these sizes; `None` where only the machine knows.
pub(crate) fn over(layer: &Layer, sizes: &[u64]) -> Option<u64> {
    let sum = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
    match layer {
        Layer::Command(_) => None,
        Layer::Knobs(_) | Layer::Nfs(_) => Some(sum),
        Layer::Lvm(lvm) => Some(of_thin(lvm, of_lvm(lvm, sizes))),
        Layer::Md(md) => Some(of_md(md, sizes)),
        Layer::Luks(_) => Some(sum.saturating_sub(Luks::HEADER_BYTES)),
        Layer::Bcache(_) => Some(sum.saturating_sub(Bcache::DATA_OFFSET)),
        // Superblocks, trees and the log take at least a 50th; see docs/experiment-file.md.
        Layer::Filesystem(_) => Some(sum - sum / 50),
        Layer::Btrfs(btrfs) => Some(of_btrfs(btrfs, sum)),
        Layer::Zfs(zfs) => Some(of_zfs(zfs, sizes.len(), sum)),
    }
}

/// Compressible data takes less room, but nobody knows beforehand how much less.
fn of_btrfs(btrfs: &Btrfs, sum: u64) -> u64 {
    let raw = match btrfs.data {
        BtrfsProfile::Single | BtrfsProfile::Raid0 => sum,
        BtrfsProfile::Dup | BtrfsProfile::Raid1 | BtrfsProfile::Raid10 => sum / 2,
    };
    raw - raw / 20
}

/// Labels and a slop space of a 32nd stay empty. Compressible data takes less room, but nobody knows beforehand how much less.
fn of_zfs(zfs: &Zfs, devices: usize, sum: u64) -> u64 {
    let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX).max(1);
    let width = zfs.width.and_then(|width| usize::try_from(width).ok()).unwrap_or(devices);
    let data = sum / wide(width) * wide(width.saturating_sub(zfs.vdev.parity()));
    let raw = data / wide(zfs.copies(devices));
    raw - raw / 16
}

/// The room of the logical volume, or of the thin pool in its place. A label and the metadata of the volume group take the first
/// MiB of every device; mirrors need one more extent on each.
pub(crate) fn of_lvm(lvm: &Lvm, sizes: &[u64]) -> u64 {
    let extents = |size: &u64| size.saturating_sub(MIB) / EXTENT;
    let least = |group: &[u64]| group.iter().map(extents).min().unwrap_or(0);
    let whole = match lvm.layout {
        LvmLayout::Linear => sizes.iter().map(extents).sum(),
        LvmLayout::Striped { stripes, .. } => {
            let wide = usize::try_from(stripes.max(1)).unwrap_or(1);
            sizes.chunks(wide).map(|group| least(group) * u64::from(stripes)).sum()
        }
        LvmLayout::Raid1 { .. } => least(sizes).saturating_sub(1),
        LvmLayout::Raid10 { stripes, .. } => least(sizes).saturating_sub(1) * u64::from(stripes),
    };
    let all = EXTENT
        .saturating_mul(whole)
        .saturating_sub(lvm.thin.as_ref().map_or(0, |thin| 2 * thin_metadata(thin)));
    lvm.size_bytes.map_or(all, |asked| asked.min(all))
}

/// The room in the thin volume of a pool, which has this room.
fn of_thin(lvm: &Lvm, pool: u64) -> u64 {
    let asked = lvm.thin.as_ref().and_then(|thin| thin.virtual_bytes);
    asked.map_or(pool, |asked| asked.min(pool))
}

/// The room that a thin pool's metadata takes at least, in whole extents; its spare takes as much.
pub(crate) fn thin_metadata(thin: &Thin) -> u64 {
    thin.metadata_bytes.unwrap_or(1).div_ceil(EXTENT).saturating_mul(EXTENT)
}

/// Superblocks and the reserve for a later reshape take at least one MiB of every member.
pub(crate) fn of_md(md: &Md, sizes: &[u64]) -> u64 {
    let chunk = md.chunk_bytes.unwrap_or(1).max(1);
    let usable = |size: &u64| size.saturating_sub(MIB) / chunk * chunk;
    let least = sizes.iter().map(usable).min().unwrap_or(0);
    let members = u64::try_from(sizes.len()).unwrap_or(u64::MAX);
    match md.level {
        MdLevel::Raid0 => sizes.iter().map(usable).sum(),
        MdLevel::Raid1 => least,
        MdLevel::Raid10 => {
            let copies = md.layout.map_or(2, |layout| u64::from(layout.copies));
            least.saturating_mul(members) / copies.max(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MIB, of_lvm, of_md, of_thin};
    use record::lvm::{Discards, Lvm, LvmLayout, Resync, Thin};
    use record::md::{Md, MdLevel};

    #[test]
    fn extents_are_whole_and_alike() {
        let of = |layout, size_bytes, mib: &[u64]| {
            let sizes: Vec<u64> = mib.iter().map(|size| size * MIB).collect();
            of_lvm(&Lvm { layout, size_bytes, tag: None, cache: None, thin: None }, &sizes) / MIB
        };
        let striped = |stripes| LvmLayout::Striped { stripes, stripe_bytes: 16 << 10 };
        assert_eq!(of(LvmLayout::Linear, None, &[32, 20]), 28 + 16);
        assert_eq!(of(striped(2), None, &[32, 20]), 32, "as much of each as the least has");
        assert_eq!(of(striped(2), None, &[32, 32, 20, 20]), 56 + 32);
        assert_eq!(of(LvmLayout::Raid1 { copies: 2, resync: Resync::Skip }, None, &[32, 32]), 24);
        let raid10 = LvmLayout::Raid10 { stripes: 2, stripe_bytes: 4096, resync: Resync::Skip };
        assert_eq!(of(raid10, None, &[32; 4]), 48);
        assert_eq!(of(LvmLayout::Linear, Some(8 * MIB), &[32]), 8);
        assert_eq!(of(LvmLayout::Linear, None, &[0]), 0);
    }

    #[test]
    fn a_pools_metadata_takes_extents_and_the_thin_volume_is_no_larger_than_the_pool() {
        let of = |size_bytes, metadata_bytes, virtual_bytes, mib: &[u64]| {
            let sizes: Vec<u64> = mib.iter().map(|size| size * MIB).collect();
            let thin = Thin {
                chunk_bytes: None,
                zero: true,
                discards: Discards::Passdown,
                metadata_bytes,
                virtual_bytes,
            };
            let layout = LvmLayout::Linear;
            let lvm = Lvm { layout, size_bytes, tag: None, cache: None, thin: Some(thin) };
            let pool = of_lvm(&lvm, &sizes);
            [pool / MIB, of_thin(&lvm, pool) / MIB]
        };
        assert_eq!(
            of(None, None, None, &[32]),
            [20, 20],
            "LVM's least metadata and its spare: an extent each"
        );
        assert_eq!(of(None, Some(5 * MIB), None, &[32]), [12, 12], "whole extents");
        assert_eq!(of(Some(12 * MIB), None, Some(8 * MIB), &[32]), [12, 8]);
        assert_eq!(of(None, None, Some(64 * MIB), &[32, 32]), [48, 48]);
        assert_eq!(of(None, None, None, &[8]), [0, 0]);
    }

    #[test]
    fn members_give_whole_chunks() {
        let of = |level, members: usize| {
            let chunk_bytes = (level != MdLevel::Raid1).then_some(512 << 10);
            let md = Md { level, chunk_bytes, layout: None, bitmap: false, resync: None };
            of_md(&md, &vec![33 * MIB; members]) / MIB
        };
        assert_eq!([of(MdLevel::Raid0, 3), of(MdLevel::Raid1, 3), of(MdLevel::Raid10, 4)], [96, 32, 64]);
    }
}
