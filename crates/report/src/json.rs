//! The machine-readable forms, documented in docs/formats.md.

use record::comparison::Comparison;
use record::judged::RunView;
use serde::Serialize;

/// One JSON document, pretty-printed, ending in a newline. Always valid: a number that JSON can't hold is null.
#[must_use]
pub fn json(view: &RunView) -> String {
    document(view)
}

/// The same of a comparison, format `diskproof.comparison/1.0`.
#[must_use]
pub fn comparison_json(view: &Comparison) -> String {
    document(view)
}

/// The JSON Schema of [`json`]'s output, as kept in schema/run.schema.json.
#[must_use]
pub fn schema() -> String {
    document(&schemars::schema_for!(RunView))
}

/// The JSON Schema of [`comparison_json`]'s output, as kept in schema/comparison.schema.json.
#[must_use]
pub fn comparison_schema() -> String {
    document(&schemars::schema_for!(Comparison))
}

fn document(of: &impl Serialize) -> String {
    // Serialising plain data into memory can't fail; what did would be a defect of its types.
    let mut text = serde_json::to_string_pretty(of).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::json;
    use crate::testing;
    use record::judged::{RUN_FORMAT, RunView};

    #[test]
    fn what_is_written_can_be_read() {
        for view in [testing::striped(), testing::trap()] {
            let text = json(&view);
            assert_eq!(serde_json::from_str::<RunView>(&text).unwrap(), view);
            assert!(text.ends_with("}\n"));
        }
    }

    #[test]
    fn the_documented_fields_are_there() {
        let value: serde_json::Value = serde_json::from_str(&json(&testing::trap())).unwrap();
        assert_eq!(value["format"], RUN_FORMAT);
        let cell = &value["cells"][4];
        for field in ["id", "target", "stack", "workload", "levels", "trials", "metrics", "served", "void"] {
            assert!(cell.get(field).is_some(), "{field}");
        }
        let once = &cell["metrics"]["iops"];
        assert!(
            once["low"].is_null() && once["high"].is_null() && once["n"] == 1,
            "one trial has no interval"
        );
        assert_eq!(value["stopped"]["reason"], "rounds_done");
        let claims: Vec<&str> =
            value["findings"].as_array().unwrap().iter().filter_map(|f| f["claim"].as_str()).collect();
        assert!(claims.contains(&"served_from_holes"));
    }
}
