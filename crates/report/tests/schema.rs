//! The shipped schemas match the types.

use std::path::Path;

#[test]
fn the_schema_is_current() {
    let shipped = [
        ("run", diskproof_report::schema().unwrap()),
        ("comparison", diskproof_report::comparison_schema().unwrap()),
        ("history", diskproof_report::history_schema().unwrap()),
    ];
    for (name, schema) in shipped {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schema/{name}.schema.json"));
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == schema, "{} is out of date: run `make generate`", path.to_string_lossy());
    }
}

/// The second example is a comparison, with every field.
#[test]
fn the_documented_comparison_can_be_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let text = std::fs::read_to_string(path).unwrap();
    let example = text.split("```json\n").nth(2).unwrap().split("```").next().unwrap();
    let view: record::comparison::Comparison = serde_json::from_str(example).unwrap();
    assert_eq!(view.format, record::comparison::COMPARISON_FORMAT);
    let written: serde_json::Value =
        serde_json::from_str(&diskproof_report::comparison_json(&view).unwrap()).unwrap();
    assert_eq!(written, serde_json::from_str::<serde_json::Value>(example).unwrap());
}

/// The example in the documentation is a valid document of this format.
#[test]
fn the_documented_example_can_be_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let text = std::fs::read_to_string(path).unwrap();
    let example = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let view: record::judged::RunView = serde_json::from_str(example).unwrap();
    assert_eq!(view.format, record::judged::RUN_FORMAT);
    let written: serde_json::Value = serde_json::from_str(&diskproof_report::json(&view).unwrap()).unwrap();
    let documented: serde_json::Value = serde_json::from_str(example).unwrap();
    assert_eq!(written, documented, "the example shows every field");
    for column in
        diskproof_report::csv(&view, diskproof_report::Formulas::AsText).lines().next().unwrap().split(',')
    {
        let shown = text.contains(&format!("`{column}`")) || column.starts_with("level_");
        assert!(shown, "CSV column {column} is documented");
    }
}
