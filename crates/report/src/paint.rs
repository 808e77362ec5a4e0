//! Colours of text.

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Heading,
    Bad,
    Warn,
    Good,
    Faint,
}

/// All escape sequences that this crate writes.
pub const SGR: [&str; 6] =
    ["\u{1b}[1m", "\u{1b}[1;31m", "\u{1b}[33m", "\u{1b}[32m", "\u{1b}[2m", "\u{1b}[0m"];

/// Colours text, if colours are on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    /// Colours a text by SGR sequences of ECMA-48: bold, red, yellow, green, dim.
    pub(crate) fn text(self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Heading => "1",
            Tone::Bad => "1;31",
            Tone::Warn => "33",
            Tone::Good => "32",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
