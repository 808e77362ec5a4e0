//! Collects the problems of a file: all are reported together, one per place.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limits::MAX_PROBLEMS;
use crate::source::{Source, Span};
use std::collections::BTreeSet;

/// The problems of one experiment file, and the notes about it.
pub(crate) struct Problems<'s> {
    source: &'s Source,
    found: Vec<(usize, Diagnostic)>,
    seen: BTreeSet<(String, usize, bool)>,
    beyond: Diagnostic,
    notes: Vec<String>,
    declared: Vec<Declared>,
}

/// A parameter or factor, and where it is declared.
struct Declared {
    what: &'static str,
    name: String,
    at: Span,
}

impl<'s> Problems<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self {
            source,
            found: Vec::new(),
            seen: BTreeSet::new(),
            beyond: Diagnostic::default(),
            notes: Vec::new(),
            declared: Vec::new(),
        }
    }

    /// Reports a problem in the experiment file. Only the first one at a place is kept: others at the same place are nearly
    /// always consequences.
    pub(crate) fn add(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        let source = self.source;
        self.add_in(source, span, message)
    }

    /// Reports that something is missing in a map or list, separately from a problem at the map's first place.
    pub(crate) fn add_missing(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        let source = self.source;
        self.add_once(source, span, true, message)
    }

    /// Returns the last reported problem, for more details; a problem that is not kept if the last one is at another place.
    pub(crate) fn amend(&mut self, span: Span) -> &mut Diagnostic {
        match self.found.last_mut() {
            Some((at, last)) if *at == span.start => last,
            _ => &mut self.beyond,
        }
    }

    /// Reports a problem in another file.
    pub(crate) fn add_in(
        &mut self,
        source: &Source,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add_once(source, span, false, message)
    }

    fn add_once(
        &mut self,
        source: &Source,
        span: Span,
        missing: bool,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        if !self.seen.insert((source.name.clone(), span.start, missing)) {
            return &mut self.beyond;
        }
        let place = source.place(span);
        self.push(
            span.start,
            Diagnostic {
                file: source.name.clone(),
                line: place.line,
                column: place.column,
                line_text: place.line_text,
                caret: place.caret,
                width: place.width,
                message: message.into(),
                ..Diagnostic::default()
            },
        )
    }

    /// Reports a problem that is not in a line of a file; `place` describes where it is.
    pub(crate) fn add_elsewhere(&mut self, place: String, message: impl Into<String>) -> &mut Diagnostic {
        self.push(0, Diagnostic { file: place, message: message.into(), ..Diagnostic::default() })
    }

    fn push(&mut self, at: usize, diagnostic: Diagnostic) -> &mut Diagnostic {
        if self.full() {
            return &mut self.beyond;
        }
        self.found.push((at, diagnostic));
        match self.found.last_mut() {
            Some((_, last)) => last,
            None => &mut self.beyond,
        }
    }

    /// Remembers where a parameter or factor is declared.
    pub(crate) fn declare(&mut self, what: &'static str, name: &str, at: Span) {
        self.declared.push(Declared { what, name: name.to_owned(), at });
    }

    /// Returns the declaration that gives a name its meaning at `span`, as "parameter `n` (line 3)".
    pub(crate) fn declaration(&self, name: &str, span: Span) -> Option<String> {
        let named = self.declared.iter().filter(|one| one.name == name);
        let before = named.clone().rfind(|one| one.at.start <= span.start);
        let one = before.or_else(|| named.clone().next())?;
        Some(format!("{} `{name}` (line {})", one.what, self.source.line(one.at.start)))
    }

    /// Adds a note about something that is not an error. A note is added once.
    pub(crate) fn note(&mut self, span: Span, text: impl AsRef<str>) {
        let line = self.source.line(span.start);
        let note = format!("{}:{line}: {}", self.source.name, text.as_ref());
        if self.notes.len() < MAX_PROBLEMS && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Takes over the problems and notes of another file, which this file names at `span`.
    pub(crate) fn absorb(&mut self, span: Span, other: Problems<'_>) {
        for (_, diagnostic) in other.found {
            *self.push(span.start, Diagnostic::default()) = diagnostic;
        }
        for note in other.notes {
            if self.notes.len() < MAX_PROBLEMS && !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Whether there are enough problems to stop looking.
    pub(crate) fn full(&self) -> bool {
        self.found.len() >= MAX_PROBLEMS
    }

    /// Whether nothing is wrong so far.
    pub(crate) fn none(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the notes if there are no problems, else all problems in the order of the lines.
    pub(crate) fn finish(mut self) -> Result<Vec<String>, Diagnostics> {
        if self.found.is_empty() {
            return Ok(self.notes);
        }
        let more = self.full();
        self.found.sort_by_key(|(at, _)| *at);
        Err(Diagnostics { list: self.found.into_iter().map(|(_, one)| one).collect(), more })
    }
}
