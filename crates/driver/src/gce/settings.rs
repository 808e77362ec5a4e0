//! Reads settings by their table: types, names, old names.

use crate::protocol::{Problem, Setting, SettingKind, Settings};
use record::printable::printable;
use serde_json::Value;
use std::collections::BTreeMap;

/// The settings of one machine or volume, with the problems found in them.
pub(super) struct Reader<'a> {
    machine: &'a str,
    volume: Option<&'a str>,
    values: Settings,
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
    /// What a person should know: old names.
    pub(super) warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Checks the keys and the types of settings against their table.
    pub(super) fn new(
        machine: &'a str,
        volume: Option<&'a str>,
        given: &Settings,
        table: &BTreeMap<String, Setting>,
    ) -> Self {
        let mut reader =
            Self { machine, volume, values: Settings::new(), problems: Vec::new(), warnings: Vec::new() };
        for (key, value) in given {
            reader.take(key, value, table);
        }
        for (key, setting) in table {
            if setting.required && !reader.values.contains_key(key) && !setting.from_metadata {
                reader.problem(Some(key), "is missing", Some(setting.about.clone()));
            }
        }
        reader
    }

    fn take(&mut self, key: &str, value: &Value, table: &BTreeMap<String, Setting>) {
        let (key, value) = match table.get_key_value(key) {
            Some((key, _)) => (key.as_str(), value.clone()),
            None => match renamed(key, value, table) {
                None => {
                    let known: Vec<_> = table.keys().map(String::as_str).collect();
                    let help = format!("the settings are {}", known.join(", "));
                    return self.problem(Some(key), "is not known", Some(help));
                }
                Some((new, value, refused_in)) => {
                    self.warnings.push(format!(
                        "{} of {} is now called {new} (here {new}: {}); diskproof {refused_in} will refuse the old name",
                        printable(key),
                        self.machine,
                        value.as_str().unwrap_or("as before"),
                    ));
                    (new, value)
                }
            },
        };
        match table.get(key).map(|setting| setting.kind) {
            Some(kind) if !fits(kind, &value) => {
                self.problem(Some(key), format!("must be {}", expected(kind)), None)
            }
            _ if self.values.contains_key(key) => {
                self.problem(Some(key), "is given twice, also by its old name", None)
            }
            _ => drop(self.values.insert(key.to_owned(), value)),
        }
    }

    /// Notes a problem; `what` continues a sentence about the key.
    pub(super) fn problem(&mut self, key: Option<&str>, what: impl Into<String>, help: Option<String>) {
        let what = what.into();
        let text = match key {
            Some(key) => format!("{} {what}", printable(key)),
            None => what,
        };
        self.problems.push(Problem {
            machine: self.machine.to_owned(),
            volume: self.volume.map(str::to_owned),
            key: key.map(str::to_owned),
            text,
            help,
        });
    }

    /// A text that isn't empty.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.values.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// A number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.values.get(key)?.as_u64()
    }

    /// A switch; off where nobody says it.
    pub(super) fn is_on(&self, key: &str) -> bool {
        self.values.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A list of texts; empty where nobody says one.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let list = self.values.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }

    /// A map of texts; empty where nobody says one.
    pub(super) fn map(&self, key: &str) -> BTreeMap<String, String> {
        let map = self.values.get(key).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect()
    }
}

/// The new name and value of a setting with an old name, and the version that refuses it.
fn renamed<'t>(
    key: &str,
    value: &Value,
    table: &'t BTreeMap<String, Setting>,
) -> Option<(&'t str, Value, &'t str)> {
    table.iter().find_map(|(new, setting)| {
        let old = setting.renamed.iter().find(|old| old.from == key)?;
        let changed = value.as_str().and_then(|value| old.values.get(value));
        Some((
            new.as_str(),
            changed.map_or_else(|| value.clone(), |new| new.as_str().into()),
            old.refused_in.as_str(),
        ))
    })
}

fn fits(kind: SettingKind, value: &Value) -> bool {
    match kind {
        SettingKind::Text => value.is_string(),
        SettingKind::Integer | SettingKind::Bytes => value.is_u64(),
        SettingKind::Switch => value.is_boolean(),
        SettingKind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        SettingKind::Map => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
    }
}

fn expected(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::Text => "a text",
        SettingKind::Integer => "an integer that isn't negative",
        SettingKind::Bytes => "a size in bytes",
        SettingKind::Switch => "true or false",
        SettingKind::Texts => "a list of texts",
        SettingKind::Map => "a map of texts",
    }
}
