//! Keys of the `knobs` layer.

use super::shape::{Shape, Table, key};

/// Kernel settings.
pub(crate) static KNOBS: Table = Table {
    what: "`knobs`",
    keys: &[
        key("on", Shape::Texts, "The volumes; only in the first layer"),
        key("scheduler", Shape::Text, "I/O scheduler of each device below: none, mq-deadline, bfq, kyber"),
        key("read_ahead", Shape::Size, "Read-ahead of each device below; a multiple of 4k, 0 is off"),
        key("nr_requests", Shape::Integer, "Requests that the scheduler of each device below holds"),
        key("rotational", Shape::Switch, "Whether the kernel takes each device below for a rotating disk"),
        key("max_sectors", Shape::Size, "Largest request to each device below; a multiple of 4k"),
        key("nomerges", Shape::Integer, "Joining requests: 0 all, 1 only simple ones, 2 none"),
        key(
            "rq_affinity",
            Shape::Integer,
            "Where a request ends: 0, 1 a CPU of the same group, 2 the same CPU",
        ),
        key("wbt_latency", Shape::Duration, "Latency that write-back throttling aims at; 0us is off"),
        key(
            "dirty_ratio",
            Shape::Integer,
            "Percentage of memory that may be dirty before writers must write",
        ),
        key(
            "dirty_background_ratio",
            Shape::Integer,
            "Percentage that may be dirty before the kernel writes",
        ),
        key("dirty_bytes", Shape::Size, "As dirty_ratio, in bytes"),
        key("dirty_background_bytes", Shape::Size, "As dirty_background_ratio, in bytes"),
        key("dirty_expire", Shape::Duration, "Age at which dirty data is written"),
        key("dirty_writeback", Shape::Duration, "How often the kernel looks for such data; 0s is never"),
        key("swappiness", Shape::Integer, "Whether the kernel rather swaps (200) or drops page cache (0)"),
        key("vfs_cache_pressure", Shape::Integer, "How readily inodes and directory entries are dropped"),
    ],
    instead: &[
        ("readahead", "write `read_ahead`"),
        ("read_ahead_kb", "write `read_ahead: 128k`"),
        ("iosched", "write `scheduler`"),
        ("elevator", "write `scheduler`"),
        ("queue_depth", "write `nr_requests`"),
        ("max_sectors_kb", "write `max_sectors: 512k`"),
        ("dirty_expire_centisecs", "write `dirty_expire: 30s`"),
        ("dirty_writeback_centisecs", "write `dirty_writeback: 5s`"),
        ("wbt_lat_usec", "write `wbt_latency: 75ms`"),
        ("vm", "write the setting itself, e.g. `dirty_ratio: 10`"),
    ],
};
