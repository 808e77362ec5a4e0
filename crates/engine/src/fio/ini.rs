//! Job files for fio: sections of `name=value` lines.

use std::fmt;

/// A job file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ini {
    /// The sections in order; a `global` section holds for the sections after it.
    pub(crate) sections: Vec<Section>,
}

/// One section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// Its name; fio treats every name that begins with `global` as global.
    pub(crate) name: String,
    /// Its options in order; of several with one name, the last counts. A bare `name` has no value.
    pub(crate) options: Vec<(String, Option<String>)>,
}

impl Section {
    /// An empty section.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), options: Vec::new() }
    }

    /// Sets an option, and replaces an earlier value of the same name.
    pub(crate) fn set(&mut self, name: &str, value: impl fmt::Display) {
        let value = Some(value.to_string());
        match self.options.iter_mut().find(|(n, _)| n == name) {
            Some(slot) => slot.1 = value,
            None => self.options.push((name.to_owned(), value)),
        }
    }

    /// Sets a switch: 1 or 0.
    pub(crate) fn flag(&mut self, name: &str, on: bool) {
        self.set(name, u8::from(on));
    }

    /// The last value given for a name; `Some("")` for a bare name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_deref().unwrap_or_default())
    }

    /// Removes an option.
    pub(crate) fn remove(&mut self, name: &str) {
        self.options.retain(|(n, _)| n != name);
    }
}

impl fmt::Display for Ini {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            writeln!(f, "[{}]", section.name)?;
            for (name, value) in &section.options {
                match value {
                    Some(value) => writeln!(f, "{name}={value}")?,
                    None => writeln!(f, "{name}")?,
                }
            }
        }
        Ok(())
    }
}

/// Escapes a path for fio's `filename`: `:` separates files and `\` escapes.
pub(crate) fn escape(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, ':' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Ini, Section, escape};

    #[test]
    fn what_is_set_is_written_once() {
        let mut section = Section::new("a");
        section.set("bs", "4k");
        section.flag("direct", true);
        section.set("bs", "8k");
        section.options.push(("stonewall".to_owned(), None));
        assert_eq!(
            (section.get("bs"), section.get("stonewall"), section.get("size")),
            (Some("8k"), Some(""), None)
        );
        section.remove("direct");
        assert_eq!(Ini { sections: vec![section] }.to_string(), "[a]\nbs=8k\nstonewall\n");
    }

    #[test]
    fn escapes() {
        assert_eq!(escape("/a:b\\c"), "/a\\:b\\\\c");
    }
}
