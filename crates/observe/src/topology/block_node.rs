//! One block device, from its directory in /sys.

use crate::mountinfo::Mounts;
use crate::text::{devno, first_line};
use crate::topology::mounted;
use record::printable::Shown as _;
use record::roots::Roots;
use record::topology::{BlockKind, BlockNode, Topology};
use std::fs;
use std::path::{Path, PathBuf};

const SECTOR_BYTES: u64 = 512;

/// Reads one device. `None` when the kernel doesn't know it; what can't be traced is added to `unknown`.
pub(crate) fn read(
    roots: &Roots,
    mounts: &Mounts,
    name: &str,
    depth: u32,
    found: &mut Topology,
) -> Option<BlockNode> {
    let directory = roots.block(name);
    let Some(devno) = first_line(&directory.join("dev")).and_then(|text| devno(&text)) else {
        found.unknown.push(format!("{name}: no such block device"));
        return None;
    };
    let kind = kind(roots, mounts, name, &directory, found);
    // A partition uses the queue of its disk.
    let queue = match &kind {
        BlockKind::Partition { of } => roots.block(of).join("queue"),
        _ => directory.join("queue"),
    };
    let rotational = first_line(&queue.join("rotational")).and_then(|text| match text.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    });
    let sectors: Option<u64> = first_line(&directory.join("size")).and_then(|text| text.parse().ok());
    Some(BlockNode {
        name: name.to_owned(),
        devno,
        depth,
        kind,
        rotational,
        scheduler: first_line(&queue.join("scheduler")).map(|text| chosen(&text).to_owned()),
        size_bytes: sectors.and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
    })
}

/// Returns the names of the devices below a device.
pub(crate) fn below(kind: &BlockKind) -> Vec<String> {
    match kind {
        BlockKind::Partition { of } => vec![of.clone()],
        BlockKind::Loop { members, .. } | BlockKind::Composite { members } => members.clone(),
        BlockKind::Disk | BlockKind::Memory => Vec::new(),
    }
}

fn kind(roots: &Roots, mounts: &Mounts, name: &str, directory: &Path, found: &mut Topology) -> BlockKind {
    if directory.join("partition").exists() {
        // A partition's directory is inside that of its disk.
        let real = fs::canonicalize(directory).unwrap_or_default();
        if let Some(of) = real.parent().and_then(Path::file_name).and_then(|of| of.to_str()) {
            return BlockKind::Partition { of: of.to_owned() };
        }
    }
    if numbered(name, "loop") {
        return loop_kind(roots, mounts, name, directory, found);
    }
    if is_memory(name, directory) {
        return BlockKind::Memory;
    }
    let members = entries(&directory.join("slaves"));
    if numbered(name, "zd") {
        found.unknown.push(format!("{name}: a ZFS volume; the disks of its pool can't be seen from here"));
    }
    let made_of_others =
        !members.is_empty() || name.starts_with("dm-") || name.starts_with("md") || numbered(name, "zd");
    if made_of_others { BlockKind::Composite { members } } else { BlockKind::Disk }
}

/// Whether the device is zram, brd, null_blk, or the SCSI debug driver, which looks like a disk.
fn is_memory(name: &str, directory: &Path) -> bool {
    ["zram", "ram", "nullb"].into_iter().any(|prefix| numbered(name, prefix))
        || first_line(&directory.join("device/model")).as_deref() == Some("scsi_debug")
}

fn loop_kind(
    roots: &Roots,
    mounts: &Mounts,
    name: &str,
    directory: &Path,
    found: &mut Topology,
) -> BlockKind {
    let direct_io = match first_line(&directory.join("loop/dio")).as_deref() {
        Some("0") => Some(false),
        Some("1") => Some(true),
        _ => None,
    };
    let backing_file = first_line(&directory.join("loop/backing_file")).map(PathBuf::from);
    let mut backing_fs = None;
    let mut members = Vec::new();
    match &backing_file {
        None => found.unknown.push(format!("{name}: its backing file can't be seen")),
        Some(file) if !file.exists() => {
            let file = file.shown();
            found
                .unknown
                .push(format!("{name}: the backing file `{file}` is deleted or not visible from here"));
        }
        Some(file) => {
            if let Some(mount) = mounts.holding(file) {
                let under = mounted::Under::path(roots, mounts, mount, file);
                backing_fs = Some(under.fs_type().to_owned());
                members = under.told(Some(name), found);
            } else {
                let file = file.shown();
                found.unknown.push(format!("{name}: no mount holds the backing file `{file}`"));
            }
        }
    }
    BlockKind::Loop { backing_file, direct_io, backing_fs, members, guest: false }
}

/// Returns the selected word: `[mq-deadline] none` -> `mq-deadline`; without brackets, the whole text.
fn chosen(text: &str) -> &str {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(inside, _)| inside)
}

pub(crate) fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn entries(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
