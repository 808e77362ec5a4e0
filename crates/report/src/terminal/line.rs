//! Wrapped and coloured lines.

use crate::document::{Style, Words};
use crate::paint::Paint;
use crate::wrap::fill;
use record::printable::one_line;

/// Wraps words as [`fill`] does, and colours each word that has a tone.
pub(super) fn painted(first: &str, words: &Words, width: usize, paint: Paint) -> String {
    let pieces: Vec<(String, Style)> = words
        .0
        .iter()
        .map(|span| match span.style {
            Style::Struck => (format!("~{}~", one_line(&span.text)), span.style),
            _ => (one_line(&span.text), span.style),
        })
        .collect();
    let text: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
    let plain = fill(first, &text, width);
    if !paint.colour {
        return plain;
    }
    // Wrapping changes only the blanks, so each other character keeps its place among them, and with it its style.
    let mut styles = pieces
        .iter()
        .flat_map(|(text, style)| text.split_whitespace().flat_map(str::chars).map(move |_| *style));
    let mut out = first.to_owned();
    let mut run = Run { style: Style::Plain, text: String::new() };
    let mut blanks = String::new();
    for c in plain[first.len()..].chars() {
        if c == '\n' {
            out.push_str(&run.end(Style::Plain, paint));
            out.push_str(&std::mem::take(&mut blanks));
            out.push(c);
        } else if c.is_whitespace() {
            blanks.push(c);
        } else {
            let style = styles.next().unwrap_or_default();
            if style != run.style {
                out.push_str(&run.end(style, paint));
                out.push_str(&std::mem::take(&mut blanks));
            }
            run.text.push_str(&std::mem::take(&mut blanks));
            run.text.push(c);
        }
    }
    out
}

/// Characters in sequence with one style.
struct Run {
    style: Style,
    text: String,
}

impl Run {
    /// Returns the coloured text and begins a run of another style.
    fn end(&mut self, next: Style, paint: Paint) -> String {
        let text = paint.text(self.style, &std::mem::take(&mut self.text));
        self.style = next;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::painted;
    use crate::document::{Style, Tone, Words};
    use crate::paint::Paint;

    #[test]
    fn colours_end_with_the_line_and_change_no_break() {
        let words = Words::styled(Style::Toned(Tone::Bad), "They don't agree:").then(" 1 of 2.");
        let at = |width, colour| painted("  ", &words, width, Paint { colour });
        assert_eq!(at(80, true), "  \u{1b}[1;31mThey don't agree:\u{1b}[0m 1 of 2.\n");
        assert_eq!(
            at(15, true),
            "  \u{1b}[1;31mThey don't\u{1b}[0m\n  \u{1b}[1;31magree:\u{1b}[0m 1 of\n  2.\n"
        );
        assert_eq!(at(15, false), "  They don't\n  agree: 1 of\n  2.\n");
    }

    #[test]
    fn a_style_may_change_inside_a_word() {
        let words = Words::styled(Style::Toned(Tone::Warn), "caveat").then(": kernel");
        let shown = painted("", &words, 80, Paint { colour: true });
        assert_eq!(shown, "\u{1b}[33mcaveat\u{1b}[0m: kernel\n");
    }

    #[test]
    fn control_characters_are_text() {
        let words = Words::from("a\u{1b}[2J\nb");
        assert_eq!(painted("", &words, 80, Paint { colour: true }), "a\\x1b[2J\\nb\n");
    }
}
