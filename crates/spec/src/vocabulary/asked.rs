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
        needed("is", Shape::Text, "Expected value: an expression over factors and parameters, e.g. 80 * n"),
        needed("within", Shape::Percent, "Allowed deviation, e.g. 5%"),
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
        ("where", "write `for`"),
    ],
};
