//! Sections of a job file, and what a job inherits.

use crate::source::Span;
use std::collections::BTreeMap;

/// A section as written.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) options: Vec<Given>,
}

/// An option as written.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) name: String,
    /// Value of the option; `None`: a bare word, which only some switches allow.
    pub(crate) value: Option<String>,
    pub(crate) span: Span,
    /// Whether it means the opposite of the option that it is an alias of.
    inverse: bool,
    typed: String,
}

/// fio's aliases of options.
const ALIASES: &[(&str, &str)] = &[
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("fileoffset", "offset"),
    ("nr_files", "nrfiles"),
    ("readwrite", "rw"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
];

impl Given {
    /// Returns an option under fio's main name, with the corresponding value.
    pub(crate) fn new(name: &str, value: Option<&str>, span: Span) -> Self {
        let typed = name.to_owned();
        let plain = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, plain)| *plain);
        let inverted = match (plain, value) {
            ("buffered", Some("0")) => Some(("direct", "1".to_owned())),
            ("buffered", Some("1")) => Some(("direct", "0".to_owned())),
            ("rwmixwrite", Some(percent)) => percent
                .parse::<u8>()
                .ok()
                .and_then(|percent| 100_u8.checked_sub(percent))
                .map(|percent| ("rwmixread", percent.to_string())),
            _ => None,
        };
        match inverted {
            Some((name, value)) => {
                Self { name: name.to_owned(), value: Some(value), span, inverse: true, typed }
            }
            None => {
                Self { name: plain.to_owned(), value: value.map(str::to_owned), span, inverse: false, typed }
            }
        }
    }

    /// Returns the option as messages quote it.
    pub(crate) fn shown(&self) -> String {
        let text = match &self.value {
            Some(value) if !self.inverse => format!("{}={value}", self.typed),
            _ => self.typed.clone(),
        };
        crate::diagnostic::printable(&text, 60)
    }

    /// Returns its value, `1` for a bare word.
    pub(super) fn value_or_set(&self) -> &str {
        self.value.as_deref().unwrap_or("1")
    }

    /// Whether a switch that may be a bare word is on.
    pub(super) fn is_set(&self) -> Option<bool> {
        super::value::switch(self.value_or_set())
    }
}

/// Returns every job with all its options. A fio [global] section applies to the jobs below it, and a later option overrides an
/// earlier one.
pub(crate) fn effective(sections: &[Section]) -> impl Iterator<Item = (&Section, BTreeMap<&str, &Given>)> {
    let mut defaults: BTreeMap<&str, &Given> = BTreeMap::new();
    sections.iter().filter_map(move |section| {
        let own = section.options.iter().map(|given| (given.name.as_str(), given));
        if section.name == "global" {
            defaults.extend(own);
            return None;
        }
        let mut all = defaults.clone();
        all.extend(own);
        Some((section, all))
    })
}
