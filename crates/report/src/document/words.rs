//! Running text as data: pieces with a style.

/// What a piece of text says about its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something is wrong: the figure doesn't count, or a limit is missed.
    Bad,
    /// Something to know, or something that is still open.
    Warn,
    /// All is well.
    Good,
    /// Less important than what stands around it.
    Faint,
}

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// Not at all.
    #[default]
    Plain,
    /// As the subject of its sentence.
    Strong,
    /// Struck out: a number that nobody may quote.
    Struck,
    /// By its tone.
    Toned(Tone),
}

/// A piece of text with one style. The text may come from outside and hold any character: each renderer escapes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// Its style.
    pub style: Style,
}

/// Running text: pieces in sequence, without anything between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words(pub Vec<Span>);

impl Words {
    /// A text in one style.
    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self(vec![Span { text: text.into(), style }])
    }

    /// These words, followed by a plain text.
    pub(crate) fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span { text: text.into(), style: Style::Plain });
        self
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::styled(Style::Plain, text)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self::styled(Style::Plain, text)
    }
}
