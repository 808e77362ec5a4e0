//! Reads maps by their tables: unknown keys, missing keys, wrong types.

use crate::diagnostic::{nearest, printable};
use crate::problems::Problems;
use crate::source::Span;
use crate::tree::{Key, Node, Value};
use crate::vocabulary::Table;

/// The entries of a map; their keys were checked against a table.
pub(crate) struct Fields<'n> {
    entries: &'n [(Key, Node)],
}

impl<'n> Fields<'n> {
    /// Checks a map's keys. An empty value counts as an empty map.
    pub(crate) fn open(node: &'n Node, table: &'static Table, problems: &mut Problems<'_>) -> Option<Self> {
        let entries: &[(Key, Node)] = match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            Value::Text(_) | Value::List(_) => {
                problems.add(node.span, format!("{} does not fit here", node.kind())).expected(format!(
                    "{}: a map with {}",
                    table.what,
                    names(table)
                ));
                return None;
            }
        };
        let mut meant = Vec::new();
        for (key, _) in entries {
            if problems.full() {
                return None;
            }
            if !table.keys.iter().any(|known| known.name == key.text) {
                meant.extend(unknown(key, table, problems));
            }
        }
        check_needed(node.span, entries, &meant, table, problems);
        Some(Self { entries })
    }

    /// Checks that a map has the keys that a table needs. Other keys are somebody else's.
    pub(crate) fn open_with_others(
        entries: &'n [(Key, Node)],
        place: Span,
        table: &'static Table,
        problems: &mut Problems<'_>,
    ) -> Self {
        check_needed(place, entries, &[], table, problems);
        Self { entries }
    }

    /// Returns the entries whose keys are not in a table.
    pub(crate) fn others(&self, table: &'static Table) -> impl Iterator<Item = &'n (Key, Node)> {
        self.entries.iter().filter(|(key, _)| !table.keys.iter().any(|known| known.name == key.text))
    }

    /// Returns an empty map, where only a name stands.
    pub(crate) fn none(name: Span, table: &'static Table, problems: &mut Problems<'_>) -> Self {
        check_needed(name, &[], &[], table, problems);
        Self { entries: &[] }
    }

    /// Returns a key's value. An empty value counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        let found = self.entries.iter().find(|(key, _)| key.text == name).map(|(_, node)| node);
        found.filter(|node| !matches!(node.value, Value::Null))
    }

    /// Returns a key with its place.
    pub(crate) fn key(&self, name: &str) -> Option<&'n Key> {
        self.entries.iter().find(|(key, _)| key.text == name).map(|(key, _)| key)
    }

    /// All entries.
    pub(crate) fn entries(&self) -> &'n [(Key, Node)] {
        self.entries
    }
}

fn names(table: &Table) -> String {
    table.keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

/// Reports required keys that are absent or empty, except those whose misspelling was already reported.
fn check_needed(
    place: Span,
    entries: &[(Key, Node)],
    meant: &[String],
    table: &Table,
    problems: &mut Problems<'_>,
) {
    let mut absent = Vec::new();
    for needed in table.keys.iter().filter(|known| known.required) {
        match entries.iter().find(|(key, _)| key.text == needed.name) {
            Some((key, Node { value: Value::Null, .. })) => {
                problems.add(key.span, format!("`{}` is empty", needed.name)).help(needed.help);
            }
            Some(_) => {}
            None if meant.iter().any(|word| word == needed.name) => {}
            None => absent.push(needed),
        }
    }
    if absent.is_empty() {
        return;
    }
    let list = and(&absent.iter().map(|key| format!("`{}`", key.name)).collect::<Vec<_>>());
    let help = absent.iter().map(|key| format!("{}: {}", key.name, key.help)).collect::<Vec<_>>().join("; ");
    problems.add_missing(place, format!("{} needs {list}", table.what)).help(help);
}

/// `a`, `a and b`, `a, b and c`.
fn and(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Reports a key that is not in the table, and returns the key that was meant, if that is clear.
fn unknown(key: &Key, table: &'static Table, problems: &mut Problems<'_>) -> Option<String> {
    let shown = printable(&key.text, 40);
    let diagnostic = problems.add(key.span, format!("unknown key `{shown}` in {}", table.what));
    let lower = key.text.to_lowercase().replace('-', "_");
    if let Some((_, instead)) = table.instead.iter().find(|(word, _)| *word == lower || *word == key.text) {
        diagnostic.help(*instead);
    } else {
        diagnostic.suggest(&key.text, table.keys.iter().map(|known| known.name));
    }
    diagnostic.expected(format!("one of {}", names(table)));
    nearest(&key.text, table.keys.iter().map(|known| known.name))
}

/// Returns the entries of a map whose keys are names of the user's own.
pub(crate) fn named<'n>(
    node: &'n Node,
    what: &str,
    problems: &mut Problems<'_>,
) -> Option<&'n [(Key, Node)]> {
    match &node.value {
        Value::Map(entries) => Some(entries),
        Value::Null => Some(&[]),
        Value::Text(_) | Value::List(_) => {
            problems.add(node.span, format!("{} does not fit here", node.kind())).expected(what);
            None
        }
    }
}

/// Returns a list; a single value counts as a list of one.
pub(crate) fn list(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        Value::Null => &[],
        Value::Text(_) | Value::Map(_) => std::slice::from_ref(node),
    }
}
