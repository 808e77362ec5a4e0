//! Keys of the `lvm`, `md` and `bcache` layers.

use super::shape::{Shape, Table, key, needed};

/// A logical volume.
pub(crate) static LVM: Table = Table {
    what: "`lvm`",
    keys: &[
        key("on", Shape::Texts, "The volumes; only in the first layer"),
        key("stripes", Shape::Integer, "Devices that data is striped over; 1 (the default) is linear"),
        key(
            "stripe_size",
            Shape::Size,
            "Bytes on one device before the next is used, 4k to 4m (default: 64k)",
        ),
        key("raid", Shape::Choice(RAIDS), "Mirrors: raid1 over all devices, raid10 striped over pairs"),
        key(
            "resync",
            Shape::Choice(RESYNCS),
            "Initial copying of mirrors: wait for it, or skip it (default: skip)",
        ),
        key("size", Shape::Size, "Size of the logical volume (default: all there is)"),
        key("tag", Shape::Text, "Tag of these devices, by which the volume is placed on them"),
        key("cache", Shape::Map(&CACHE), "dm-cache on volumes of its own"),
        key("writecache", Shape::Map(&WRITECACHE), "dm-writecache on volumes of its own"),
        key("thin", Shape::Map(&THIN), "A thin pool in place of the volume, and a thin volume in it"),
    ],
    instead: &[
        ("chunk", "write `stripe_size`"),
        ("chunk_size", "write `stripe_size`; a cache's stands in `cache`, a thin pool's in `thin`"),
        ("stripesize", "write `stripe_size`"),
        ("type", "write `stripes`, or `raid: raid1` or `raid: raid10`"),
        ("mirrors", "write `raid: raid1`: every device holds a copy"),
        ("mirror", "write `raid: raid1`"),
        ("level", "write `raid`"),
        ("tags", "write `tag`"),
        ("ssd", "write `cache: { on: ... }`"),
        ("cachepool", "write `cache: { on: ..., kind: cachepool }`"),
        ("cachevol", "write `cache: { on: ..., kind: cachevol }`"),
        ("thinpool", "write `thin: {}`"),
        ("virtual_size", "write `thin: { virtual_size: ... }`"),
        ("virtualsize", "write `thin: { virtual_size: ... }`"),
    ],
};

/// A thin pool.
pub(crate) static THIN: Table = Table {
    what: "`thin`",
    keys: &[
        key(
            "chunk_size",
            Shape::Size,
            "Bytes allocated at a time, a multiple of 64k up to 1g (default: LVM decides; 64k in a small pool)",
        ),
        key("zero", Shape::Switch, "Whether an allocated chunk is filled with zeros first (default: 1)"),
        key(
            "discards",
            Shape::Choice(DISCARDS),
            "What becomes of discards: passdown (the default), nopassdown or ignore",
        ),
        key("metadata_size", Shape::Size, "Size of the pool's metadata, 2m to 15g (default: LVM decides)"),
        key(
            "virtual_size",
            Shape::Size,
            "Size of the thin volume, at most that of the pool (default: that of the pool)",
        ),
    ],
    instead: &[
        ("on", "the pool lies on the volumes of `lvm`"),
        ("size", "the pool's size is `size` of `lvm`, the thin volume's is `virtual_size`"),
        ("chunk", "write `chunk_size`"),
        ("chunksize", "write `chunk_size`"),
        ("zeroing", "write `zero`"),
        ("poolmetadatasize", "write `metadata_size`"),
        ("poolmetadataspare", "there is one, as LVM makes pools"),
        ("virtualsize", "write `virtual_size`"),
    ],
};

/// dm-cache.
pub(crate) static CACHE: Table = Table {
    what: "`cache`",
    keys: &[
        needed("on", Shape::Texts, "The volumes it lies on, beside those of `on`"),
        key(
            "kind",
            Shape::Choice(CACHE_KINDS),
            "Whether metadata lies apart (cachepool) or with the data (cachevol) (default: cachevol)",
        ),
        key("mode", Shape::Choice(CACHE_MODES), "When writes reach the origin (default: writethrough)"),
        key(
            "chunk_size",
            Shape::Size,
            "Bytes promoted at a time, a multiple of 32k up to 1g (default: LVM decides)",
        ),
        key("policy", Shape::Choice(CACHE_POLICIES), "Which blocks it keeps (default: LVM decides)"),
        key("tag", Shape::Text, "Tag of these volumes, by which the cache is placed on them"),
        key("attach", Shape::Choice(ATTACHES), ATTACH),
        key("detach", Shape::Choice(DETACHES), DETACH),
    ],
    instead: &[
        ("chunk", "write `chunk_size`"),
        ("cachemode", "write `mode`"),
        ("type", "write `kind`"),
        ("tags", "write `tag`"),
        ("size", "the cache takes all of its volumes: give these the size"),
        ("flush", "write `detach: flush`"),
        ("uncache", "write `detach: flush`"),
    ],
};

/// dm-writecache.
pub(crate) static WRITECACHE: Table = Table {
    what: "`writecache`",
    keys: &[
        needed("on", Shape::Texts, "The volumes it lies on, beside those of `on`"),
        key("tag", Shape::Text, "Tag of these volumes, by which the cache is placed on them"),
        key("attach", Shape::Choice(ATTACHES), ATTACH),
        key("detach", Shape::Choice(DETACHES), DETACH),
    ],
    instead: &[
        ("mode", "a writecache always writes later"),
        ("tags", "write `tag`"),
        ("flush", "write `detach: flush`"),
        ("uncache", "write `detach: flush`"),
    ],
};

const ATTACH: &str = "When it is attached: as the volume is built, or after the data are laid out on the origin alone (default: built)";
const DETACH: &str = "How it is removed: with the stack (undo), or by a flush after the measured time, which is timed (flush) (default: undo)";

/// An md array.
pub(crate) static MD: Table = Table {
    what: "`md`",
    keys: &[
        key("on", Shape::Texts, "The volumes; only in the first layer"),
        needed("level", Shape::Choice(RAID_LEVELS), "raid0, raid1 or raid10"),
        key("chunk", Shape::Size, "Bytes on one member before the next is used, 4k to 1g (default: 512k)"),
        key(
            "layout",
            Shape::Choice(MD_LAYOUTS),
            "Where the copies of raid10 lie: near, far, offset (default: n2)",
        ),
        key("bitmap", Shape::Switch, "Whether the members keep a write-intent bitmap (default: 0)"),
        key(
            "resync",
            Shape::Choice(RESYNCS),
            "Initial resync of mirrors: wait for it, or skip it (default: skip)",
        ),
    ],
    instead: &[
        ("raid", "write `level`"),
        ("stripe_size", "write `chunk`"),
        ("chunk_size", "write `chunk`"),
        ("stripes", "an array has one stripe per member: select the members in `on`"),
        ("metadata", "it is 1.2"),
    ],
};

/// bcache.
pub(crate) static BCACHE: Table = Table {
    what: "`bcache`",
    keys: &[
        key("on", Shape::Texts, "The volume that is cached; only in the first layer"),
        needed("cache", Shape::Texts, "The volume that the cache lies on, beside that of `on`"),
        key(
            "mode",
            Shape::Choice(BCACHE_MODES),
            "What it does with writes; none: it caches nothing (default: writethrough)",
        ),
        key(
            "block_size",
            Shape::Size,
            "Smallest request of the device, 512 to 4096 (default: the larger logical block size of both volumes)",
        ),
        key(
            "bucket_size",
            Shape::Size,
            "Bytes that the cache allocates at a time, a power of two from 64k to 16m (default: 512k)",
        ),
        key(
            "sequential_cutoff",
            Shape::Size,
            "A sequential stream bypasses the cache from this many bytes on; 0: never (default: the kernel's, 4m)",
        ),
        key(
            "writeback_percent",
            Shape::Integer,
            "Percent of the cache kept dirty by slow write-back, 0 to 40; 0: full speed (default: the kernel's, 10)",
        ),
        key(
            "congested_read_threshold_us",
            Shape::Integer,
            "Reads bypass the cache while it takes longer than this; 0: never (default: the kernel's, 2000)",
        ),
        key(
            "congested_write_threshold_us",
            Shape::Integer,
            "Writes bypass the cache while it takes longer than this; 0: never (default: the kernel's, 20000)",
        ),
    ],
    instead: &[
        ("cache_mode", "write `mode`"),
        ("block", "write `block_size`"),
        ("bucket", "write `bucket_size`"),
        ("chunk_size", "write `bucket_size`"),
        ("ssd", "write `cache`"),
        ("backing", "write `on`"),
        ("kind", "bcache has one kind of cache; `lvm: { cache: ... }` has two"),
        ("detach", "it is flushed and detached when its stack is taken down"),
        ("attach", "it is attached when its stack is built"),
    ],
};

pub(crate) static BCACHE_MODES: &[&str] = &["writethrough", "writeback", "writearound", "none"];
pub(crate) static RAIDS: &[&str] = &["raid1", "raid10"];
pub(crate) static RAID_LEVELS: &[&str] = &["raid0", "raid1", "raid10"];
pub(crate) static RESYNCS: &[&str] = &["wait", "skip"];
pub(crate) static CACHE_KINDS: &[&str] = &["cachepool", "cachevol"];
pub(crate) static CACHE_MODES: &[&str] = &["writethrough", "writeback"];
pub(crate) static CACHE_POLICIES: &[&str] = &["smq", "mq"];
pub(crate) static ATTACHES: &[&str] = &["built", "laid_out"];
pub(crate) static DETACHES: &[&str] = &["undo", "flush"];
pub(crate) static DISCARDS: &[&str] = &["passdown", "nopassdown", "ignore"];
pub(crate) static MD_LAYOUTS: &[&str] = &["n2", "f2", "o2"];
