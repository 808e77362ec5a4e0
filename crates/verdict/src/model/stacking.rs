//! The geometry of a stack.

use super::geometry::{Geometry, Reads};
use super::load::Load;
use record::lvm::{Lvm, LvmLayout};
use record::md::Md;
use record::stack::{Btrfs, BtrfsProfile, Layer, Stack};
use record::volume::{Volume, VolumeKind};

/// The bytes of a btrfs stripe on one member (`BTRFS_STRIPE_LEN`, fs/btrfs/volumes.h); raid0 and raid10 split at it, also over one member.
const BTRFS_STRIPE: u64 = 64 << 10;
/// The block size of file systems. Smaller or unaligned direct I/O becomes buffered, or reads the surrounding block.
const FS_BLOCK: u64 = 4096;
/// The largest request that dm-crypt never splits: newer kernels split larger ones (`DM_CRYPT_DEFAULT_MAX_READ_SIZE`,
/// drivers/md/dm-crypt.c).
const CRYPT_WHOLE: u64 = 128 << 10;

/// A stack's geometry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stacking {
    pub(crate) geometry: Geometry,
    /// Why data may lie on fewer members than the geometry has; then the geometry is the widest possible one.
    pub(crate) doubt: Option<&'static str>,
}

impl Stacking {
    /// `None` if there is no model: layers with an unknown combination, volumes beside the main ones, the user's own programs, compression,
    /// blocks that the file system can't pass on unchanged.
    pub(crate) fn of(stack: &Stack, load: &Load) -> Option<Self> {
        if !stack.beside.is_empty() {
            return None;
        }
        let volumes = u32::try_from(stack.volumes.len()).ok()?;
        let in_blocks = load.step.is_multiple_of(FS_BLOCK) && load.base.is_multiple_of(FS_BLOCK);
        if stack.layers.iter().any(is_crypt) && load.largest_bytes() > CRYPT_WHOLE {
            return None;
        }
        // encryption changes what the bytes are, neither where they lie nor how many I/Os carry them
        let layers: Vec<&Layer> = stack.transforming().filter(|layer| !is_crypt(layer)).collect();
        match (layers.as_slice(), volumes) {
            ([], 1) => Some(Self { geometry: Geometry::PLAIN, doubt: None }),
            ([Layer::Filesystem(_)], 1) if in_blocks => Some(Self { geometry: Geometry::PLAIN, doubt: None }),
            ([Layer::Btrfs(b)], 1..) if in_blocks && !compresses(b) => of_btrfs(b.data, &stack.volumes, load),
            ([below @ .., Layer::Filesystem(_)], _) if in_blocks => of_devices(below, &stack.volumes),
            (below, _) => of_devices(below, &stack.volumes),
        }
    }

    /// Why a figure is only an upper bound.
    pub(crate) fn doubt(&self) -> &'static str {
        self.doubt.unwrap_or(match self.geometry.reads {
            Reads::ByThread => "btrfs picks the copy to read by the thread, and the number of reading threads isn't known (io_uring has its own)",
            Reads::Spread => "the I/Os in flight of a sequential stream are on fewer volumes than there are",
        })
    }
}

/// The geometry of arrays and logical volumes. Of two on top of each other it is that of the lower one, if the upper one adds none.
/// A thin pool has none: its chunks lie in the order in which they were first written.
fn of_devices(layers: &[&Layer], volumes: &[Volume]) -> Option<Stacking> {
    let members = u32::try_from(volumes.len()).ok()?;
    let mut stacking = match layers {
        [Layer::Lvm(lvm)] if is_fixed(lvm) => of_lvm(lvm.layout, members)?,
        [Layer::Md(md)] => of_md(md, members),
        [Layer::Md(md), Layer::Lvm(lvm)] if is_fixed(lvm) && lvm.layout.devices() == 1 => of_md(md, members),
        _ => return None,
    };
    // a cgroup limits an emulated volume
    stacking.geometry.joined = !volumes.iter().any(|v| matches!(v.kind, VolumeKind::Emulate { .. }));
    Some(stacking)
}

/// Whether each byte of the volume has its place from the beginning, and nowhere else.
fn is_fixed(lvm: &Lvm) -> bool {
    lvm.cache.is_none() && lvm.thin.is_none()
}

fn of_lvm(layout: LvmLayout, members: u32) -> Option<Stacking> {
    let chunk_bytes = layout.stripe_bytes().filter(|_| layout.devices() > 1);
    let geometry =
        Geometry { members, chunk_bytes, copies: layout.copies(), reads: Reads::Spread, joined: false };
    // linear over several volumes, or groups of stripes one after the other
    let doubt = (layout.devices() < members).then_some("it isn't known which volumes the data is on");
    (layout.devices() <= members).then_some(Stacking { geometry, doubt })
}

fn of_md(md: &Md, members: u32) -> Stacking {
    let chunk_bytes = md.chunk_bytes.filter(|_| members > 1);
    let geometry =
        Geometry { members, chunk_bytes, copies: md.copies(members), reads: Reads::Spread, joined: false };
    Stacking { geometry, doubt: None }
}

fn is_crypt(layer: &Layer) -> bool {
    matches!(layer, Layer::Luks(_))
}

fn compresses(btrfs: &Btrfs) -> bool {
    btrfs.compress.is_some() || btrfs.mount_options.iter().any(|o| o.starts_with("compress"))
}

fn of_btrfs(data: BtrfsProfile, volumes: &[Volume], load: &Load) -> Option<Stacking> {
    let members = u32::try_from(volumes.len()).ok()?;
    let laid = |chunk_bytes, copies, everywhere: bool| {
        let reads = if copies > 1 && members > 1 { Reads::ByThread } else { Reads::Spread };
        let geometry = Geometry { members, chunk_bytes, copies, reads, joined: false };
        let doubt = if !everywhere {
            Some("it isn't known which volumes the data is on")
        } else if load.read_share < 1.0 && geometry.columns() > 1 {
            Some("btrfs writes to new places, which it chooses itself")
        } else {
            None
        };
        Stacking { geometry, doubt }
    };
    let striped = Some(BTRFS_STRIPE);
    Some(match data {
        BtrfsProfile::Raid0 => laid(striped, 1, alike(volumes)),
        BtrfsProfile::Raid10 if members.is_multiple_of(2) => laid(striped, 2, alike(volumes)),
        // Two copies of each block group, on any two members.
        BtrfsProfile::Raid1 => laid(None, 2, members == 2),
        // Each block group lies on one member.
        BtrfsProfile::Single => laid(None, 1, members == 1),
        BtrfsProfile::Dup if members == 1 => laid(None, 2, true),
        BtrfsProfile::Raid10 | BtrfsProfile::Dup => return None,
    })
}

/// Whether all volumes have the same size, so that every block group is striped over all of them.
fn alike(volumes: &[Volume]) -> bool {
    let size = |v: &Volume| match v.kind {
        VolumeKind::Emulate { size_bytes, .. } | VolumeKind::Guest { size_bytes, .. } => Some(size_bytes),
        VolumeKind::Created { size_bytes, .. } => size_bytes,
        VolumeKind::Disk { .. } | VolumeKind::Directory { .. } => None,
    };
    let Some(first) = volumes.first() else { return false };
    volumes.len() == 1 || size(first).is_some_and(|s| volumes.iter().all(|v| size(v) == Some(s)))
}
