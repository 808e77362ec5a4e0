//! Errors in a file, with the place and a remedy for its author.

use record::printable::{Shown as _, is_hidden};
use std::fmt;

/// One error in an experiment file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the file as the user gave it; for a value on the command line, that argument.
    pub file: String,
    /// Line, from 1; 0 when the problem is not in a line of a file.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Text of the line; very long lines are cut around the column.
    pub line_text: String,
    /// Offset in `line_text` where the problem begins, in characters.
    pub caret: usize,
    /// Length of the problem in characters, at least 1.
    pub width: usize,
    /// What is wrong.
    pub message: String,
    /// What would be correct.
    pub expected: Option<String>,
    /// The nearest correct spelling.
    pub did_you_mean: Option<String>,
    /// What the user can do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Adds what would be correct.
    pub(crate) fn expected(&mut self, text: impl Into<String>) -> &mut Self {
        self.expected = Some(text.into());
        self
    }

    /// Adds the nearest correct spelling, if one is near.
    pub(crate) fn suggest<'a>(&mut self, typed: &str, known: impl IntoIterator<Item = &'a str>) -> &mut Self {
        self.did_you_mean = nearest(typed, known);
        self
    }

    /// Adds what the user can do.
    pub(crate) fn help(&mut self, text: impl Into<String>) -> &mut Self {
        self.help = Some(text.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let margin = if self.line == 0 {
            write!(f, "{}: {}", self.file.shown(), self.message)?;
            4
        } else {
            write!(f, "{}:{}:{}: {}", self.file.shown(), self.line, self.column, self.message)?;
            let number = self.line.to_string();
            let margin = number.len().max(3);
            write!(f, "\n{number:>margin$} | {}", self.line_text)?;
            write!(f, "\n{:margin$} | {:indent$}{}", "", "", "^".repeat(self.width), indent = self.caret)?;
            margin
        };
        let mut note = |text: &str| -> fmt::Result {
            for (i, part) in textwrap::wrap(text, wrapping()).into_iter().enumerate() {
                let lead = if i == 0 { "=" } else { " " };
                write!(f, "\n{:margin$} {lead} {part}", "")?;
            }
            Ok(())
        };
        if let Some(name) = &self.did_you_mean {
            note(&format!("did you mean `{name}`?"))?;
        }
        if let Some(text) = &self.expected {
            note(&format!("expected {text}"))?;
        }
        if let Some(text) = &self.help {
            note(text)?;
        }
        Ok(())
    }
}

/// At blanks only, since the words may be paths and options.
fn wrapping() -> textwrap::Options<'static> {
    textwrap::Options::new(100).break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// All errors in a file, in the order of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// The errors, at most 20.
    pub list: Vec<Diagnostic>,
    /// Whether there may be more: the search ended at this number.
    pub more: bool,
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, one) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{one}")?;
        }
        if self.more {
            write!(f, "\n\nthese are the first {}; there may be more", self.list.len())?;
        }
        Ok(())
    }
}

/// Returns the known word nearest to the typed one, if it is near enough to be a typing error.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if typed.len() > 64 {
        return None;
    }
    let typed = typed.to_lowercase().replace('-', "_");
    let allowed = (typed.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .filter(|word| word.len() <= 64)
        .map(|word| (strsim::damerau_levenshtein(&typed, &word.replace('-', "_")), word))
        .filter(|(distance, word)| *distance <= allowed && *distance < word.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word.to_owned())
}

/// Makes text from a file safe to print, and cuts it at `max` characters.
pub(crate) fn printable(text: &str, max: usize) -> String {
    let text = record::printable::printable(text);
    let mut out: String = text.chars().take(max).collect();
    if text.chars().nth(max).is_some() {
        out.push('…');
    }
    out
}

/// Returns the character that is printed for one of a line with a mark below it. Each takes exactly one column: a tab becomes a
/// space, and an unprintable character becomes a replacement.
pub(crate) fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if is_hidden(c) => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::{nearest, printable};

    #[test]
    fn slips_find_their_word_and_strangers_find_none() {
        let known = ["iodepth", "rwmixread", "bs", "size", "read_iops"];
        for (typed, right) in [
            ("iodepht", Some("iodepth")),
            ("IODEPTH", Some("iodepth")),
            ("rwmix_read", Some("rwmixread")),
            ("read-iops", Some("read_iops")),
            ("sizes", Some("size")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known).as_deref(), right, "{typed}");
        }
        assert_eq!(nearest(&"iodepth".repeat(100), known), None);
    }

    #[test]
    fn nothing_that_moves_the_cursor_is_printed() {
        assert_eq!(printable("a\u{1b}[31mb\tc\u{202e}d\n", 40), "a\\x1b[31mb\\tc\\u{202e}d\\n");
        assert_eq!(printable(&"é".repeat(50), 3), "ééé…");
    }
}
