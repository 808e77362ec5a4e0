//! Keys of `find`.

use super::shape::{Shape, Table, key, needed};

/// The options that a search can vary.
pub(crate) const FIND_BY: &[&str] = &["rate_iops", "iodepth", "numjobs"];

/// A search.
pub(crate) static FIND: Table = Table {
    what: "a search",
    keys: &[
        needed("most", Shape::Text, "Metric that is to be as high as possible, e.g. iops"),
        needed(
            "while",
            Shape::MapOf(&Shape::Map(&FIND_LIMIT)),
            "Limits that hold meanwhile, by metric: { read_lat_p99: { at_most: 10ms } }",
        ),
        needed(
            "by",
            Shape::Choice(FIND_BY),
            "Option that is varied: rate_iops (I/Os due on a schedule, an open loop), iodepth, or numjobs",
        ),
        key("from", Shape::Integer, "Lowest level (default: 1)"),
        key("to", Shape::Integer, "Highest level (default: rate_iops 10000000, iodepth 256, numjobs 64)"),
        key("within", Shape::Percent, "Wanted relative half-width of the answer's interval (default: 5%)"),
    ],
    instead: &[
        ("max", "write `most`"),
        ("maximize", "write `most`"),
        ("of", "write `most`"),
        ("until", "write `while`"),
        ("limit", "write `while`"),
        ("limits", "write `while`"),
        ("vary", "write `by`"),
        ("interval", "write `within`"),
    ],
};

/// A limit of a search.
pub(crate) static FIND_LIMIT: Table = Table {
    what: "a limit",
    keys: &[needed("at_most", Shape::Text, "Highest value, a time: 10ms")],
    instead: &[("max", "write `at_most`"), ("below", "write `at_most`"), ("is", "write `at_most`")],
};
