//! The configuration file: a flat YAML mapping of setting to value.

use super::keys::{KEYS, Key};
use super::{Origin, Said, SettingsError};
use serde_saphyr::Spanned;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// The largest configuration file, in bytes; a larger one was named by mistake.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads the settings in the file at `path`; none if it doesn't exist and isn't required.
pub(super) fn read(path: &Path, required: bool) -> Result<Vec<Said>, SettingsError> {
    let unreadable = |source| SettingsError::Unreadable { path: path.to_path_buf(), named: required, source };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && !required => return Ok(vec![]),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if read as u64 > MAX_BYTES {
        return Err(unreadable(std::io::Error::other(
            "larger than 64 KiB: this is not a configuration file",
        )));
    }
    parse(path, &text)
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Said>, SettingsError> {
    let has_content = text.lines().any(|l| !matches!(l.trim().chars().next(), None | Some('#')));
    if !has_content {
        return Ok(vec![]);
    }
    let entries: BTreeMap<String, Spanned<String>> = serde_saphyr::from_str(text).map_err(|e| {
        SettingsError::Malformed { path: path.to_path_buf(), message: e.without_snippet().to_string() }
    })?;
    let mut said = Vec::new();
    for (name, value) in entries {
        let line = value.referenced.line();
        let key = KEYS.into_iter().find(|k| k.name == name).ok_or_else(|| SettingsError::UnknownKey {
            path: path.to_path_buf(),
            line,
            did_you_mean: nearest(&name),
            name,
        })?;
        said.push(Said { key, text: value.value, origin: Origin::File { path: path.to_path_buf(), line } });
    }
    Ok(said)
}

/// The known key that is most similar to a mistyped one, if any is.
fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let distance = |key: &Key| strsim::damerau_levenshtein(key.name, &lower);
    KEYS.iter().filter(|key| distance(key) <= 2).min_by_key(|key| distance(key)).map(|key| key.name)
}
