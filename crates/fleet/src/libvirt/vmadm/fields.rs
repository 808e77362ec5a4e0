//! The fields of a JSON object, each taken once; what is left over is unknown.

use super::wrong::Wrong;
use serde_json::{Map, Value};

/// An object that is being read.
pub(super) struct Fields {
    at: String,
    left: Map<String, Value>,
    wrong: Vec<Wrong>,
}

impl Fields {
    pub(super) fn new(at: &str, map: Map<String, Value>) -> Self {
        Self { at: at.to_owned(), left: map, wrong: Vec::new() }
    }

    /// Notes that a field is wrong.
    pub(super) fn wrong(&mut self, key: &str, why: &str) {
        let at = if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) };
        self.wrong.push(Wrong { at, why: why.to_owned() });
    }

    /// Notes that a field is missing.
    pub(super) fn missing<T>(&mut self, key: &str, what: &str) -> Option<T> {
        // A field that is wrong is there.
        let at = if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) };
        if !self.wrong.iter().any(|wrong| wrong.at == at) {
            self.wrong(key, &format!("is missing: {what}"));
        }
        None
    }

    /// Whether a field is there and not taken yet.
    pub(super) fn has(&self, key: &str) -> bool {
        self.left.contains_key(key)
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.left.remove(key)? {
            Value::String(text) => Some(text),
            _ => {
                self.wrong(key, "is no text");
                None
            }
        }
    }

    /// A whole number; vmadm takes it as a text, too.
    pub(super) fn number(&mut self, key: &str) -> Option<u64> {
        let value = self.left.remove(key)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
        if number.is_none() {
            self.wrong(key, "is no whole number");
        }
        number
    }

    /// A flag; vmadm takes it as a text, too.
    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.left.remove(key)?;
        let flag = value.as_bool().or(match value.as_str() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        });
        if flag.is_none() {
            self.wrong(key, "is neither true nor false");
        }
        flag
    }

    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.left.remove(key) else { return Vec::new() };
        let texts: Option<Vec<String>> = value
            .as_array()
            .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            self.wrong(key, "is no list of texts");
        }
        texts.unwrap_or_default()
    }

    pub(super) fn object(&mut self, key: &str) -> Option<Self> {
        let at = if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) };
        match self.left.remove(key)? {
            Value::Object(map) => Some(Self::new(&at, map)),
            _ => {
                self.wrong(key, "is no object");
                None
            }
        }
    }

    /// The objects of a list.
    pub(super) fn objects(&mut self, key: &str) -> Vec<Self> {
        let Some(value) = self.left.remove(key) else { return Vec::new() };
        let Value::Array(items) = value else {
            self.wrong(key, "is no list");
            return Vec::new();
        };
        let mut objects = Vec::new();
        for (number, item) in items.into_iter().enumerate() {
            match item {
                Value::Object(map) => objects.push(Self::new(&format!("{key}[{number}]"), map)),
                _ => self.wrong(&format!("{key}[{number}]"), "is no object"),
            }
        }
        objects
    }

    /// Refuses fields that are known and can't be had.
    pub(super) fn refuse(&mut self, fields: &[(&str, &str)]) {
        for (key, why) in fields {
            if self.left.remove(*key).is_some() {
                self.wrong(key, why);
            }
        }
    }

    /// Refuses all fields that are left.
    pub(super) fn refuse_rest(&mut self, why: &str) {
        for (key, _) in std::mem::take(&mut self.left) {
            self.wrong(&key, why);
        }
    }

    /// Takes over what is wrong in a part.
    pub(super) fn take_wrong(&mut self, part: Self) {
        self.wrong.extend(part.end());
    }

    /// Returns what is wrong, with the fields that nobody took.
    pub(super) fn end(mut self) -> Vec<Wrong> {
        self.refuse_rest("isn't known");
        self.wrong
    }
}
