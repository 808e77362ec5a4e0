//! Names that are used in reports, paths and device names.

use crate::diagnostic::printable;
use crate::limits::MAX_NAME;
use crate::problems::Problems;
use crate::tree::Key;

fn safe(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-')
}

/// Checks the name of an experiment or volume.
pub(crate) fn check_plain(key: &Key, what: &str, problems: &mut Problems<'_>) -> Option<()> {
    check(key, what, &key.text, problems)
}

/// Checks a name with `{factor}` templates in it.
pub(crate) fn check_template(key: &Key, what: &str, problems: &mut Problems<'_>) -> Option<()> {
    let mut outside = String::new();
    let mut rest = key.text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        outside.push_str(before);
        outside.push('x');
        rest = after.split_once('}').map_or("", |(_, tail)| tail);
    }
    outside.push_str(rest);
    check(key, what, &outside, problems)
}

fn check(key: &Key, what: &str, text: &str, problems: &mut Problems<'_>) -> Option<()> {
    let first = text.chars().next();
    if first.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.chars().all(safe)
        && text.len() <= MAX_NAME
    {
        return Some(());
    }
    let better: String =
        text.to_lowercase().chars().map(|c| if safe(c) { c } else { '-' }).take(MAX_NAME).collect();
    let better = better.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let diagnostic = problems
        .add(key.span, format!("`{}` cannot be the name of {what}", printable(&key.text, 60)))
        .expected(format!("a-z 0-9 . _ -, beginning with a letter or digit, at most {MAX_NAME} characters"));
    if !better.is_empty() && better.len() <= 40 && text == key.text {
        diagnostic.help(format!("for example `{better}`"));
    }
    None
}

/// Returns a level as part of a name: unsafe characters become `-`.
pub(crate) fn from_level(text: &str) -> String {
    text.to_lowercase().chars().map(|c| if safe(c) { c } else { '-' }).collect()
}
