//! Problems that only a run finds, e.g. a driver in its settings, shown at their place in the experiment file.

use crate::created_target::fit;
use crate::load::LoadError;
use crate::problems::Problems;
use crate::source::{Source, Span};
use crate::tree::{Key, Node, Value, parse};

/// A problem at a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtKey {
    /// The keys that lead to it, e.g. `targets`, `big`, `region`. If the last ones are not there, it is shown at the one before.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

/// Returns problems as errors of an experiment file with this name and text.
#[must_use]
pub fn at_keys(name: &str, text: &str, all: &[AtKey]) -> LoadError {
    let source = Source::new(name, text);
    let mut problems = Problems::new(&source);
    let root = parse(text, &mut Problems::new(&source));
    for one in all {
        let span = root.as_ref().and_then(|root| place(root, &one.path)).unwrap_or_default();
        // Several problems of one target may all be shown at its name.
        let message = if one.path.is_empty() {
            one.message.clone()
        } else {
            format!("{}: {}", one.path.join(": "), one.message)
        };
        let diagnostic = problems.add(span, message);
        diagnostic.help.clone_from(&one.help);
    }
    LoadError::Diagnostics(problems.finish().err().unwrap_or_default())
}

/// The place of the last key of a path that exists.
fn place(root: &Node, path: &[String]) -> Option<Span> {
    let (first, rest) = path.split_first()?;
    let Value::Map(entries) = &root.value else { return None };
    // A target's name may have levels in it.
    let named = |(key, _): &&(Key, Node)| fit(&key.text, first);
    let (key, node) = entries.iter().filter(|entry| named(entry).is_some()).max_by_key(named)?;
    Some(place(node, rest).unwrap_or(key.span))
}

#[cfg(test)]
mod tests {
    use super::{AtKey, at_keys};

    #[test]
    fn a_problem_is_shown_at_its_key_or_the_nearest_one() {
        let text = "experiment: e\ntargets:\n  big:\n    driver: d\n    regoin: x\n";
        let at = |path: &[&str]| AtKey {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            message: "bad".to_owned(),
            help: Some("did you mean `region`?".to_owned()),
        };
        let said = |path: &[&str]| at_keys("e.yaml", text, &[at(path)]).to_string();
        assert!(
            said(&["targets", "big", "regoin"]).starts_with("e.yaml:5:5: targets: big: regoin: bad"),
            "{}",
            said(&["targets", "big", "regoin"])
        );
        assert!(
            said(&["targets", "big", "zone"]).starts_with("e.yaml:3:3: "),
            "{}",
            said(&["targets", "big", "zone"])
        );
        let text = "experiment: e\ntargets:\n  other: { driver: d }\n  big-{t}: { with: { t: [a, b] }, driver: d, zone: 1 }\n";
        let said_of = |path: &[&str]| at_keys("e.yaml", text, &[at(path)]).to_string();
        let zone = said_of(&["targets", "big-a", "zone"]);
        assert!(zone.starts_with("e.yaml:4:46: targets: big-a: zone: bad"), "{zone}");
        assert!(said(&["targets", "big", "regoin"]).contains("did you mean `region`?"));
    }
}
