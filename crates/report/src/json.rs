//! The machine-readable form: `diskproof.run/1.0`, documented in docs/formats.md.

use record::judged::RunView;

/// One JSON document, pretty-printed, ending in a newline. Always valid: a number that JSON can't hold is null.
#[must_use]
pub fn json(view: &RunView) -> String {
    // Serialising plain data into memory can't fail; a view that did would be a defect of its types.
    let mut text = serde_json::to_string_pretty(view).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text.push('\n');
    text
}

/// The JSON Schema of [`json`]'s output, as kept in schema/run.schema.json.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(RunView);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
