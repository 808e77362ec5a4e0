//! fio's job files: sections of `name=value` lines, parsed as fio does.

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

    /// Whether it holds defaults for the sections after it.
    pub(crate) fn is_global(&self) -> bool {
        self.name.starts_with("global")
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

/// Parses a job file. Comments are dropped (fio cuts at `;` and `#` anywhere in a line).
///
/// # Errors
/// The line number and what is wrong with the line.
pub(crate) fn parse(text: &str) -> Result<Ini, String> {
    let mut ini = Ini::default();
    for (index, raw) in text.lines().enumerate() {
        let number = index + 1;
        let line = raw.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name =
                rest.strip_suffix(']').map(str::trim).filter(|n| !n.is_empty() && !n.contains([']', '[']));
            let Some(name) = name else {
                return Err(format!("line {number}: {line:?} is no section head; expected e.g. [job1]"));
            };
            ini.sections.push(Section::new(name));
            continue;
        }
        let Some(section) = ini.sections.last_mut() else {
            return Err(format!("line {number}: {line:?} stands before the first section, e.g. [global]"));
        };
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        section.options.push((name.to_owned(), value));
    }
    Ok(ini)
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
    use super::{escape, parse};
    use proptest::prelude::{ProptestConfig, any, proptest};

    #[test]
    fn sections_options_and_comments() {
        let ini =
            parse("; c\n[global]\nrw = randread ; trailing\n\n[a]\nstonewall\nbs=4k\n#x\nbs=8k\n").unwrap();
        assert_eq!(ini.sections.len(), 2);
        assert!(ini.sections[0].is_global());
        assert_eq!(ini.sections[0].get("rw"), Some("randread"));
        assert_eq!(ini.sections[1].get("bs"), Some("8k"), "the last one counts");
        assert_eq!(ini.sections[1].get("stonewall"), Some(""));
        assert_eq!(ini.sections[1].get("size"), None);
        assert_eq!(ini.to_string(), "[global]\nrw=randread\n[a]\nstonewall\nbs=4k\nbs=8k\n");
    }

    #[test]
    fn errors_name_the_line() {
        assert!(parse("rw=read\n").unwrap_err().starts_with("line 1:"));
        assert!(parse("[a]\n\n[b\n").unwrap_err().starts_with("line 3:"));
        assert!(parse("[]\n").unwrap_err().starts_with("line 1:"));
    }

    #[test]
    fn escapes() {
        assert_eq!(escape("/a:b\\c"), "/a\\:b\\\\c");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn never_panics_and_what_is_read_reads_again(text in any::<String>()) {
            if let Ok(ini) = parse(&text) {
                assert_eq!(parse(&ini.to_string()), Ok(ini));
            }
        }
    }
}
