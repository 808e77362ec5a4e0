//! docs/experiment-file.md describes every key that the reader knows.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            found.extend(
                map.get("properties").and_then(Value::as_object).into_iter().flat_map(|p| p.keys().cloned()),
            );
            map.values().for_each(|inner| keys(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| keys(inner, found)),
        _ => {}
    }
}

#[test]
fn every_key_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiment-file.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut all = BTreeSet::new();
    keys(&diskproof_spec::schema(), &mut all);
    assert!(all.len() > 70, "only {} keys", all.len());
    let words: BTreeSet<&str> = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    let missing: Vec<&String> = all.iter().filter(|key| !words.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "docs/experiment-file.md does not mention {missing:?}");
}
