//! Names and their values: parameters in the outer scope, the factors of a stack or workload in the inner one.

use crate::diagnostic::{nearest, printable};
use crate::expression::{evaluate, is_name};
use crate::limits::{MAX_FILLED, MAX_TEXT};
use crate::number::Number;
use crate::quantity::{Wrong, amount};

/// The value of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Level {
    Text(String),
    List(Vec<String>),
}

impl Level {
    /// Returns it as it is shown and recorded.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(items) => items.join(","),
        }
    }
}

/// Names that layers and filters use themselves.
pub(crate) const RESERVED: &[&str] =
    &["device", "devices", "mount", "name", "stack", "workload", "target", "seed"];

/// The meaning of names at one place.
#[derive(Debug, Default)]
pub(crate) struct Scope<'a> {
    pub(crate) parent: Option<&'a Scope<'a>>,
    pub(crate) names: Vec<(String, Level)>,
}

impl Scope<'_> {
    pub(crate) fn find(&self, name: &str) -> Option<&Level> {
        let own = self.names.iter().find(|(known, _)| known == name).map(|(_, level)| level);
        own.or_else(|| self.parent.and_then(|parent| parent.find(name)))
    }

    /// Returns all names, innermost first.
    pub(crate) fn known(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names.iter().map(|(name, _)| name.as_str()).collect();
        names.extend(self.parent.map(|parent| parent.known()).unwrap_or_default());
        names
    }

    /// Returns the levels in force, ` (n = 4, bs = 16k)`, for messages about one of many cells.
    pub(crate) fn levels(&self) -> String {
        if self.parent.is_none() || self.names.is_empty() {
            return String::new();
        }
        let shown: Vec<String> = self
            .names
            .iter()
            .map(|(name, level)| format!("{name} = {}", printable(&level.text(), 30)))
            .collect();
        format!(" ({})", shown.join(", "))
    }

    /// Like [`Self::levels`], but only those that a text mentions.
    pub(crate) fn levels_in(&self, text: &str) -> String {
        let words: Vec<&str> = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
        let names = self.names.iter().filter(|(name, _)| words.contains(&name.as_str())).cloned().collect();
        Scope { parent: self.parent, names }.levels()
    }

    /// Returns the number that a name stands for.
    pub(crate) fn number(&self, name: &str) -> Result<Number, Wrong> {
        match self.find(name) {
            Some(Level::Text(text)) => amount(text).unwrap_or_else(|| {
                Err(Wrong::new(format!("`{name}` is `{}`, which is not a number", printable(text, 40))))
            }),
            Some(Level::List(_)) => Err(Wrong::new(format!("`{name}` is a list, not a number"))),
            None => Err(self.unknown(name)),
        }
    }

    /// Returns the message about an unknown name.
    pub(crate) fn unknown(&self, name: &str) -> Wrong {
        let known = self.known();
        let help = if known.is_empty() {
            "there are no factors (`with:`) and no `parameters` here".to_owned()
        } else {
            format!("known here: {}", known.join(", "))
        };
        let near = nearest(name, known);
        let message = format!("`{}` is neither a factor nor a parameter", printable(name, 40));
        Wrong { message, help: Some(printable(&help, 300)), near }
    }

    /// Replaces `{name}` and `{expression}` in a text. Names in `keep` stay as they are.
    pub(crate) fn fill(&self, text: &str, keep: &[&str]) -> Result<String, Wrong> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((inner, tail)) = after.split_once('}') else {
                return Err(Wrong::new(format!("a `{{` without its `}}` in `{}`", printable(text, 60))));
            };
            let inner = inner.trim();
            if keep.contains(&inner) {
                out.push('{');
                out.push_str(inner);
                out.push('}');
            } else if let Some(level) = self.find(inner) {
                let value = level.text();
                if value.len() > MAX_FILLED {
                    return Err(Wrong::new(format!("`{{{inner}}}` is too long to be filled in")));
                }
                out.push_str(&value);
            } else if is_name(inner) {
                return Err(self.unknown(inner));
            } else {
                let number = evaluate(inner, &mut |name| self.number(name))?;
                out.push_str(&number.to_string());
            }
            if out.len() > MAX_TEXT {
                return Err(Wrong::new("the text becomes too long"));
            }
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }
}
