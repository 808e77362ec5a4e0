//! Pages for people.

use crate::exit::Failure;
use crate::output::{Colours, own, safe, width};
use crate::settings::Settings;
use report::Document;
use std::ffi::OsString;
use std::io::IsTerminal as _;

/// Writes a document, with the width, the colours and the characters of standard output.
///
/// # Errors
/// As [`own`].
pub(crate) fn show(document: &Document, settings: &Settings) -> Result<(), Failure> {
    let is_terminal = std::io::stdout().is_terminal();
    let text = report::terminal(document, width(), settings.colored(is_terminal));
    let text =
        if has_only_ascii(is_terminal, |name| std::env::var_os(name)) { report::ascii(&text) } else { text };
    own(&safe(&text, Colours::Pass))
}

/// Whether the locale has another character set than UTF-8, or the terminal is a dumb one. Without any of the variables nothing is known,
/// and UTF-8 is what terminals have.
fn has_only_ascii(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let is_dumb = is_terminal && set(&"TERM").is_some_and(|term| term == "dumb");
    // the order of POSIX
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    let is_utf8 = |locale: OsString| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    is_dumb || locale.is_some_and(|locale| !is_utf8(locale))
}

#[cfg(test)]
mod tests {
    use super::has_only_ascii;

    #[test]
    fn the_locale_or_a_dumb_terminal_asks_for_ascii() {
        let with = |is_terminal: bool, all: &[(&str, &str)]| {
            let of = |name: &str| all.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).into());
            has_only_ascii(is_terminal, of)
        };
        assert!(!with(true, &[]) && !with(true, &[("LANG", "de_DE.UTF-8"), ("TERM", "xterm")]));
        assert!(!with(true, &[("LANG", "C"), ("LC_ALL", "C.utf8")]), "LC_ALL comes first");
        assert!(!with(true, &[("LANG", "C.UTF-8"), ("LC_ALL", "")]), "an empty one is not set");
        assert!(
            with(false, &[("LANG", "C")]) && with(true, &[("LC_CTYPE", "de_DE@euro"), ("LANG", "C.UTF-8")])
        );
        assert!(
            with(true, &[("TERM", "dumb")]) && !with(false, &[("TERM", "dumb")]),
            "a file is no terminal"
        );
    }
}
