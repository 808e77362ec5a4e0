//! A file's text, and the places of its bytes.

/// A span of a source text, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A file's name and text.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    line_starts: Vec<usize>,
}

/// A place in a text, in the form for people.
pub(crate) struct Place {
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column in characters, from 1.
    pub(crate) column: usize,
    /// Text of the line, cut around the column if it is very long.
    pub(crate) line_text: String,
    /// Column within `line_text`, from 0.
    pub(crate) caret: usize,
    /// Length of the place within this line in characters, at least 1.
    pub(crate) width: usize,
}

/// Most characters of a line that are shown.
const SHOWN: usize = 120;
/// Characters before the column that are kept when a line is cut.
const BEFORE: usize = 60;

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Self { name: name.to_owned(), text: text.to_owned(), line_starts }
    }

    /// Returns the line of this byte, from 1.
    pub(crate) fn line(&self, byte: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= byte)
    }

    /// Returns the span of a line, counted from 1.
    pub(crate) fn line_span(&self, line: usize) -> Span {
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0);
        let rest = self.text.get(start..).unwrap_or_default();
        Span { start, end: start + rest.split('\n').next().unwrap_or_default().len() }
    }

    /// Returns the place where a span begins, with its line.
    pub(crate) fn place(&self, span: Span) -> Place {
        let start = floor(&self.text, span.start);
        let end = floor(&self.text, span.end).max(start);
        let line = self.line(start);
        let begin = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let rest = self.text.get(begin..).unwrap_or("");
        let whole = rest.split('\n').next().unwrap_or("").trim_end_matches('\r');
        let column = self.text.get(begin..start).unwrap_or("").chars().count();
        let length = whole.chars().count();
        let spanned = self
            .text
            .get(start..end)
            .unwrap_or("")
            .split('\n')
            .next()
            .unwrap_or("")
            .trim_end()
            .chars()
            .count();
        let skip = if length > SHOWN { column.saturating_sub(BEFORE) } else { 0 };
        let mut line_text: String =
            whole.chars().skip(skip).take(SHOWN).map(crate::diagnostic::visible).collect();
        let mut caret = column - skip;
        if skip > 0 {
            line_text.insert(0, '…');
            caret += 1;
        }
        if length > skip + SHOWN {
            line_text.push('…');
        }
        let room = line_text.chars().count().saturating_sub(caret);
        Place { line, column: column + 1, line_text, caret, width: spanned.min(room).max(1) }
    }
}

/// Returns the nearest character boundary at or before `byte`.
fn floor(text: &str, byte: usize) -> usize {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{Source, Span};

    fn shown(text: &str, start: usize, end: usize) -> (usize, usize, String, usize, usize) {
        let place = Source::new("x", text).place(Span { start, end });
        (place.line, place.column, place.line_text, place.caret, place.width)
    }

    #[test]
    fn places_count_characters_from_one() {
        assert_eq!(shown("a: 1\nä: öö\r\n", 9, 13), (2, 4, "ä: öö".to_owned(), 3, 2));
        assert_eq!(shown("", 0, 0), (1, 1, String::new(), 0, 1));
        assert_eq!(shown("a\n", 2, 2), (2, 1, String::new(), 0, 1));
        assert_eq!(shown("a", 99, 200), (1, 2, "a".to_owned(), 1, 1));
        // The middle of a character, as a wrong span could have it.
        assert_eq!(shown("ä", 1, 1), (1, 1, "ä".to_owned(), 0, 1));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}here{}", "x".repeat(5000), "y".repeat(5000));
        let (line, column, line_text, caret, width) = shown(&text, 5000, 5004);
        assert_eq!((line, column, width), (1, 5001, 4));
        assert!(line_text.chars().count() <= 122);
        assert_eq!(line_text.chars().skip(caret).take(4).collect::<String>(), "here");
    }
}
