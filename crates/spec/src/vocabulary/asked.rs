//! Keys of `contrast` and `expect`.

use super::shape::{Shape, Table, key, needed};

/// A requested ratio.
pub(crate) static CONTRAST: Table = Table {
    what: "a contrast",
    keys: &[
        needed("of", Shape::Text, "Metric, e.g. iops, or a derived one"),
        needed(
            "a",
            Shape::Either(&[Shape::Text, Shape::MapOf(&Shape::Levels)]),
            "Cells that are divided: { stack: pattern, workload: pattern, factor: level }",
        ),
        needed(
            "b",
            Shape::Either(&[Shape::Text, Shape::MapOf(&Shape::Levels)]),
            "Cells by which they are divided",
        ),
    ],
    instead: &[("metric", "write `of`"), ("over", "write `b`"), ("ratio", "write `a` and `b`")],
};

/// An expectation.
pub(crate) static EXPECTATION: Table = Table {
    what: "an expectation",
    keys: &[
        needed("of", Shape::Text, "Metric, e.g. iops, read_iops, write_iops, or a derived one"),
        key("is", Shape::Text, "Expected value: an expression over factors and parameters, e.g. 80 * n"),
        key("within", Shape::Percent, "Allowed deviation from `is`, e.g. 5%"),
        key(
            "at_least",
            Shape::Text,
            "Lowest value that is good: an expression, or a size or time for metrics of these",
        ),
        key("at_most", Shape::Text, "Highest value that is good, e.g. 10ms"),
        key(
            "for",
            Shape::Either(&[Shape::Text, Shape::MapOf(&Shape::Levels)]),
            "Which cells: { stack: pattern, workload: pattern, factor: level }",
        ),
    ],
    instead: &[
        ("metric", "write `of`"),
        ("value", "write `is`"),
        ("equals", "write `is`"),
        ("tolerance", "write `within`"),
        ("max", "write `at_most`"),
        ("min", "write `at_least`"),
        ("below", "write `at_most`"),
        ("above", "write `at_least`"),
        ("where", "write `for`"),
    ],
};
