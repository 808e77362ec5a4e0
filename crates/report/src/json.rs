//! The JSON documents and their schemas, documented in docs/formats.md.

use record::choice::Choice;
use record::comparison::Comparison;
use record::cost::Costs;
use record::history::History;
use record::judged::RunView;
use record::prospect::Prospect;
use serde::Serialize;

/// Formats a run as one JSON document, pretty-printed, with a newline at the end. Always valid: a number that JSON can't hold is null.
///
/// # Errors
/// Only a bug in the types: a view that can't be serialised gives no document.
pub fn json(view: &RunView) -> Result<String, serde_json::Error> {
    document(view)
}

/// Formats a comparison in the same way, format `diskproof.comparison/1.1`.
///
/// # Errors
/// As [`json`].
pub fn comparison_json(view: &Comparison) -> Result<String, serde_json::Error> {
    document(view)
}

/// Formats a history in the same way, format `diskproof.history/1.0`.
///
/// # Errors
/// As [`json`].
pub fn history_json(view: &History) -> Result<String, serde_json::Error> {
    document(view)
}

/// Formats a choice in the same way, format `diskproof.choice/1.0`.
///
/// # Errors
/// As [`json`].
pub fn choice_json(choice: &Choice) -> Result<String, serde_json::Error> {
    document(choice)
}

/// The JSON Schema of [`choice_json`]'s output, the content of schema/choice.schema.json.
///
/// # Errors
/// As [`json`].
pub fn choice_schema() -> Result<String, serde_json::Error> {
    document(&schemars::schema_for!(Choice))
}

/// Formats a prospect in the same way, format `diskproof.prospect/1.0`.
///
/// # Errors
/// As [`json`].
pub fn prospect_json(prospect: &Prospect) -> Result<String, serde_json::Error> {
    document(prospect)
}

/// The JSON Schema of [`prospect_json`]'s output, the content of schema/prospect.schema.json.
///
/// # Errors
/// As [`json`].
pub fn prospect_schema() -> Result<String, serde_json::Error> {
    document(&schemars::schema_for!(Prospect))
}

/// Formats the costs of a price list in the same way, format `diskproof.cost/1.0`.
///
/// # Errors
/// As [`json`].
pub fn cost_json(costs: &Costs) -> Result<String, serde_json::Error> {
    document(costs)
}

/// The JSON Schema of [`cost_json`]'s output, the content of schema/cost.schema.json.
///
/// # Errors
/// As [`json`].
pub fn cost_schema() -> Result<String, serde_json::Error> {
    document(&schemars::schema_for!(Costs))
}

/// The JSON Schema of [`history_json`]'s output, the content of schema/history.schema.json.
///
/// # Errors
/// As [`json`].
pub fn history_schema() -> Result<String, serde_json::Error> {
    document(&schemars::schema_for!(History))
}

/// The JSON Schema of [`json`]'s output, the content of schema/run.schema.json.
///
/// # Errors
/// As [`json`].
pub fn schema() -> Result<String, serde_json::Error> {
    document(&schemars::schema_for!(RunView))
}

/// The JSON Schema of [`comparison_json`]'s output, the content of schema/comparison.schema.json.
///
/// # Errors
/// As [`json`].
pub fn comparison_schema() -> Result<String, serde_json::Error> {
    document(&schemars::schema_for!(Comparison))
}

fn document(of: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(of)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::json;
    use crate::testing;
    use record::judged::{RUN_FORMAT, RunView};

    #[test]
    fn what_is_written_can_be_read() {
        for view in [testing::striped(), testing::trap()] {
            let text = json(&view).unwrap();
            assert_eq!(serde_json::from_str::<RunView>(&text).unwrap(), view);
            assert!(text.ends_with("}\n"));
        }
    }

    #[test]
    fn what_cannot_be_written_is_an_error_and_no_document() {
        let no_key = std::collections::BTreeMap::from([(vec![1], 1)]);
        assert!(super::document(&no_key).is_err());
    }

    #[test]
    fn the_documented_fields_are_there() {
        let value: serde_json::Value = serde_json::from_str(&json(&testing::trap()).unwrap()).unwrap();
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
