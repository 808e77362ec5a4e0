//! Keys of the `zfs` layer.

use super::shape::{Shape, Table, key, needed};

/// A pool and a dataset.
pub(crate) static ZFS: Table = Table {
    what: "`zfs`",
    keys: &[
        key("on", Shape::Texts, "The volumes; only in the first layer"),
        key("vdev", Shape::Choice(VDEVS), "How the volumes are joined (default: stripe)"),
        key("width", Shape::Integer, "Volumes of one mirror or raidz (default: all of them)"),
        key("log", Shape::Map(&DEVICES), "Volumes for the intent log: { on: ssd }"),
        key("cache", Shape::Map(&DEVICES), "Volumes for the second-level cache: { on: ssd }"),
        key("ashift", Shape::Integer, "Sector size as a power of two, 9 to 16 (default: the pool decides)"),
        key("recordsize", Shape::Size, "A power of two from 512 to 16m (default: 128k)"),
        key(
            "compression",
            Shape::Text,
            "on, off, lz4, lzjb, zle, gzip, gzip-1 to gzip-9, zstd, zstd-1 to zstd-19, zstd-fast-1...",
        ),
        key("primarycache", Shape::Choice(CACHED), "What the cache in memory (ARC) holds"),
        key("secondarycache", Shape::Choice(CACHED), "What the second-level cache holds"),
        key("sync", Shape::Choice(&["standard", "always", "disabled"]), "When writes are durable"),
        key("logbias", Shape::Choice(&["latency", "throughput"]), "Whether the log device is used"),
        key("atime", Shape::Choice(ON_OFF), "Whether reads change the access time (default: off)"),
        key("xattr", Shape::Choice(&["on", "off", "sa"]), "Where extended attributes are kept"),
        key("checksum", Shape::Text, "on, off, fletcher4, sha256..."),
        key("copies", Shape::Integer, "Copies of each block, 1 to 3"),
        key("dedup", Shape::Choice(ON_OFF), "Deduplication"),
        key("direct", Shape::Choice(&["standard", "always", "disabled"]), "Direct I/O (OpenZFS 2.3)"),
        key("arc_max", Shape::Size, "Most that the cache in memory (ARC) holds while the stack exists"),
    ],
    instead: &[
        ("raid", "write `vdev: raidz`"),
        ("raidz", "write `vdev: raidz`"),
        ("mirror", "write `vdev: mirror`"),
        ("compress", "write `compression`"),
        ("slog", "write `log: { on: ... }`"),
        ("zil", "write `log: { on: ... }`"),
        ("l2arc", "write `cache: { on: ... }`"),
        ("arc", "write `arc_max`"),
        ("mountpoint", "the dataset is mounted in a directory of diskproof's own"),
        ("properties", "write the property itself, e.g. `recordsize: 16k`"),
    ],
};

/// Additional volumes of a layer.
pub(crate) static DEVICES: Table = Table {
    what: "devices beside the pool's own",
    keys: &[needed("on", Shape::Texts, "The volumes")],
    instead: &[],
};

/// How devices form a vdev.
pub(crate) static VDEVS: &[&str] = &["stripe", "mirror", "raidz", "raidz1", "raidz2", "raidz3"];
static CACHED: &[&str] = &["all", "none", "metadata"];
static ON_OFF: &[&str] = &["on", "off"];
