//! Layers in words.

use super::{Layer, Stack};
use crate::quantity::Bytes;
use serde_json::Value;

impl Stack {
    /// Returns one text per layer, from the bottom up: its name, and each of its settings that isn't empty.
    #[must_use]
    pub fn layers_in_words(&self) -> Vec<String> {
        self.layers.iter().map(in_words).collect()
    }
}

impl Layer {
    /// Returns its name, and each of its settings that isn't empty.
    #[must_use]
    pub fn in_words(&self) -> String {
        in_words(self)
    }
}

/// Made of the form in which a layer is stored, so that a new setting is never left out.
fn in_words(layer: &Layer) -> String {
    match serde_json::to_value(layer) {
        Ok(Value::Object(one)) => one.into_iter().next().map_or_else(String::new, |(name, settings)| {
            let kind = settings.get("kind").and_then(Value::as_str).filter(|_| name == "filesystem");
            let title = kind.unwrap_or(&name).to_owned();
            let rest = settings_in_words(&settings, kind.is_some());
            if rest.is_empty() { title } else { format!("{title} ({rest})") }
        }),
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

fn settings_in_words(settings: &Value, has_kind: bool) -> String {
    let Value::Object(all) = settings else { return scalar(settings, false).unwrap_or_default() };
    let words = all.iter().filter(|(key, _)| !(has_kind && key.as_str() == "kind"));
    words.filter_map(|(key, value)| setting(key, value)).collect::<Vec<_>>().join(", ")
}

fn setting(key: &str, value: &Value) -> Option<String> {
    let (name, is_size) = match key.strip_suffix("_bytes") {
        Some(name) => (name, true),
        None => (key, false),
    };
    let name = name.replace('_', " ");
    match value {
        Value::Bool(true) => Some(name),
        Value::Object(_) => {
            let inner = settings_in_words(value, false);
            (!inner.is_empty()).then(|| format!("{name} ({inner})"))
        }
        _ => Some(format!("{name} {}", scalar(value, is_size)?)),
    }
}

/// `None` for what isn't set.
fn scalar(value: &Value, is_size: bool) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Number(number) => Some(match number.as_u64().filter(|_| is_size) {
            Some(size) => Bytes(size).to_string(),
            None => number.to_string(),
        }),
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Array(all) => {
            let words: Vec<String> = all.iter().filter_map(|one| scalar(one, is_size)).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        Value::Object(_) => Some(settings_in_words(value, false)).filter(|inner| !inner.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use crate::stack::Stack;

    #[test]
    fn every_setting_of_every_layer_is_named() {
        let stack: Stack = serde_json::from_str(
            r#"{"name":"s","volumes":[],"layers":[
                {"lvm":{"cache":{"form":{"cache":{"chunk_bytes":32768,"kind":"cachepool","mode":"writethrough","policy":null}},
                    "tag":"ssd","volumes":["ssd[0]"]},"layout":"linear","size_bytes":1073741824,"tag":"slow"}},
                {"filesystem":{"kind":"ext4","mkfs_options":["-O","^has_journal"],"mount_options":[],"stripe":null}}]}"#,
        )
        .unwrap();
        let [lvm, ext4] = <[String; 2]>::try_from(stack.layers_in_words()).unwrap();
        for part in [
            "lvm (",
            "chunk 32 KiB",
            "kind cachepool",
            "mode writethrough",
            "volumes ssd[0]",
            "size 1 GiB",
            "tag slow",
        ] {
            assert!(lvm.contains(part), "{part} in {lvm}");
        }
        assert_eq!(ext4, "ext4 (mkfs options -O ^has_journal)");
    }
}
