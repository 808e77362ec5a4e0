//! The checks that need only sysfs: partitions, read-only flag, size, identity.

use crate::block::Block;
use crate::identity::{Identity, Strength};
use crate::refusal::{Check, Dissent};
use record::printable::Shown as _;
use record::roots::Roots;

const WHOLE: &str = "claim a whole disk; diskproof doesn't share one";

/// The partitions that the kernel knows.
pub(crate) fn partitions(disk: &Block) -> Vec<Dissent> {
    if disk.is_partition() {
        let whole = disk.whole().map_or_else(|_| "a disk".to_owned(), |w| w.name);
        let saw = format!("{} is a partition of {whole}", disk.label());
        return vec![Dissent::new(Check::Partitions, saw, WHOLE)];
    }
    match disk.partitions() {
        Ok(found) if found.is_empty() => Vec::new(),
        Ok(found) => {
            let names: Vec<_> = found.iter().map(Block::label).collect();
            let saw = format!("{} has partitions: {}", disk.name, names.join(", "));
            vec![Dissent::new(Check::Partitions, saw, wipe(disk))]
        }
        Err(error) => {
            let why = format!("{}: {error}", disk.dir.shown());
            vec![Dissent::unheard(Check::Partitions, why, "check that /sys is mounted")]
        }
    }
}

/// The remedy for a disk with contents that nobody needs.
pub(crate) fn wipe(disk: &Block) -> String {
    if disk.is_partition() {
        return WHOLE.to_owned();
    }
    format!(
        "if nobody needs what is on it: save it, then wipefs -a on its partitions and on /dev/{}, by hand",
        disk.name.replace('!', "/")
    )
}

/// The remedy for signatures that libblkid, and so wipefs, doesn't recognise.
pub(crate) fn zero(disk: &Block) -> String {
    if disk.is_partition() {
        return WHOLE.to_owned();
    }
    let node = format!("/dev/{}", disk.name.replace('!', "/"));
    format!(
        "wipefs doesn't see it; while copies of a superblock are left, the file system can often be saved (e2fsck -b, xfs_repair); if nobody needs what is on it: save it, then blkdiscard --zeroout {node}, by hand, which writes all of it, or zero each place: dd \
         if=/dev/zero of={node} bs=1024 count=1 oflag=seek_bytes conv=notrunc,fsync seek=BYTE"
    )
}

/// The kernel's read-only flag.
pub(crate) fn read_only(disk: &Block) -> Vec<Dissent> {
    match disk.is_read_only() {
        Some(false) => Vec::new(),
        Some(true) => vec![Dissent::new(
            Check::ReadOnly,
            format!("{} is read-only", disk.label()),
            format!("find out why; then blockdev --setrw /dev/{}, or its write-protect switch", disk.name),
        )],
        None => vec![Dissent::unheard(
            Check::ReadOnly,
            format!("{} doesn't say", disk.dir.join("ro").shown()),
            "check that /sys is mounted",
        )],
    }
}

/// The size of the disk.
pub(crate) fn size(disk: &Block, min_bytes: u64) -> Vec<Dissent> {
    match disk.size_bytes() {
        Some(0) => {
            let saw = format!("{} has no size: no medium, or not attached", disk.label());
            vec![Dissent::new(Check::Size, saw, "insert a medium, or choose another disk")]
        }
        Some(size) if size >= min_bytes => Vec::new(),
        Some(size) => vec![Dissent::new(
            Check::Size,
            format!("{} has {size} bytes; the experiment needs {min_bytes}", disk.label()),
            "choose a larger disk, or a smaller size in the experiment",
        )],
        None => vec![Dissent::unheard(
            Check::Size,
            format!("{} doesn't say", disk.dir.join("size").shown()),
            "check that /sys is mounted",
        )],
    }
}

/// Whether the disk's identity is unique.
pub(crate) fn identity(roots: &Roots, disk: &Block, identity: &Identity) -> Vec<Dissent> {
    match identity.strength() {
        Strength::None => {
            let saw = format!("{} has no serial number, no WWN and no known slot", disk.label());
            return vec![Dissent::new(
                Check::Identity,
                saw,
                "claim the disks it is made of; for a loop volume use `emulate`",
            )];
        }
        Strength::Weak => return Vec::new(),
        Strength::Strong => {}
    }
    let all = match Block::all(roots) {
        Ok(all) => all,
        Err(error) => {
            let why = format!("{}: {error}", roots.sys("class/block").shown());
            return vec![Dissent::unheard(Check::Identity, why, "check that /sys is mounted")];
        }
    };
    let others = all.iter().filter(|b| b.devno != disk.devno && !b.is_partition());
    let twins: Vec<_> =
        others.filter(|b| identity.is_same_disk(&Identity::of(roots, b))).map(Block::label).collect();
    if twins.is_empty() {
        return Vec::new();
    }
    vec![Dissent::new(
        Check::Identity,
        format!("{} and {} have the same identity: {identity}", disk.label(), twins.join(", ")),
        "if these are two paths to one disk, claim it without multipath; if clones, give each a serial number of its own",
    )]
}
