//! Replaces names by pseudonyms.

use super::kind::{NameKind, Names, ORDINARY, SHORTEST};
use super::patterns::{Spot, spots};
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

/// A name that is looked for, in any mix of capitals and small letters.
#[derive(Debug, Clone)]
struct Known {
    name: String,
    lower: String,
    kind: NameKind,
}

impl Known {
    fn new(name: String, kind: NameKind) -> Self {
        Self { lower: name.to_ascii_lowercase(), name, kind }
    }
}

/// A name in a text. Its form there may have other capitals than the name.
struct Place {
    from: usize,
    to: usize,
    kind: NameKind,
    name: String,
}

/// The names of a run and their pseudonyms.
#[derive(Debug, Clone)]
pub struct Pseudonyms {
    salt: Vec<u8>,
    keep: BTreeSet<NameKind>,
    /// Names that are looked for; longer ones first, so that `nas.example.org` isn't taken for `nas`.
    known: Vec<Known>,
    /// Names that occur.
    found: Names,
    /// Names that occur and are left, because they are ordinary words.
    left: Names,
}

impl Pseudonyms {
    pub(super) fn new(salt: Vec<u8>, keep: BTreeSet<NameKind>, known: Names) -> Self {
        let known = known.into_iter().filter(|(name, _)| !name.is_empty());
        let mut known: Vec<Known> = known.map(|(name, kind)| Known::new(name, kind)).collect();
        known.sort_by(|a, b| b.name.len().cmp(&a.name.len()).then_with(|| a.name.cmp(&b.name)));
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
        // DNS knows no capitals.
        let name = if kind == NameKind::Hosts { name.to_ascii_lowercase() } else { name.to_owned() };
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
        let known = Known::new(name.to_owned(), kind);
        if !name.is_empty() && !self.known.iter().any(|other| other.lower == known.lower) {
            let at = self.known.partition_point(|other| other.lower.len() >= name.len());
            self.known.insert(at, known);
        }
    }

    /// Looks for fields that hold a name in an engine's output: fio names the machines of its servers there.
    fn look_in_json(&mut self, text: &str) {
        let fields = FIELDS.iter().any(|(name, _)| text.contains(&format!("\"{name}\"")));
        let Some(begin) = text.find('{').filter(|_| fields) else { return };
        let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter();
        if let Some(Ok(value)) = values.next() {
            self.look(&value);
        }
    }

    fn look_in(&mut self, text: &str) {
        self.look_in_json(text);
        for place in self.places(text) {
            let is_left = is_ordinary(&place.name) && place.kind != NameKind::Homes;
            let into = if is_left { &mut self.left } else { &mut self.found };
            into.entry(place.name).or_insert(place.kind);
        }
    }

    /// Where names are, without overlaps, in their order.
    fn places(&self, text: &str) -> Vec<Place> {
        let lower = text.to_ascii_lowercase();
        let spots = spots(text).into_iter().map(|spot| self.place(text, spot));
        // A folder is replaced as a whole, also if a part of its name is known. One that stays may still hold a known name.
        let (replaced, kept): (Vec<Place>, Vec<Place>) =
            spots.partition(|place| !self.keep.contains(&place.kind));
        let mut places = replaced;
        let free = |places: &[Place], from: usize, to: usize| {
            places.iter().all(|place| to <= place.from || place.to <= from)
        };
        for Known { name, lower: wanted, kind } in &self.known {
            for (from, _) in lower.match_indices(wanted.as_str()) {
                let mut to = from + wanted.len();
                if !stands_alone(text, from, to) || !free(&places, from, to) {
                    continue;
                }
                let mut name = name.clone();
                let rest = domain_bytes(&text[to..]);
                if *kind == NameKind::Hosts && rest > 0 && free(&places, to, to + rest) {
                    to += rest;
                    lower[from..to].clone_into(&mut name);
                }
                places.push(Place { from, to, kind: *kind, name });
            }
        }
        for place in kept {
            if free(&places, place.from, place.to) {
                places.push(place);
            }
        }
        places.sort_unstable_by_key(|place| place.from);
        places
    }

    /// A name that was recognized by its form. One that is known as well has the kind that is known.
    fn place(&self, text: &str, Spot { from, to, kind }: Spot) -> Place {
        let name = &text[from..to];
        let known = self.known.iter().find(|known| known.name.eq_ignore_ascii_case(name));
        match known.filter(|_| !is_ordinary(name)) {
            Some(known) => Place { from, to, kind: known.kind, name: known.name.clone() },
            None => Place { from, to, kind, name: name.to_owned() },
        }
    }

    /// Returns the text with pseudonyms; `None`: it has no names.
    #[must_use]
    pub fn rewrite(&self, text: &str) -> Option<String> {
        let mut new = String::new();
        let mut at = 0;
        for Place { from, to, kind, name } in self.places(text) {
            if self.keep.contains(&kind) || (is_ordinary(&name) && kind != NameKind::Homes) {
                continue;
            }
            new.push_str(&text[at..from]);
            // A name found in another form elsewhere keeps its kind, and thereby its pseudonym.
            let kind = self.found.get(&name).copied().unwrap_or(kind);
            new.push_str(&self.pseudonym(kind, &name));
            at = to;
        }
        if at == 0 {
            return None;
        }
        new.push_str(&text[at..]);
        Some(new)
    }
}

/// The length of a domain that stands behind the name of a machine, e.g. `.acme.example`.
fn domain_bytes(rest: &str) -> usize {
    let part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
    let mut bytes = 0;
    while rest[bytes..].starts_with('.') {
        let label = rest.as_bytes()[bytes + 1..].iter().take_while(|b| part(b)).count();
        if label == 0 {
            break;
        }
        bytes += 1 + label;
    }
    bytes
}

fn is_ordinary(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.len() < SHORTEST
        || ORDINARY.binary_search(&lower.as_str()).is_ok()
        || name.bytes().all(|b| b == b'0')
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
    fn capitals_a_domain_and_a_part_of_a_folder_hide_no_name() {
        let names = [("bigiron", NameKind::Hosts), ("alice", NameKind::Users)];
        let here = of(&names, b"salt", &[]);
        let new = here.rewrite("BIGIRON, bigiron").unwrap();
        let (first, second) = new.split_once(", ").unwrap();
        assert_eq!(first, second);
        let new = here.rewrite("on Bigiron.corp.acme.example: up, bigiron. Done").unwrap();
        assert!(new.ends_with(&format!(": up, {first}. Done")), "{new}");
        assert!(!new.contains("acme") && !new.contains("corp"), "{new}");
        let folder = "/home/alice/merger-bigiron-2/x";
        let new = here.rewrite(folder).unwrap();
        assert!(!new.contains("merger") && !new.contains("bigiron"), "{new}");
        let kept = of(&names, b"salt", &[NameKind::Homes]).rewrite(folder).unwrap();
        assert!(kept.contains("merger") && !kept.contains("bigiron"), "{kept}");
        let new = here.rewrite("addr:10.1.2.3 10.1.2.3:3260 10.1.2.3").unwrap();
        let address = new.rsplit(' ').next().unwrap();
        assert_eq!(new, format!("addr:{address} {address}:3260 {address}"));
    }

    #[test]
    fn the_raw_json_of_an_engine_names_machines() {
        let mut some = of(&[], b"salt", &[]);
        let raw = "fio: client\n{\"client_stats\": [{\"hostname\": \"nas7\", \"port\": 8765}]}\n";
        some.look(&serde_json::json!({ "raw": raw, "before": "on nas7" }));
        assert_eq!(some.replaced().iter().map(|(_, name, _)| *name).collect::<Vec<_>>(), ["nas7"]);
        assert!(!some.rewrite(raw).unwrap().contains("nas7"));
    }

    #[test]
    fn ordinary_words_are_sorted_for_the_search() {
        assert!(ORDINARY.is_sorted());
    }
}
