//! Replaces names by pseudonyms.

use super::kind::{NameKind, Names, ORDINARY, SHORTEST};
use super::patterns::spots;
use crate::digest::Digest;
use std::collections::BTreeSet;

/// Fields of JSON that hold a name.
const FIELDS: [(&str, NameKind); 8] = [
    ("hostname", NameKind::Hosts),
    ("nodename", NameKind::Hosts),
    ("serial", NameKind::Serials),
    ("serial_number", NameKind::Serials),
    ("wwn", NameKind::Serials),
    ("wwid", NameKind::Serials),
    ("user", NameKind::Users),
    ("username", NameKind::Users),
];

/// The names of a run and their pseudonyms.
#[derive(Debug, Clone)]
pub struct Pseudonyms {
    salt: Vec<u8>,
    keep: BTreeSet<NameKind>,
    /// Names that are looked for; longer ones first, so that `nas.example.org` isn't taken for `nas`.
    known: Vec<(String, NameKind)>,
    /// Names that occur.
    found: Names,
    /// Names that occur and are left, because they are ordinary words.
    left: Names,
}

impl Pseudonyms {
    pub(super) fn new(salt: Vec<u8>, keep: BTreeSet<NameKind>, known: Names) -> Self {
        let mut known: Vec<(String, NameKind)> =
            known.into_iter().filter(|(name, _)| !name.is_empty()).collect();
        known.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Self { salt, keep, known, found: Names::new(), left: Names::new() }
    }

    /// The names that are replaced, with their kind and their pseudonym, sorted by kind.
    #[must_use]
    pub fn replaced(&self) -> Vec<(NameKind, &str, String)> {
        let replaced = self.found.iter().filter(|(_, kind)| !self.keep.contains(kind));
        let mut rows: Vec<_> =
            replaced.map(|(name, kind)| (*kind, name.as_str(), self.pseudonym(*kind, name))).collect();
        rows.sort();
        rows
    }

    /// The names that stay, because the user keeps their kind.
    #[must_use]
    pub fn kept(&self) -> Vec<(NameKind, &str)> {
        self.found
            .iter()
            .filter(|(_, kind)| self.keep.contains(kind))
            .map(|(name, kind)| (*kind, name.as_str()))
            .collect()
    }

    /// Names of this machine that occur and stay, because they are ordinary words of records (a machine called `server`) or too
    /// short.
    #[must_use]
    pub fn ordinary(&self) -> Vec<(NameKind, &str)> {
        self.left.iter().map(|(name, kind)| (*kind, name.as_str())).collect()
    }

    /// The kinds that are replaced.
    #[must_use]
    pub fn kinds(&self) -> Vec<NameKind> {
        NameKind::ALL.into_iter().filter(|kind| !self.keep.contains(kind)).collect()
    }

    fn pseudonym(&self, kind: NameKind, name: &str) -> String {
        let digest =
            Digest::of(&[self.salt.as_slice(), kind.name().as_bytes(), b"\0", name.as_bytes()].concat());
        format!("{}-{}", kind.prefix(), &digest.hex()[..8])
    }

    /// Looks for names in a record.
    pub(super) fn look(&mut self, value: &serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::String(text) => self.look_in(text),
            Value::Array(items) => items.iter().for_each(|item| self.look(item)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.look_in(name);
                    let kind = FIELDS.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
                    if let (Some(kind), Value::String(text)) = (kind, value) {
                        self.learn(kind, text);
                    }
                    self.look(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn learn(&mut self, kind: NameKind, name: &str) {
        if !name.is_empty() && !self.known.iter().any(|(known, _)| known == name) {
            let at = self.known.partition_point(|(known, _)| known.len() >= name.len());
            self.known.insert(at, (name.to_owned(), kind));
        }
    }

    fn look_in(&mut self, text: &str) {
        for (from, to, kind) in self.places(text) {
            let name = &text[from..to];
            let into =
                if is_ordinary(name) && kind != NameKind::Homes { &mut self.left } else { &mut self.found };
            if !into.contains_key(name) {
                into.insert(name.to_owned(), kind);
            }
        }
    }

    /// Where names are, without overlaps, in their order.
    fn places(&self, text: &str) -> Vec<(usize, usize, NameKind)> {
        let mut places: Vec<(usize, usize, NameKind)> = Vec::new();
        let free = |places: &[(usize, usize, NameKind)], from: usize, to: usize| {
            places.iter().all(|(f, t, _)| to <= *f || *t <= from)
        };
        for (name, kind) in &self.known {
            for (from, _) in text.match_indices(name.as_str()) {
                let to = from + name.len();
                if stands_alone(text, from, to) && free(&places, from, to) {
                    places.push((from, to, *kind));
                }
            }
        }
        for spot in spots(text) {
            if free(&places, spot.from, spot.to) {
                places.push((spot.from, spot.to, spot.kind));
            }
        }
        places.sort_unstable();
        places
    }

    /// Returns the text with pseudonyms; `None`: it has no names.
    pub(crate) fn rewrite(&self, text: &str) -> Option<String> {
        let mut new = String::new();
        let mut at = 0;
        for (from, to, kind) in self.places(text) {
            let name = &text[from..to];
            if self.keep.contains(&kind) || (is_ordinary(name) && kind != NameKind::Homes) {
                continue;
            }
            new.push_str(&text[at..from]);
            // A name found in another form elsewhere keeps its kind, and thereby its pseudonym.
            let kind = self.found.get(name).copied().unwrap_or(kind);
            new.push_str(&self.pseudonym(kind, name));
            at = to;
        }
        if at == 0 {
            return None;
        }
        new.push_str(&text[at..]);
        Some(new)
    }
}

fn is_ordinary(name: &str) -> bool {
    name.len() < SHORTEST || ORDINARY.binary_search(&name).is_ok() || name.bytes().all(|b| b == b'0')
}

/// Whether no letter or digit touches it.
fn stands_alone(text: &str, from: usize, to: usize) -> bool {
    let touches = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !touches(text[..from].chars().next_back()) && !touches(text[to..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::{NameKind, ORDINARY, Pseudonyms};
    use std::collections::BTreeSet;

    fn of(names: &[(&str, NameKind)], salt: &[u8], keep: &[NameKind]) -> Pseudonyms {
        let known = names.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        Pseudonyms::new(salt.to_vec(), keep.iter().copied().collect::<BTreeSet<_>>(), known)
    }

    #[test]
    fn the_same_name_has_the_same_pseudonym_here_and_another_one_elsewhere() {
        let names =
            [("nas", NameKind::Hosts), ("nas.acme.example", NameKind::Hosts), ("alice", NameKind::Users)];
        let here = of(&names, b"salt", &[]);
        let text = "alice@nas.acme.example:/x from nas, nas-2, nasty and /home/alice/dir";
        let new = here.rewrite(text).unwrap();
        assert!(
            !new.contains("alice")
                && !new.contains("acme")
                && new.contains("nasty")
                && new.contains("/home/user-"),
            "{new}"
        );
        assert_eq!(here.rewrite(text).unwrap(), new);
        let user = &new[..13];
        assert_eq!(new.matches(user).count(), 2, "{new}");
        assert_ne!(of(&names, b"other", &[]).rewrite(text).unwrap(), new);
        assert_eq!(here.rewrite("nothing of it: nasty"), None);
    }

    #[test]
    fn kept_kinds_and_ordinary_words_stay_and_are_named() {
        let names = [("read", NameKind::Hosts), ("alice", NameKind::Users)];
        let mut some = of(&names, b"salt", &[NameKind::Users]);
        some.look(&serde_json::json!({ "rw": "read", "by": "alice", "serial": "S123", "at": "disk S123" }));
        assert_eq!(some.ordinary(), [(NameKind::Hosts, "read")]);
        assert_eq!(some.kept(), [(NameKind::Users, "alice")]);
        assert_eq!(some.replaced().iter().map(|(_, name, _)| *name).collect::<Vec<_>>(), ["S123"]);
        assert_eq!(some.rewrite("read alice"), None);
        assert!(some.rewrite("disk S123").unwrap().starts_with("disk serial-"));
    }

    #[test]
    fn ordinary_words_are_sorted_for_the_search() {
        assert!(ORDINARY.is_sorted());
    }
}
