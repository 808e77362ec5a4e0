//! The lvm layer: the layout of a logical volume on its devices, and its cache. And bcache, whose cache is a volume of its own, too.

use crate::capacity;
use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::frame::{Below, Frame, Given};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::volume_manager::{
    ATTACHES, BCACHE_MODES, CACHE, CACHE_KINDS, CACHE_MODES, CACHE_POLICIES, DETACHES, DISCARDS, RAIDS,
    RESYNCS, THIN, WRITECACHE,
};
use record::lvm::{
    Attach, CacheForm, CacheKind, CacheMode, Detach, Discards, Lvm, LvmCache, LvmLayout, Resync, Thin,
};
use record::quantity::Bytes;
use record::stack::{Bcache, BcacheMode};
use record::volume::{Volume, VolumeKind};

const STRIPE_BYTES: u64 = 64 << 10;
const CACHE_CHUNK: u64 = 32 << 10;
/// The smallest volume that has room for a cache and its metadata.
const LEAST_CACHE: u64 = 32 << 20;
/// The largest chunk of a thin pool.
const MOST_THIN_CHUNK: u64 = 1 << 30;
/// Sizes of a thin pool's metadata.
const THIN_METADATA: std::ops::RangeInclusive<u64> = (2 << 20)..=(15 << 30);

pub(crate) fn read(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    given: &Given,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Lvm> {
    if below.made_by("lvm") {
        problems
            .add(frame.key_span, "`lvm` stands on a logical volume, which has a volume group of its own")
            .help("put the options of both into one `lvm` layer");
        return None;
    }
    let devices = match given {
        Given::Devices(count) => Some(*count),
        Given::Unknown | Given::Directory { .. } => None,
    };
    let layout = layout(frame, fields, devices, scope, problems)?;
    let size_bytes = match fields.get("size") {
        Some(node) => Some(value::size(node, scope, problems)?),
        None => None,
    };
    if let (Some(_), Some(key)) = (fields.get("cache"), fields.key("writecache"))
        && fields.get("writecache").is_some()
    {
        problems
            .add(key.span, "`cache` and `writecache` are both given")
            .help("a volume has one: a cache in mode `writeback` keeps writes, too");
        return None;
    }
    if let Some(node) = fields.get("thin") {
        thin_alone(node, fields, layout, scope, problems)?;
    }
    let tag = tag(fields.get("tag"), scope, problems)?;
    let cache = match (fields.get("cache"), fields.get("writecache")) {
        (Some(node), _) => Some(cache(node, below, scope, problems)?),
        (None, Some(node)) => Some(writecache(node, below, scope, problems)?),
        (None, None) => None,
    };
    let Some(node) = fields.get("thin") else {
        return Some(Lvm { layout, size_bytes, tag, cache, thin: None });
    };
    let lvm = Lvm { layout, size_bytes, tag, cache, thin: Some(thin(node, scope, problems)?) };
    fits(node, &lvm, below, scope, problems)?;
    note_limits(node, below.volumes, "a thin pool writes zeros and its metadata", problems);
    Some(lvm)
}

/// Refuses what lvcreate makes no thin pool with.
fn thin_alone(
    node: &Node,
    fields: &Fields<'_>,
    layout: LvmLayout,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    if let Some(other) = ["cache", "writecache"].into_iter().find(|name| fields.get(name).is_some()) {
        problems
            .add(node.span, format!("`thin` and `{other}` are both given"))
            .help("measure each in a stack of its own");
        return None;
    }
    if layout.copies() > 1 {
        problems
            .add(node.span, format!("`thin` on mirrors of LVM{}", scope.levels()))
            .help("put the mirrors below it: a layer `md: { level: raid1 }`, and on it `lvm` with `thin`");
        return None;
    }
    Some(())
}

fn thin(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Thin> {
    let fields = Fields::open(node, &THIN, problems)?;
    let mut bytes = |name: &str, what: &str, expected: &str, fits: &dyn Fn(u64) -> bool| {
        let Some(node) = fields.get(name) else { return Some(None) };
        let bytes = value::size(node, scope, problems)?;
        if fits(bytes) {
            return Some(Some(bytes));
        }
        problems.add(node.span, format!("{what} of {}{}", Bytes(bytes), scope.levels())).expected(expected);
        None
    };
    let is_chunk =
        |bytes: u64| bytes.is_multiple_of(Thin::LEAST_CHUNK) && (1..=MOST_THIN_CHUNK).contains(&bytes);
    let chunk_bytes = bytes("chunk_size", "a thin pool's chunk", "a multiple of 64k, at most 1g", &is_chunk)?;
    let is_metadata = |bytes: u64| THIN_METADATA.contains(&bytes);
    let metadata_bytes = bytes("metadata_size", "a thin pool's metadata", "2m to 15g", &is_metadata)?;
    let virtual_bytes =
        bytes("virtual_size", "a thin volume", "a size of 4m or more", &|size| size >= 4 << 20)?;
    let zero = match fields.get("zero") {
        Some(node) => value::switch(node, scope, problems)?,
        None => true,
    };
    let discards = match fields.get("discards") {
        Some(node) => Some(value::choice(node, DISCARDS, scope, problems)?),
        None => None,
    };
    let discards = Discards::ALL.into_iter().find(|one| Some(one.name()) == discards).unwrap_or_default();
    Some(Thin { chunk_bytes, zero, discards, metadata_bytes, virtual_bytes })
}

/// Refuses a thin volume that could fill its pool, and metadata that could get full, as far as the sizes are known: a full pool
/// fails the load's writes.
fn fits(
    node: &Node,
    lvm: &Lvm,
    below: &Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let (Some(thin), Some(sizes)) = (&lvm.thin, below.sizes()) else { return Some(()) };
    let pool = capacity::of_lvm(lvm, &sizes);
    if pool == 0 {
        return Some(());
    }
    if let Some(asked) = thin.virtual_bytes.filter(|asked| *asked > pool) {
        problems
            .add(
                node.span,
                format!("a thin volume of {} in a pool of at most {}{}", Bytes(asked), Bytes(pool), scope.levels()),
            )
            .help("the pool would get full, and writes fail then: lower `virtual_size`, or select larger volumes");
        return None;
    }
    let chunk = thin.chunk_bytes.unwrap_or(Thin::LEAST_CHUNK);
    let needed = Thin::metadata_needed(pool, chunk);
    if thin.metadata_bytes.is_some() && capacity::thin_metadata(thin) < needed {
        let what =
            format!("the pool's metadata is too small for {} in chunks of {}", Bytes(pool), Bytes(chunk));
        problems
            .add(node.span, format!("{what}{}", scope.levels()))
            .expected(format!("`metadata_size` of at least {}, or none: then LVM decides", Bytes(needed)));
        return None;
    }
    Some(())
}

/// Reads the layout. `devices` is the number of devices below; `None` if it is unknown, which was already reported.
fn layout(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    devices: Option<usize>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<LvmLayout> {
    let raid = match fields.get("raid") {
        Some(node) => Some(value::choice(node, RAIDS, scope, problems)?),
        None => None,
    };
    let stripes = match fields.get("stripes") {
        Some(node) => Some(value::integer(node, 1..=128, scope, problems)?),
        None => None,
    };
    let stripe_bytes = match fields.get("stripe_size") {
        Some(node) => Some(stripe_size(node, scope, problems)?),
        None => None,
    };
    let resync = resync(fields, scope, problems)?;
    if let (None, Some(_), Some(key)) = (raid, resync, fields.key("resync")) {
        problems
            .add(key.span, "`resync` without `raid`: there are no mirrors to be made equal")
            .help("remove it, or write `raid: raid1`");
        return None;
    }
    let resync = resync.unwrap_or(Resync::Skip);
    let chunked = stripes.is_some() || raid == Some("raid10");
    if let (Some(_), false, Some(key)) = (stripe_bytes, chunked, fields.key("stripe_size")) {
        problems.add(key.span, "`stripe_size` without stripes").help("write `stripes`, or remove it");
        return None;
    }
    let stripe_bytes = stripe_bytes.unwrap_or(STRIPE_BYTES);
    let span = frame.on().map_or(frame.key_span, |node| node.span);
    let mut refuse = |what: String, help: &str| {
        problems.add(span, format!("{what}{}", scope.levels())).help(help);
        None
    };
    let count = devices.map(|count| u64::try_from(count).unwrap_or(u64::MAX));
    match (raid, stripes) {
        (Some("raid1"), Some(_)) => {
            refuse("raid1 has no stripes".to_owned(), "write `raid: raid10` for mirrors that are striped")
        }
        (Some("raid1"), None) => match count {
            Some(count @ ..2) => {
                refuse(format!("raid1 needs 2 devices, but has {count}"), "select more volumes in `on`")
            }
            _ => Some(LvmLayout::Raid1 { copies: whole(count.unwrap_or(2)), resync }),
        },
        (Some(_), stripes) => {
            let pairs = count.unwrap_or(stripes.unwrap_or(2) * 2) / 2;
            if count.is_some_and(|count| count < 4 || count % 2 == 1) {
                let what = format!(
                    "raid10 needs an even number of 4 devices or more, but has {}",
                    count.unwrap_or(0)
                );
                return refuse(what, "select volumes in `on` accordingly, e.g. `vol[0..4]`");
            }
            if stripes.is_some_and(|stripes| stripes != pairs) {
                let what = format!("raid10 over {} devices has {pairs} stripes of pairs", count.unwrap_or(0));
                return refuse(what, "remove `stripes`");
            }
            Some(LvmLayout::Raid10 { stripes: whole(pairs), stripe_bytes, resync })
        }
        (None, Some(stripes)) => match count {
            Some(count) if count < stripes => refuse(
                format!("{stripes} stripes need {stripes} devices, but there {}", number(count)),
                "select more volumes in `on`, e.g. `vol[..n]` with `stripes: n`",
            ),
            Some(count) if count % stripes != 0 => refuse(
                format!("{stripes} stripes leave some of {count} devices unused"),
                "select a multiple of `stripes`",
            ),
            _ => Some(LvmLayout::Striped { stripes: whole(stripes), stripe_bytes }),
        },
        (None, None) => Some(LvmLayout::Linear),
    }
}

fn number(count: u64) -> String {
    if count == 1 { "is 1".to_owned() } else { format!("are {count}") }
}

fn whole(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

pub(crate) fn resync(
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Option<Resync>> {
    let Some(node) = fields.get("resync") else { return Some(None) };
    let word = value::choice(node, RESYNCS, scope, problems)?;
    Some(Some(if word == "wait" { Resync::Wait } else { Resync::Skip }))
}

fn stripe_size(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let bytes = value::size(node, scope, problems)?;
    if bytes.is_power_of_two() && ((4 << 10)..=(4 << 20)).contains(&bytes) {
        return Some(bytes);
    }
    problems
        .add(node.span, format!("a stripe size of {}{}", Bytes(bytes), scope.levels()))
        .expected("a power of two from 4k to 4m");
    None
}

/// Reads a tag: characters that LVM accepts, and no leading dash, since LVM would take that for an option.
fn tag(node: Option<&Node>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Option<String>> {
    const EXPECTED: &str = "a tag: letters, digits, `_`, `.`, `+`, `-`";
    let Some(node) = node else { return Some(None) };
    let text = value::text(node, EXPECTED, scope, problems)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    if !text.is_empty() && text.len() <= 64 && !text.starts_with('-') && text.chars().all(plain) {
        return Some(Some(text));
    }
    problems.add(node.span, format!("`{}` is not a tag", printable(&text, 40))).expected(EXPECTED);
    None
}

fn cache(
    node: &Node,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<LvmCache> {
    let fields = Fields::open(node, &CACHE, problems)?;
    let choose = |name: &str, words: &[&'static str], problems: &mut Problems<'_>| match fields.get(name) {
        Some(node) => value::choice(node, words, scope, problems).map(Some),
        None => Some(None),
    };
    let kind = match choose("kind", CACHE_KINDS, problems)? {
        Some("cachepool") => CacheKind::Cachepool,
        _ => CacheKind::Cachevol,
    };
    let mode = match choose("mode", CACHE_MODES, problems)? {
        Some("writeback") => CacheMode::Writeback,
        _ => CacheMode::Writethrough,
    };
    let policy = choose("policy", CACHE_POLICIES, problems)?.map(str::to_owned);
    let chunk_bytes = match fields.get("chunk_size") {
        Some(node) => {
            let bytes = value::size(node, scope, problems)?;
            if bytes % CACHE_CHUNK != 0 || bytes > 1 << 30 {
                problems
                    .add(node.span, format!("a cache's chunk of {}{}", Bytes(bytes), scope.levels()))
                    .expected("a multiple of 32k, at most 1g");
                return None;
            }
            Some(bytes)
        }
        None => None,
    };
    made(&fields, CacheForm::Cache { kind, mode, chunk_bytes, policy }, below, scope, problems)
}

fn writecache(
    node: &Node,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<LvmCache> {
    let fields = Fields::open(node, &WRITECACHE, problems)?;
    made(&fields, CacheForm::Writecache, below, scope, problems)
}

/// Reads the keys that both kinds of caches have.
fn made(
    fields: &Fields<'_>,
    form: CacheForm,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<LvmCache> {
    let mut choose = |name: &str, words: &[&'static str]| match fields.get(name) {
        Some(node) => value::choice(node, words, scope, problems).map(Some),
        None => Some(None),
    };
    let (attach, detach) = (choose("attach", ATTACHES)?, choose("detach", DETACHES)?);
    let attach = [Attach::Built, Attach::LaidOut].into_iter().find(|one| Some(one.name()) == attach);
    let detach = [Detach::Undo, Detach::Flush].into_iter().find(|one| Some(one.name()) == detach);
    let tag = tag(fields.get("tag"), scope, problems)?;
    let volumes = beside(fields.get("on")?, LEAST_CACHE, below, scope, problems)?;
    let (attach, detach) = (attach.unwrap_or_default(), detach.unwrap_or_default());
    Some(LvmCache { volumes, tag, form, attach, detach })
}

/// Reads bcache.
pub(crate) fn bcache(
    fields: &Fields<'_>,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Bcache> {
    let mode = match fields.get("mode") {
        Some(node) => {
            let word = value::choice(node, BCACHE_MODES, scope, problems)?;
            BcacheMode::ALL.into_iter().find(|mode| mode.name() == word)?
        }
        None => BcacheMode::default(),
    };
    let block_bytes = match fields.get("block_size") {
        Some(node) => Some(block_size(node, scope, problems)?),
        None => None,
    };
    let bucket_bytes = match fields.get("bucket_size") {
        Some(node) => bucket_size(node, scope, problems)?,
        None => Bcache::BUCKET_BYTES,
    };
    let sequential_cutoff_bytes = match fields.get("sequential_cutoff") {
        Some(node) => Some(sequential_cutoff(node, scope, problems)?),
        None => None,
    };
    let writeback_percent = match fields.get("writeback_percent") {
        Some(node) => {
            let percent = value::integer(node, 0..=u64::from(Bcache::MOST_PERCENT), scope, problems)?;
            Some(u8::try_from(percent).ok()?)
        }
        None => None,
    };
    let threshold = |key: &str, problems: &mut Problems<'_>| match fields.get(key) {
        Some(node) => {
            value::integer(node, 0..=u64::from(u32::MAX), scope, problems).map(|us| u32::try_from(us).ok())
        }
        None => Some(None),
    };
    let congested_read_threshold_us = threshold("congested_read_threshold_us", problems)?;
    let congested_write_threshold_us = threshold("congested_write_threshold_us", problems)?;
    let node = fields.get("cache")?;
    let volumes = beside(node, bucket_bytes * Bcache::LEAST_BUCKETS, below, scope, problems)?;
    let [cache] = volumes.as_slice() else {
        problems
            .add(node.span, format!("bcache has one cache, not {}{}", volumes.len(), scope.levels()))
            .help("select one volume, e.g. `ssd[0]`; `lvm: { cache: ... }` takes several");
        return None;
    };
    let cache = cache.clone();
    Some(Bcache {
        cache,
        mode,
        block_bytes,
        bucket_bytes,
        sequential_cutoff_bytes,
        writeback_percent,
        congested_read_threshold_us,
        congested_write_threshold_us,
    })
}

fn block_size(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let bytes = value::size(node, scope, problems)?;
    if Bcache::BLOCK_BYTES.contains(&bytes) {
        return Some(bytes);
    }
    problems
        .add(node.span, format!("a block of {}{}", Bytes(bytes), scope.levels()))
        .expected("512, 1024, 2048 or 4096 bytes");
    None
}

fn bucket_size(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let bytes = value::size(node, scope, problems)?;
    if bytes.is_power_of_two() && Bcache::BUCKETS.contains(&bytes) {
        return Some(bytes);
    }
    problems
        .add(node.span, format!("a bucket of {}{}", Bytes(bytes), scope.levels()))
        .expected("a power of two from 64k to 16m");
    None
}

/// The kernel keeps it in 32 bits.
fn sequential_cutoff(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let bytes = value::bytes(node, 0, scope, problems)?;
    if bytes <= u64::from(u32::MAX) {
        return Some(bytes);
    }
    problems
        .add(node.span, format!("a cutoff of {}{}", Bytes(bytes), scope.levels()))
        .expected("less than 4g; 0: no stream bypasses the cache");
    None
}

/// Returns the names of the volumes for a cache, which needs this many bytes of each at least.
fn beside(
    node: &Node,
    least: u64,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<String>> {
    let volumes = below.select_beside(node, scope, problems)?;
    for volume in &volumes {
        if let VolumeKind::Emulate { size_bytes, .. } | VolumeKind::Guest { size_bytes, .. } = volume.kind
            && size_bytes < least
        {
            problems
                .add(node.span, format!("a cache does not fit on `{}` of {}", volume.name, Bytes(size_bytes)))
                .expected(format!("volumes of at least {}", Bytes(least)));
            return None;
        }
    }
    let what = "the cache copies between its devices (promotion, write-back)";
    note_limits(node, below.volumes.iter().chain(&volumes), what, problems);
    Some(volumes.into_iter().map(|volume| volume.name).collect())
}

/// Says so if limits of emulated volumes hold for a part of the I/O only.
fn note_limits<'v>(
    node: &Node,
    volumes: impl IntoIterator<Item = &'v Volume>,
    what: &str,
    problems: &mut Problems<'_>,
) {
    let limited =
        |v: &&Volume| matches!(v.kind, VolumeKind::Emulate { limits, .. } if !limits.is_unlimited());
    if let Some(volume) = volumes.into_iter().find(limited) {
        problems.note(
            node.span,
            format!(
                "the limits of `{}` apply to the load's own I/O only, not to what the kernel does by itself: {what}",
                volume.name
            ),
        );
    }
}
