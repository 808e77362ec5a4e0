//! Colours of text.

use crate::document::{Style, Tone};

/// All escape sequences that this crate writes.
pub const SGR: [&str; 6] =
    ["\u{1b}[1m", "\u{1b}[1;31m", "\u{1b}[33m", "\u{1b}[32m", "\u{1b}[2m", "\u{1b}[0m"];

/// Colours text by SGR sequences of ECMA-48, if colours are on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    /// A heading: bold.
    pub(crate) fn heading(self, text: &str) -> String {
        self.sgr("1", text)
    }

    /// A text in a style: red, yellow, green or dim, or as it is.
    pub(crate) fn text(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Toned(Tone::Bad) => "1;31",
            Style::Toned(Tone::Warn) => "33",
            Style::Toned(Tone::Good) => "32",
            Style::Toned(Tone::Faint) => "2",
            Style::Plain | Style::Strong | Style::Struck => return text.to_owned(),
        };
        self.sgr(code, text)
    }

    fn sgr(self, code: &str, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
