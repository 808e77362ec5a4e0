//! The zfs layer: a pool and the properties of its dataset.

use crate::diagnostic::{nearest, printable};
use crate::fields::Fields;
use crate::frame::{Below, Frame, Given};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::{DEVICES, VDEVS, ZFS};
use record::quantity::Bytes;
use record::zfs::{Vdev, Zfs};
use std::collections::BTreeMap;

/// Properties that take one of a few words.
const WORDS: &[&str] =
    &["primarycache", "secondarycache", "sync", "logbias", "atime", "xattr", "dedup", "direct"];
/// OpenZFS's smallest limit of the ARC.
const LEAST_ARC: u64 = 64 << 20;

pub(crate) fn read(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    given: &Given,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Zfs> {
    let vdev = match fields.get("vdev") {
        Some(node) => vdev(value::choice(node, VDEVS, scope, problems)?),
        None => Vdev::Stripe,
    };
    let width = match fields.get("width") {
        Some(node) => Some(value::integer(node, 1..=1024, scope, problems)?),
        None => None,
    };
    if let Given::Devices(devices) = *given {
        joined(frame, fields, vdev, width, devices, scope, problems)?;
    }
    let mut beside = |name: &str, problems: &mut Problems<'_>| -> Option<Vec<String>> {
        let Some(node) = fields.get(name) else { return Some(Vec::new()) };
        let inner = Fields::open(node, &DEVICES, problems)?;
        let volumes = below.select_beside(inner.get("on")?, scope, problems)?;
        Some(volumes.into_iter().map(|volume| volume.name).collect())
    };
    let (log, cache) = (beside("log", problems)?, beside("cache", problems)?);
    let ashift = match fields.get("ashift") {
        Some(node) => u8::try_from(value::integer(node, 9..=16, scope, problems)?).ok(),
        None => None,
    };
    let arc_max_bytes = match fields.get("arc_max") {
        Some(node) => Some(arc_max(node, scope, problems)?),
        None => None,
    };
    let properties = properties(fields, scope, problems)?;
    let width = width.and_then(|width| u32::try_from(width).ok());
    Some(Zfs { vdev, width, log, cache, ashift, properties, arc_max_bytes })
}

fn vdev(word: &str) -> Vdev {
    match word {
        "mirror" => Vdev::Mirror,
        "raidz" | "raidz1" => Vdev::Raidz,
        "raidz2" => Vdev::Raidz2,
        "raidz3" => Vdev::Raidz3,
        _ => Vdev::Stripe,
    }
}

/// Checks whether this number of devices can form such vdevs.
fn joined(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    vdev: Vdev,
    width: Option<u64>,
    devices: usize,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let span = |name: &str| fields.get(name).map_or(frame.key_span, |node| node.span);
    let width = width.map_or(devices, |width| usize::try_from(width).unwrap_or(usize::MAX));
    if vdev == Vdev::Stripe && fields.get("width").is_some() {
        problems
            .add(span("width"), "`width` of a stripe: it is as wide as there are volumes")
            .help("leave it out, or say `vdev: mirror` or `vdev: raidz`");
        return None;
    }
    if width < vdev.min_devices() {
        problems
            .add(
                span("vdev"),
                format!(
                    "a {} needs {} volumes, but has {width}{}",
                    vdev.name(),
                    vdev.min_devices(),
                    scope.levels()
                ),
            )
            .help("select more volumes in `on`, e.g. `vol[0..4]`");
        return None;
    }
    if width == 0 || !devices.is_multiple_of(width) {
        problems
            .add(
                span("width"),
                format!("{devices} volumes can't be joined {width} by {width}{}", scope.levels()),
            )
            .expected("as many volumes as several of them take");
        return None;
    }
    Some(())
}

fn arc_max(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let bytes = value::size(node, scope, problems)?;
    if bytes < LEAST_ARC || !bytes.is_multiple_of(1 << 20) {
        problems
            .add(node.span, format!("a cache of {}", Bytes(bytes)))
            .expected("64m or more, in whole mebibytes: ZFS ignores less");
        return None;
    }
    Some(bytes)
}

fn properties(
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for name in WORDS {
        let Some(node) = fields.get(name) else { continue };
        let words = ZFS.keys.iter().find(|key| key.name == *name).and_then(|key| match key.shape {
            crate::vocabulary::Shape::Choice(words) => Some(words),
            _ => None,
        })?;
        all.insert((*name).to_owned(), value::choice(node, words, scope, problems)?.to_owned());
    }
    // Reads that write access times would be a different measurement.
    all.entry("atime".to_owned()).or_insert_with(|| "off".to_owned());
    if let Some(node) = fields.get("recordsize") {
        let bytes = value::size(node, scope, problems)?;
        if !bytes.is_power_of_two() || !(512..=16 << 20).contains(&bytes) {
            problems
                .add(node.span, format!("a recordsize of {}", Bytes(bytes)))
                .expected("a power of two from 512 to 16m");
            return None;
        }
        all.insert("recordsize".to_owned(), bytes.to_string());
    }
    if let Some(node) = fields.get("copies") {
        all.insert("copies".to_owned(), value::integer(node, 1..=3, scope, problems)?.to_string());
    }
    if let Some(node) = fields.get("compression") {
        all.insert("compression".to_owned(), compression(node, scope, problems)?);
    }
    if let Some(node) = fields.get("checksum") {
        const CHECKSUMS: &[&str] =
            &["on", "off", "fletcher2", "fletcher4", "sha256", "sha512", "skein", "edonr", "blake3"];
        all.insert("checksum".to_owned(), value::choice(node, CHECKSUMS, scope, problems)?.to_owned());
    }
    Some(all)
}

/// Reads a compression algorithm of any ZFS version. Whether this machine's ZFS has it shows when the pool is created.
fn compression(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    const EXPECTED: &str = "on, off, lz4, lzjb, zle, gzip, gzip-1 to gzip-9, zstd, zstd-1 to zstd-19, zstd-fast, \
                            zstd-fast-1 to -10, -20, -30 to -100, -500, -1000";
    const FAST: &[&str] = &[
        "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "20", "30", "40", "50", "60", "70", "80", "90",
        "100", "500", "1000",
    ];
    let text = value::text(node, EXPECTED, scope, problems)?;
    let text = match text.as_str() {
        "true" => "on".to_owned(),
        "false" | "none" => "off".to_owned(),
        _ => text,
    };
    let plain = ["on", "off", "lz4", "lzjb", "zle", "gzip", "zstd", "zstd-fast"];
    let level = |prefix: &str, most: u32| {
        text.strip_prefix(prefix)
            .and_then(|level| level.parse().ok())
            .is_some_and(|level: u32| (1..=most).contains(&level) && text == format!("{prefix}{level}"))
    };
    let fast = text.strip_prefix("zstd-fast-").is_some_and(|level| FAST.contains(&level));
    if plain.contains(&text.as_str()) || level("gzip-", 9) || level("zstd-", 19) || fast {
        return Some(text);
    }
    problems
        .add(
            node.span,
            format!("`{}` is not a method of compression of ZFS{}", printable(&text, 40), scope.levels()),
        )
        .expected(EXPECTED)
        .did_you_mean = nearest(&text, plain.into_iter().chain(["gzip-6", "zstd-3"]));
    None
}
