//! The shipped schema is the one that the types say.

use std::path::Path;

#[test]
fn the_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/run.schema.json");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == diskproof_report::schema(), "{} is out of date: run `make generate`", path.display());
}
