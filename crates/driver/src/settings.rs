//! Settings of machines and volumes: merged from their sources, and checked against what a driver takes.

use crate::metadata::WORD;
use crate::protocol::{Setting, SettingKind, Settings};
use record::printable::printable;
use serde_json::Value;
use std::collections::BTreeMap;

/// Something wrong with one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Its key as written.
    pub key: String,
    /// Where it was written; `None`: nowhere, it is missing.
    pub origin: Option<String>,
    /// What is wrong.
    pub text: String,
    /// The way out.
    pub help: Option<String>,
}

/// Settings after the merge.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Merged {
    /// The settings, by today's names. Defaults are the driver's own and are not in it.
    pub settings: Settings,
    /// Old names that were used, with what to write instead.
    pub warnings: Vec<String>,
    /// What is wrong.
    pub wrong: Vec<Wrong>,
    /// Required settings that nobody says; each is among `wrong` as well.
    pub missing: Vec<Missing>,
}

/// A required setting without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its key.
    pub key: String,
    /// What it is, printable.
    pub about: String,
}

/// One source of settings.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name for messages, e.g. `the experiment`.
    pub name: &'a str,
    /// Its settings.
    pub settings: &'a Settings,
}

/// Merges settings: `below` counts least, then the environment variables that the settings name, then `above`. Checks names and types,
/// and that nothing required is missing. A setting that the driver may find in the cloud's metadata is the driver's to check.
#[must_use]
pub fn merge(
    known: &BTreeMap<String, Setting>,
    below: &[Source<'_>],
    variable: &dyn Fn(&str) -> Option<String>,
    above: &[Source<'_>],
) -> Merged {
    let mut merged = Merged::default();
    below.iter().for_each(|source| merged.add(known, source));
    let mut from_environment = Settings::new();
    for (key, setting) in known {
        let said = setting
            .environment
            .iter()
            .find_map(|name| Some((name, variable(name).filter(|text| !text.is_empty())?)));
        if let Some((name, text)) = said {
            match of_text(setting.kind, &text) {
                Some(value) => drop(from_environment.insert(key.clone(), value)),
                None => merged.wrong.push(Wrong {
                    key: key.clone(),
                    origin: Some(format!("the environment variable {name}")),
                    text: format!("`{}` is not {}", printable(&text), named(setting.kind)),
                    help: None,
                }),
            }
        }
    }
    merged.settings.append(&mut from_environment);
    above.iter().for_each(|source| merged.add(known, source));
    for (key, setting) in known {
        let is_wrong = merged.wrong.iter().any(|wrong| wrong.key == *key);
        let has_source = setting.default.is_some() || setting.from_metadata;
        if setting.required && !has_source && !merged.settings.contains_key(key) && !is_wrong {
            let places = match setting.environment.as_slice() {
                [] => "write it in the target".to_owned(),
                names => format!("write it in the target, or set {}", names.join(" or ")),
            };
            let text = format!("`{key}` is missing: {}", printable(&setting.about));
            merged.missing.push(Missing { key: key.clone(), about: printable(&setting.about).into_owned() });
            merged.wrong.push(Wrong { key: key.clone(), origin: None, text, help: Some(places) });
        }
    }
    merged
}

impl Merged {
    /// Asks the metadata service for each setting whose value is `metadata`. `ask` gets what the setting names.
    pub fn resolve(
        &mut self,
        known: &BTreeMap<String, Setting>,
        ask: &mut dyn FnMut(&str) -> Result<String, String>,
    ) {
        for (key, value) in &mut self.settings {
            let fact = known.get(key).and_then(|setting| setting.metadata.as_deref());
            let Some(fact) = fact.filter(|_| value.as_str() == Some(WORD)) else { continue };
            match ask(fact) {
                Ok(told) => *value = Value::from(told),
                Err(text) => self.wrong.push(Wrong {
                    key: key.clone(),
                    origin: None,
                    text: format!("`{key}: {WORD}`: {text}"),
                    help: None,
                }),
            }
        }
    }

    fn add(&mut self, known: &BTreeMap<String, Setting>, source: &Source<'_>) {
        for (key, value) in source.settings {
            let renamed = known.iter().find_map(|(now, setting)| {
                Some((now, setting, setting.renamed.iter().find(|old| old.from == *key)?))
            });
            let (now, setting, value) = match (known.get(key), renamed) {
                (Some(setting), _) => (key, setting, value.clone()),
                (None, Some((now, setting, old))) => {
                    let new = value.as_str().and_then(|text| old.values.get(text));
                    let value = new.map_or_else(|| value.clone(), |new| Value::from(new.as_str()));
                    self.warnings.push(format!(
                        "{}: `{}` is `{}` today; version {} of diskproof refuses the old name",
                        source.name,
                        shown(key, source.settings.get(key)),
                        shown(now, Some(&value)),
                        printable(&old.refused_in)
                    ));
                    (now, setting, value)
                }
                (None, None) => {
                    self.refuse(
                        source,
                        key,
                        format!("there is no setting `{}`", printable(key)),
                        hint(key, known),
                    );
                    continue;
                }
            };
            if now != key && source.settings.contains_key(now) {
                let text = format!("`{}` is the old name of `{now}`, which is there too", printable(key));
                self.refuse(source, key, text, Some("remove the old one".to_owned()));
                continue;
            }
            match fitting(setting.kind, &value) {
                Some(value) => drop(self.settings.insert(now.clone(), value)),
                None => {
                    let text = format!("`{}` is not {}", shown(key, Some(&value)), named(setting.kind));
                    self.refuse(source, key, text, None);
                }
            }
        }
    }

    fn refuse(&mut self, source: &Source<'_>, key: &str, text: String, help: Option<String>) {
        self.wrong.push(Wrong { key: key.to_owned(), origin: Some(source.name.to_owned()), text, help });
    }
}

fn shown(key: &str, value: Option<&Value>) -> String {
    let value = match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    printable(&format!("{key}: {value}")).into_owned()
}

/// The setting that a misspelt key may mean, or else all.
fn hint(key: &str, known: &BTreeMap<String, Setting>) -> Option<String> {
    let distance = |other: &&String| strsim::damerau_levenshtein(key, other);
    let nearest = known.keys().min_by_key(distance)?;
    let most = 1 + key.chars().count() / 4;
    Some(if distance(&nearest) <= most {
        format!("did you mean `{nearest}`?")
    } else {
        format!("known are {}", known.keys().cloned().collect::<Vec<_>>().join(", "))
    })
}

/// The value as the driver wants it, or `None` if it is of another type.
fn fitting(kind: SettingKind, value: &Value) -> Option<Value> {
    let text_of = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        // YAML takes `1.30` for a number, where a version or a zone is meant.
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match (kind, value) {
        (SettingKind::Text, value) => text_of(value).map(Value::from),
        (SettingKind::Integer, Value::Number(number)) => number.is_i64().then(|| value.clone()),
        (SettingKind::Bytes, Value::Number(number)) => number.is_u64().then(|| value.clone()),
        (SettingKind::Switch, Value::Bool(_)) => Some(value.clone()),
        (SettingKind::Texts, Value::Array(items)) => items
            .iter()
            .map(|item| text_of(item).map(Value::from))
            .collect::<Option<Vec<_>>>()
            .map(Value::from),
        (SettingKind::Texts, Value::String(text)) => Some(Value::from(vec![text.clone()])),
        (SettingKind::Map, Value::Object(items)) => {
            let texts = items.iter().map(|(key, item)| Some((key.clone(), Value::from(text_of(item)?))));
            texts.collect::<Option<Settings>>().map(Value::Object)
        }
        (SettingKind::Integer | SettingKind::Bytes | SettingKind::Switch, Value::String(text)) => {
            of_text(kind, text)
        }
        _ => None,
    }
}

/// The value that a text means, e.g. of an environment variable.
fn of_text(kind: SettingKind, text: &str) -> Option<Value> {
    match kind {
        SettingKind::Text => Some(Value::from(text)),
        SettingKind::Integer => text.trim().parse::<i64>().ok().map(Value::from),
        SettingKind::Bytes => bytes(text.trim()).map(Value::from),
        SettingKind::Switch => text.trim().parse::<bool>().ok().map(Value::from),
        SettingKind::Texts => Some(Value::from(text.split(',').map(str::trim).collect::<Vec<_>>())),
        SettingKind::Map => {
            let pair = |part: &str| {
                part.split_once('=').map(|(key, value)| (key.trim().to_owned(), Value::from(value.trim())))
            };
            text.split(',').map(pair).collect::<Option<Settings>>().map(Value::Object)
        }
    }
}

/// A size as fio writes it: `20g` is 20 GiB.
fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, shift) = match lower.char_indices().last()? {
        (at, 'k') => (&lower[..at], 10),
        (at, 'm') => (&lower[..at], 20),
        (at, 'g') => (&lower[..at], 30),
        (at, 't') => (&lower[..at], 40),
        _ => (lower.as_str(), 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn named(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::Text => "a text",
        SettingKind::Integer => "an integer",
        SettingKind::Switch => "`true` or `false`",
        SettingKind::Bytes => "a size, e.g. `20g`",
        SettingKind::Texts => "a list of texts",
        SettingKind::Map => "a map of texts",
    }
}

#[cfg(test)]
mod tests {
    use super::{Merged, Source, merge};
    use crate::protocol::{Renamed, Setting, SettingKind, Settings};
    use serde_json::json;
    use std::collections::BTreeMap;

    fn setting(kind: SettingKind) -> Setting {
        Setting {
            kind,
            about: "what it is".to_owned(),
            required: false,
            default: None,
            environment: Vec::new(),
            from_metadata: false,
            metadata: None,
            renamed: Vec::new(),
        }
    }

    fn known() -> BTreeMap<String, Setting> {
        let region = Setting {
            required: true,
            environment: vec!["T_REGION".to_owned(), "T_OTHER".to_owned()],
            renamed: vec![Renamed {
                from: "area".to_owned(),
                refused_in: "1.0".to_owned(),
                values: [("europe".to_owned(), "europe-west1".to_owned())].into(),
            }],
            ..setting(SettingKind::Text)
        };
        let kinds = [
            ("count", SettingKind::Integer),
            ("room", SettingKind::Bytes),
            ("spot", SettingKind::Switch),
            ("tags", SettingKind::Map),
            ("zones", SettingKind::Texts),
        ];
        let others = kinds.map(|(name, kind)| (name.to_owned(), setting(kind)));
        others.into_iter().chain([("region".to_owned(), region)]).collect()
    }

    fn merged(below: serde_json::Value, variables: &[(&str, &str)], above: serde_json::Value) -> Merged {
        let map = |value: serde_json::Value| value.as_object().cloned().unwrap();
        let (below, above): (Settings, Settings) = (map(below), map(above));
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
        let below = [Source { name: "the file", settings: &below }];
        merge(&known(), &below, &variable, &[Source { name: "the experiment", settings: &above }])
    }

    #[test]
    fn the_experiment_counts_before_the_environment_before_the_file() {
        let region = |below, variables: &[(&str, &str)], above| {
            merged(below, variables, above).settings["region"].clone()
        };
        let file = json!({ "region": "a" });
        assert_eq!(region(file.clone(), &[], json!({})), "a");
        assert_eq!(region(file.clone(), &[("T_OTHER", "b")], json!({})), "b");
        assert_eq!(region(file.clone(), &[("T_OTHER", "b"), ("T_REGION", "c")], json!({})), "c");
        assert_eq!(region(file, &[("T_REGION", "c")], json!({ "region": "d" })), "d");
        let missing = merged(json!({}), &[("T_REGION", "")], json!({}));
        assert!(missing.wrong[0].text.contains("`region` is missing"), "{missing:?}");
        assert!(missing.wrong[0].help.as_ref().unwrap().contains("T_REGION or T_OTHER"), "{missing:?}");
    }

    #[test]
    fn what_the_metadata_may_tell_is_not_missing() {
        let project = |from_metadata| Setting { required: true, from_metadata, ..setting(SettingKind::Text) };
        let wrong = |from_metadata| {
            merge(&[("project".to_owned(), project(from_metadata))].into(), &[], &|_| None, &[]).wrong.len()
        };
        assert_eq!((wrong(true), wrong(false)), (0, 1));
    }

    #[test]
    fn the_metadata_service_is_asked_only_where_a_value_says_so() {
        let mut known = known();
        known.get_mut("region").unwrap().metadata = Some("ec2:placement/region".to_owned());
        let mut asked = Vec::new();
        let mut resolved = |region: &str| {
            let mut merged = merged(json!({}), &[], json!({ "region": region, "zones": ["metadata"] }));
            merged.resolve(&known, &mut |fact| {
                asked.push(fact.to_owned());
                if asked.len() == 1 { Ok("eu-west-1".to_owned()) } else { Err("nobody answers".to_owned()) }
            });
            merged
        };
        assert_eq!(resolved("x").settings["region"], "x");
        assert_eq!(resolved("metadata").settings["region"], "eu-west-1");
        let wrong = resolved("metadata").wrong;
        assert_eq!(wrong[0].text, "`region: metadata`: nobody answers");
        assert_eq!(asked, ["ec2:placement/region"; 2]);
    }

    #[test]
    fn an_old_name_works_and_names_the_new_one_and_its_end() {
        let old = merged(json!({}), &[], json!({ "area": "europe" }));
        assert_eq!(old.settings["region"], "europe-west1");
        assert_eq!(
            old.warnings,
            [
                "the experiment: `area: europe` is `region: europe-west1` today; version 1.0 of diskproof refuses the old name"
            ]
        );
        assert!(old.wrong.is_empty(), "{old:?}");
        let both = merged(json!({}), &[], json!({ "area": "x", "region": "y" }));
        assert!(both.wrong[0].text.contains("which is there too"), "{both:?}");
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_named() {
        let wrong = merged(
            json!({}),
            &[],
            json!({ "region": "x", "conut": 3, "spot": "maybe", "room": -1, "zones": { "a": 1 } }),
        )
        .wrong;
        let said: Vec<String> =
            wrong.iter().map(|w| format!("{} {}", w.text, w.help.clone().unwrap_or_default())).collect();
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said.iter().any(|s| s == "there is no setting `conut` did you mean `count`?"), "{said:?}");
        assert!(said.iter().any(|s| s.contains("`spot: maybe` is not `true` or `false`")), "{said:?}");
        assert!(said.iter().any(|s| s.contains("`room: -1` is not a size")), "{said:?}");
    }

    #[test]
    fn sizes_lists_and_maps_are_read() {
        let all = merged(
            json!({ "zones": "a" }),
            &[],
            json!({ "region": 1.5, "room": "20g", "tags": { "a": 1 }, "count": "7" }),
        );
        assert!(all.wrong.is_empty(), "{all:?}");
        let expected = json!({ "region": "1.5", "room": 20_u64 << 30, "tags": { "a": "1" }, "count": 7, "zones": ["a"] });
        assert_eq!(serde_json::Value::Object(all.settings), expected);
    }
}
