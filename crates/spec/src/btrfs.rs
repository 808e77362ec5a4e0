//! The btrfs layer: profiles and compression.

use crate::diagnostic::{nearest, printable};
use crate::fields::Fields;
use crate::frame::Given;
use crate::fs_options::{mkfs_options, mount_options};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::PROFILES;
use record::allowed::{Mkfs, Mounted};
use record::stack::{Btrfs, BtrfsProfile, Compress};

pub(crate) fn read(
    fields: &Fields<'_>,
    given: &Given,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Btrfs> {
    let devices = match given {
        Given::Devices(count) => *count,
        Given::Directory { .. } => 0,
        Given::Unknown => usize::MAX,
    };
    let data = match fields.get("data") {
        Some(node) => profile(node, devices, scope, problems)?,
        None => BtrfsProfile::Single,
    };
    let metadata = match fields.get("metadata") {
        Some(node) => Some(profile(node, devices, scope, problems)?),
        None => None,
    };
    let plain = compression(fields.get("compress"), false, scope, problems)?;
    let force = compression(fields.get("compress_force"), true, scope, problems)?;
    if let (Some(_), Some(_), Some(key)) = (&plain, &force, fields.key("compress_force")) {
        problems
            .add(key.span, "`compress` and `compress_force` are both given")
            .help("keep one: compress_force also compresses what looks incompressible");
        return None;
    }
    Some(Btrfs {
        data,
        metadata,
        compress: plain.or(force),
        mkfs_options: mkfs_options(fields.get("mkfs_options"), Mkfs::Btrfs, scope, problems)?,
        mount_options: mount_options(fields.get("mount_options"), Mounted::Btrfs, scope, problems)?,
    })
}

/// Returns the smallest size that each device needs: what mkfs.btrfs (6.2, nodes of 16 KiB) requires for the profiles of metadata
/// and data, plus some room for data.
pub(crate) fn least_bytes(btrfs: &Btrfs, given: &Given) -> u64 {
    const MIB: u64 = 1 << 20;
    let several = matches!(given, Given::Devices(count) if *count > 1);
    let metadata = btrfs.metadata.unwrap_or(if several { BtrfsProfile::Raid1 } else { BtrfsProfile::Dup });
    let more = |profile: BtrfsProfile, dup: u64, raid: u64| match profile {
        BtrfsProfile::Single => 0,
        BtrfsProfile::Dup => dup * MIB,
        BtrfsProfile::Raid0 | BtrfsProfile::Raid1 | BtrfsProfile::Raid10 => raid * MIB,
    };
    (45 * MIB + more(metadata, 64, 24) + more(btrfs.data, 120, 56)).max(114 * MIB)
}

fn profile(
    node: &Node,
    devices: usize,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<BtrfsProfile> {
    let Some(word) = value::choice(node, PROFILES, scope, problems) else {
        let diagnostic = problems.amend(node.span);
        if diagnostic.message.contains("raid5") || diagnostic.message.contains("raid6") {
            diagnostic.did_you_mean = None;
            diagnostic.help("btrfs's own documentation warns of raid5 and raid6; they are not built in");
        }
        return None;
    };
    let profile = match word {
        "single" => BtrfsProfile::Single,
        "dup" => BtrfsProfile::Dup,
        "raid0" => BtrfsProfile::Raid0,
        "raid1" => BtrfsProfile::Raid1,
        _ => BtrfsProfile::Raid10,
    };
    let least = profile.min_devices();
    if devices < least {
        problems
            .add(
                node.span,
                format!("{} needs {least} devices, but has {devices}{}", profile.name(), scope.levels()),
            )
            .help("select more volumes in `on`, e.g. `vol[0..4]`");
        return None;
    }
    Some(profile)
}

/// Reads a compression: `zlib:3`, `lzo`, `zstd`, `none`.
fn compression(
    node: Option<&Node>,
    force: bool,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Option<Compress>> {
    const EXPECTED: &str = "zlib or zlib:1 to zlib:9, lzo, zstd or zstd:1 to zstd:15, or none";
    let Some(node) = node else { return Some(None) };
    let text = value::text(node, EXPECTED, scope, problems)?;
    let (algorithm, level) = match text.split_once(':') {
        Some((algorithm, level)) => (algorithm, Some(level)),
        None => (text.as_str(), None),
    };
    let highest = match algorithm {
        "none" | "no" | "off" if level.is_none() => return Some(None),
        "zlib" => 9,
        "zstd" => 15,
        "lzo" => 0,
        other => {
            let shown = printable(&text, 40);
            problems
                .add(node.span, format!("`{shown}` is not a method of compression of btrfs"))
                .expected(EXPECTED)
                .did_you_mean = nearest(other, ["zlib", "lzo", "zstd", "none"]);
            return None;
        }
    };
    let level = match level.map(|level| (level, level.parse::<u8>())) {
        None => None,
        Some((_, Ok(number))) if (1..=highest).contains(&number) => Some(number),
        Some((typed, _)) => {
            let range = if highest == 0 {
                "lzo has no levels".to_owned()
            } else {
                format!("{algorithm} has levels 1 to {highest}")
            };
            let shown = printable(typed, 20);
            problems
                .add(node.span, format!("level `{shown}` of {algorithm} does not exist: {range}"))
                .expected(EXPECTED);
            return None;
        }
    };
    Some(Some(Compress { algorithm: algorithm.to_owned(), level, force }))
}
