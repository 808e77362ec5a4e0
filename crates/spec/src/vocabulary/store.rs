//! Keys of the place where results are kept.

use super::shape::{Shape, Table, key};

/// Where results go besides the results file.
pub(crate) static STORE: Table = Table {
    what: "a place for results",
    keys: &[key(
        "copy_to",
        Shape::Text,
        "Where each finished trial is copied to as it ends, so that another machine can go on: s3://BUCKET/PREFIX or file:///FOLDER",
    )],
    instead: &[("path", "the results file is a setting: `--store FILE`"), ("to", "write `copy_to`")],
};
