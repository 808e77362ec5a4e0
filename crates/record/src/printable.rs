//! Makes foreign text safe to show: names of processes, mount points, paths, serial numbers, output of programs, lines from other
//! machines, content of a store that somebody else wrote.
//!
//! A terminal obeys control characters, and text after a newline looks like a line of diskproof. So every character that moves
//! the cursor, ends a line, is invisible or changes the direction of writing becomes an escape: ` `, `\x1b`, `\u{202e}`; bytes
//! that are not UTF-8 become `\xff`. All other characters of all scripts stay.
//!
//! A backslash stays as it is. So the mapping is idempotent: text that was made printable in a record may be made printable again
//! where it is shown. The mapping is not injective (`\x1b` typed with four characters looks like the escape): people read the
//! result, and nothing parses or compares it.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Whether a character must not reach a terminal: it moves the cursor, ends a line, is invisible, or reorders text.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns a text as one line that is safe to show.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    match text.contains(is_hidden) {
        true => Cow::Owned(Printable(text.as_bytes()).to_string()),
        false => Cow::Borrowed(text),
    }
}

/// Returns a text of several lines, e.g. a program's output, so that every line is safe to show. The lines stay; the caller indents them.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    match text.contains(|c| c != '\n' && is_hidden(c)) {
        true => Cow::Owned(text.split('\n').map(printable).collect::<Vec<_>>().join("\n")),
        false => Cow::Borrowed(text),
    }
}

/// Foreign bytes; their `Display` is safe to show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Printable<'a>(pub &'a [u8]);

impl Printable<'_> {
    fn write(self, out: &mut impl fmt::Write) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            chunk.valid().chars().try_for_each(|c| put(out, c))?;
            chunk.invalid().iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_none() && f.precision().is_none() {
            return self.write(f);
        }
        let mut text = String::new();
        self.write(&mut text)?;
        f.pad(&text)
    }
}

impl fmt::Debug for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Joins an error and all its sources in one line, outermost first. Some quote text of other programs, so control characters are escaped and
/// further lines are indented.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = indented(&error.to_string()).into_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&indented(&cause.to_string()));
        source = cause.source();
    }
    text
}

fn put(f: &mut impl fmt::Write, c: char) -> fmt::Result {
    match c {
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c)),
        c if is_hidden(c) => write!(f, "\\u{{{:x}}}", u32::from(c)),
        c => f.write_char(c),
    }
}

/// Types with a form that is safe to show. In messages, `path.shown()` replaces `path.display()`.
pub trait Shown {
    /// Returns the form that is safe to show.
    fn shown(&self) -> Printable<'_>;
}

impl Shown for str {
    fn shown(&self) -> Printable<'_> {
        Printable(self.as_bytes())
    }
}

impl Shown for String {
    fn shown(&self) -> Printable<'_> {
        Printable(self.as_bytes())
    }
}

impl Shown for OsStr {
    fn shown(&self) -> Printable<'_> {
        Printable(self.as_bytes())
    }
}

impl Shown for OsString {
    fn shown(&self) -> Printable<'_> {
        Printable(self.as_bytes())
    }
}

impl Shown for Path {
    fn shown(&self) -> Printable<'_> {
        Printable(self.as_os_str().as_bytes())
    }
}

impl Shown for PathBuf {
    fn shown(&self) -> Printable<'_> {
        Printable(self.as_os_str().as_bytes())
    }
}

/// Returns a text of several lines for use below a line of diskproof: each line is safe to show, and all lines after the first
/// are indented, so that none of them looks like a line of diskproof.
#[must_use]
pub fn indented(text: &str) -> Cow<'_, str> {
    let text = printable_lines(text);
    let begins = |line: &str| line.is_empty() || line.starts_with("  ");
    match text.split('\n').skip(1).all(begins) {
        true => text,
        false => {
            let lines = text.split('\n').enumerate().map(|(at, line)| match at > 0 && !begins(line) {
                true => Cow::Owned(format!("    {line}")),
                false => Cow::Borrowed(line),
            });
            Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Returns a text as one line that is safe to show: indented lines are appended to the line before.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut out = printable(lines.next().unwrap_or_default()).into_owned();
    for line in lines {
        out.push_str(if line.starts_with("  ") { " " } else { "\\n" });
        out.push_str(&printable(line.trim_start_matches(' ')));
    }
    out
}

/// Makes every text in a JSON value printable and one line, including field names.
pub fn make_printable(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) if text.contains(is_hidden) => *text = one_line(text),
        Value::Array(items) => items.iter_mut().for_each(make_printable),
        Value::Object(fields) => {
            fields.values_mut().for_each(make_printable);
            if fields.keys().any(|name| name.contains(is_hidden)) {
                let all = std::mem::take(fields);
                *fields =
                    all.into_iter().map(|(name, value)| (printable(&name).into_owned(), value)).collect();
            }
        }
        _ => {}
    }
}

/// Returns a record with every text in it made printable.
///
/// # Errors
/// The record can't be written as JSON, or its printable form doesn't fit its type.
pub fn printable_noun<T>(noun: &T) -> Result<T, serde_json::Error>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let mut value = serde_json::to_value(noun)?;
    make_printable(&mut value);
    serde_json::from_value(value)
}

/// Returns JSON in which no hidden character appears as itself. Outside of strings there is none, and in strings `\u202e` means the same.
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.contains(|c| c != '\n' && is_hidden(c)) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            c if c != '\n' && is_hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = fmt::Write::write_fmt(&mut out, format_args!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::{
        Printable, Shown as _, indented, is_hidden, printable, printable_json, printable_lines,
        printable_noun,
    };
    use proptest::prelude::{ProptestConfig, any, proptest};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    #[test]
    fn what_moves_a_cursor_or_hides_is_shown_as_an_escape() {
        for (raw, shown) in [
            ("\u{1b}]0;x\u{7}", "\\x1b]0;x\\x07"),
            ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
            ("\u{7f}\u{80}\u{9b}31m", "\\x7f\\u{80}\\u{9b}31m"),
            ("\u{202e}\u{2066}\u{200f}\u{61c}", "\\u{202e}\\u{2066}\\u{200f}\\u{61c}"),
            ("\u{2028}\u{2029}\u{200b}\u{feff}", "\\u{2028}\\u{2029}\\u{200b}\\u{feff}"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(printable(raw), shown);
        }
    }

    #[test]
    fn all_scripts_and_the_backslash_stay() {
        for plain in ["Größe µs", "данные", "データ", "नमस्ते", "😀", "C:\\x1b", "a — b", ""]
        {
            assert_eq!(printable(plain), plain);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_by_number() {
        let path = Path::new(OsStr::from_bytes(b"/mnt/\xff\xfe\n\x1b[2J/\xe2\x82"));
        assert_eq!(path.shown().to_string(), "/mnt/\\xff\\xfe\\n\\x1b[2J/\\xe2\\x82");
        assert_eq!(format!("{:>4}|{:<4}|", "a".shown(), "b".shown()), "   a|b   |");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(printable_lines("a\u{1b}\nb\r\nc"), "a\\x1b\nb\\r\nc");
    }

    #[test]
    fn lines_below_ours_are_indented() {
        assert_eq!(indented("a\nb\n  c\n\nd\u{7}"), "a\n    b\n  c\n\n    d\\x07");
        assert_eq!(indented("a\n    | b"), "a\n    | b");
    }

    #[test]
    fn json_means_the_same_without_hidden_characters() {
        let texts = vec!["\u{9b}31m\u{202e}\u{e0041}".to_owned(), "\n\u{1b}".to_owned()];
        let json = serde_json::to_string_pretty(&texts).unwrap();
        let safe = printable_json(&json);
        assert!(!safe.contains(|c| c != '\n' && is_hidden(c)), "{safe}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), texts);
    }

    #[test]
    fn every_text_of_a_noun_is_printable() {
        let noun = std::collections::BTreeMap::from([("a\n".to_owned(), vec!["\u{1b}[2J".to_owned()])]);
        let safe = printable_noun(&noun).unwrap();
        assert_eq!(safe["a\\n"], ["\\x1b[2J"]);
        let sentence = vec!["it failed; stderr:\n    | one\n    | two\nthree".to_owned()];
        assert_eq!(printable_noun(&sentence).unwrap(), ["it failed; stderr: | one | two\\nthree"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn nothing_hidden_is_left_and_twice_is_once(bytes in any::<Vec<u8>>(), text in "\\PC*|.*|[\\p{C}a\\n]*") {
            for once in [Printable(&bytes).to_string(), printable(&text).into_owned()] {
                assert!(!once.contains(is_hidden), "{once:?}");
                assert_eq!(printable(&once), once);
            }
        }
    }
}
