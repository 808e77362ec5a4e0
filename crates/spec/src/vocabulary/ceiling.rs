//! `limits` of a machine.

use super::shape::{Shape, Table, key};

/// What a machine passes on.
pub(crate) static CEILING: Table = Table {
    what: "`limits` of a machine",
    keys: &[
        key("iops", Shape::Integer, "Reads and writes per second, of all volumes together"),
        key("bps", Shape::Size, "Bytes read and written per second, of all volumes together"),
    ],
    instead: &[
        ("total_iops", "write `iops`: both directions together"),
        ("total_bps", "write `bps`: both directions together"),
        ("throughput", "write `bps`"),
        ("bw", "write `bps`"),
    ],
};
