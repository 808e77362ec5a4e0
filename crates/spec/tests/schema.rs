//! The JSON Schema equals the committed one, accepts what the reader accepts, and rejects what editors should mark.
#![expect(clippy::unwrap_used, reason = "a test")]

use diskproof_spec::{load, schema};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Implements the part of JSON Schema that diskproof's schema uses.
fn accepts(schema: &Value, value: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return schema != &Value::Bool(false) };
    rules.iter().all(|(rule, of)| match rule.as_str() {
        "type" => {
            of.as_array().map_or_else(|| is(of, value), |kinds| kinds.iter().any(|kind| is(kind, value)))
        }
        "enum" => of.as_array().unwrap().contains(value),
        "anyOf" => of.as_array().unwrap().iter().any(|one| accepts(one, value)),
        "minimum" => value.as_f64().is_none_or(|number| number >= of.as_f64().unwrap()),
        "required" => value.as_object().is_none_or(|map| {
            of.as_array().unwrap().iter().all(|key| map.contains_key(key.as_str().unwrap()))
        }),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| accepts(of, item))),
        "properties" => value.as_object().is_none_or(|map| {
            of.as_object()
                .unwrap()
                .iter()
                .all(|(key, rule)| map.get(key).is_none_or(|value| accepts(rule, value)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|map| {
            let known = rules.get("properties").and_then(Value::as_object);
            map.iter().all(|(key, value)| {
                known.is_some_and(|known| known.contains_key(key))
                    || (rules.contains_key("patternProperties") && key.starts_with('{'))
                    || accepts(of, value)
            })
        }),
        "patternProperties" => {
            assert_eq!(of.as_object().unwrap().keys().collect::<Vec<_>>(), ["^\\{"]);
            true
        }
        "$schema" | "title" | "description" => true,
        other => panic!("the schema uses `{other}`, which this test does not check"),
    })
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type `{other}`"),
    }
}

/// Parses YAML as an editor's language server does: with the types of YAML 1.2, where a factor `n` is not a boolean.
fn yaml(path: &Path) -> Value {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(&fs::read_to_string(path).unwrap(), options)
        .unwrap_or_else(|e| panic!("{}: {e}", path.to_string_lossy()))
}

#[test]
fn the_committed_schema_is_current() {
    let path = root().join("schema/experiment.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{:#}\n", schema())).unwrap();
    }
    let committed: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(committed, schema(), "run UPDATE=1 cargo test -p diskproof-spec --test schema");
}

#[test]
fn what_the_reader_accepts_the_schema_accepts() {
    for folder in ["experiments", "tests/experiments/valid", "crates/cli/templates"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                assert!(accepts(&schema(), &yaml(&path)), "{}", path.to_string_lossy());
            }
        }
    }
}

#[test]
fn unknown_and_missing_keys_are_marked() {
    let path = root().join("experiments/striped-volumes.yaml");
    assert!(load(&path, &BTreeMap::new()).is_ok());
    let good = yaml(&path);
    let with = |pointer: &str, key: &str| {
        let mut value = good.clone();
        value.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert(key.to_owned(), Value::from(1));
        value
    };
    let places = [
        "",
        "/parameters/size",
        "/volumes/vol",
        "/volumes/vol/emulate",
        "/stacks/btrfs-raid0-{n}",
        "/stacks/btrfs-raid0-{n}/layers/0",
        "/stacks/btrfs-raid0-{n}/layers/0/btrfs",
        "/workloads/mix",
        "/measure",
        "/expect/0",
    ];
    for place in places {
        assert!(!accepts(&schema(), &with(place, "colour")), "an unknown key at `{place}` is not marked");
    }
    // `volumes` may be missing where a driver creates them.
    for needed in ["experiment", "stacks", "workloads"] {
        let mut value = good.clone();
        value.as_object_mut().unwrap().remove(needed);
        assert!(!accepts(&schema(), &value), "without `{needed}`");
    }
}
