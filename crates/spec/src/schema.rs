//! The JSON Schema of the experiment file, made from the same tables as the reader.

use crate::vocabulary::{CREATED, CREATED_VOLUME, EXPERIMENT, LAYER, Shape, Table};
use serde_json::{Map, Value, json};

/// Returns the schema (draft 2020-12), for editors. It has every key; only `diskproof plan` checks combinations of values.
#[must_use]
pub fn schema() -> Value {
    let mut root = table(&EXPERIMENT);
    if let Value::Object(map) = &mut root {
        map.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        map.insert("title".to_owned(), json!("diskproof experiment"));
    }
    root
}

fn table(table: &Table) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        let mut value = shape(&key.shape);
        if let Value::Object(map) = &mut value {
            map.insert("description".to_owned(), json!(key.help));
        }
        properties.insert(key.name.to_owned(), value);
    }
    let open = std::ptr::eq(table, &LAYER);
    let required: Vec<&str> = table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    // Only the driver knows its settings.
    let others = std::ptr::eq(table, &CREATED) || std::ptr::eq(table, &CREATED_VOLUME);
    let mut out = json!({ "type": "object", "properties": properties, "additionalProperties": others });
    if let (Value::Object(map), true) = (&mut out, open) {
        // A layer's name may be a factor.
        map.insert("patternProperties".to_owned(), json!({ "^\\{": { "type": ["object", "null"] } }));
    }
    if let (Value::Object(map), false) = (&mut out, required.is_empty()) {
        map.insert("required".to_owned(), json!(required));
    }
    out
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Text => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Integer => json!({ "type": ["integer", "string"], "minimum": 0 }),
        Shape::Size => json!({ "type": ["integer", "string"], "minimum": 0 }),
        Shape::Duration | Shape::Percent => json!({ "type": "string" }),
        Shape::Switch => json!({ "anyOf": [{ "enum": [0, 1, true, false] }, { "type": "string" }] }),
        Shape::Choice(words) => json!({ "anyOf": [{ "enum": words }, { "type": "string" }] }),
        Shape::Texts => {
            let single = shape(&Shape::Text);
            json!({ "anyOf": [single, { "type": "array", "items": single }] })
        }
        Shape::Commands => {
            let vector = json!({ "type": "array", "items": shape(&Shape::Text) });
            json!({ "anyOf": [{ "type": "array", "items": vector }, vector] })
        }
        Shape::Map(inner) => table(inner),
        Shape::MapOf(inner) => json!({ "type": "object", "additionalProperties": shape(inner) }),
        Shape::ListOf(inner) => json!({ "type": "array", "items": shape(inner) }),
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(shape).collect::<Vec<_>>() }),
        Shape::Levels => {
            let single = shape(&Shape::Text);
            let inner = json!({ "anyOf": [single, { "type": "array", "items": single }] });
            json!({ "anyOf": [single, { "type": "array", "items": inner }] })
        }
        Shape::Empty => json!({ "type": "null" }),
    }
}
