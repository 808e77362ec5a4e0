//! Rules that select cells: `{ stack: "btrfs-*", n: [1, 2] }`.

use crate::diagnostic::{nearest, printable};
use crate::fields::named;
use crate::limits::{MAX_NAME, MAX_RULES};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Node, Value};
use crate::value;
use std::collections::BTreeMap;

/// A rule: all of its parts must match.
pub(crate) struct Rule {
    parts: Vec<(Subject, Vec<String>)>,
}

enum Subject {
    Target,
    Stack,
    Workload,
    Factor(String),
    /// A bare pattern: it matches the name of the stack or of the workload.
    Either,
}

/// The cell that a rule is matched against.
pub(crate) struct About<'c> {
    pub(crate) target: &'c str,
    pub(crate) stack: &'c str,
    pub(crate) workload: &'c str,
    pub(crate) levels: &'c BTreeMap<String, String>,
}

impl Rule {
    /// Returns the most work to match one cell, in units of [`crate::limits::MAX_WORK`].
    pub(crate) fn work(&self) -> u128 {
        self.parts.iter().map(|(_, patterns)| 20 * patterns.len() as u128).sum()
    }

    pub(crate) fn matches(&self, about: &About<'_>) -> bool {
        let any = |patterns: &[String], text: &str| patterns.iter().any(|pattern| matches(pattern, text));
        self.parts.iter().all(|(subject, patterns)| match subject {
            Subject::Target => any(patterns, about.target),
            Subject::Stack => any(patterns, about.stack),
            Subject::Workload => any(patterns, about.workload),
            Subject::Factor(name) => about.levels.get(name).is_some_and(|level| any(patterns, level)),
            Subject::Either => any(patterns, about.stack) || any(patterns, about.workload),
        })
    }
}

/// Reads a list of rules.
pub(crate) fn rules(
    node: Option<&Node>,
    factors: &[String],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<(Rule, crate::source::Span)>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let nodes = crate::fields::list(node);
    if let Some(one) = nodes.get(MAX_RULES) {
        problems.add(one.span, format!("{} rules; at most {MAX_RULES} are allowed", nodes.len()));
        return None;
    }
    nodes.iter().map(|node| Some((rule(node, factors, scope, problems)?, node.span))).collect()
}

/// Reads one rule. `factors` are the factors of all stacks and workloads.
pub(crate) fn rule(
    node: &Node,
    factors: &[String],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Rule> {
    const EXPECTED: &str = "{ stack: PATTERN, workload: PATTERN, FACTOR: LEVEL }, each one value or a list; `*` matches anything";
    if let Value::Text(_) = node.value {
        return Some(Rule { parts: vec![(Subject::Either, patterns(node, scope, problems)?)] });
    }
    let mut parts = Vec::new();
    for (key, node) in named(node, EXPECTED, problems)? {
        let subject = match key.text.as_str() {
            "target" => Subject::Target,
            "stack" => Subject::Stack,
            "workload" => Subject::Workload,
            name if factors.iter().any(|factor| factor == name) => Subject::Factor(name.to_owned()),
            name => {
                let known =
                    || ["target", "stack", "workload"].into_iter().chain(factors.iter().map(String::as_str));
                let near = nearest(name, known());
                let list = known().collect::<Vec<_>>().join(", ");
                problems
                    .add(
                        key.span,
                        format!("`{}` is neither `stack`, `workload` nor a factor", printable(name, 40)),
                    )
                    .expected(format!("one of {}", printable(&list, 300)))
                    .did_you_mean = near;
                return None;
            }
        };
        parts.push((subject, patterns(node, scope, problems)?));
    }
    if parts.is_empty() {
        problems.add(node.span, "an empty rule matches everything").expected(EXPECTED);
        return None;
    }
    Some(Rule { parts })
}

fn patterns(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let patterns = value::texts(node, "a pattern, or a list of patterns", &[], scope, problems)?;
    if patterns.is_empty()
        || patterns.len() > MAX_RULES
        || patterns.iter().any(|pattern| pattern.len() > MAX_NAME)
    {
        problems
            .add(node.span, "no pattern, too many of them, or too long a one")
            .expected(format!("1 to {MAX_RULES} patterns of at most {MAX_NAME} characters"));
        return None;
    }
    Some(patterns)
}

/// Matches a shell pattern: `*` is any text, `?` is any character. Takes at most pattern times text steps.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(c) = text.get(t) {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == c => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    p = star + 1;
                    t = from + 1;
                    retry = Some((star, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_like_a_shells() {
        for (pattern, text, right) in [
            ("btrfs-*", "btrfs-raid0-3", true),
            ("btrfs-*", "ext4", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("*-3", "btrfs-3-3", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("r?w", "raw", true),
            ("r?w", "rw", false),
            ("16k", "16k", true),
            ("6k", "16k", false),
        ] {
            assert_eq!(matches(pattern, text), right, "{pattern} on {text}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49).repeat(2).replace("aa", "ab")[..97]));
        assert!(!matches(&format!("{}b", "a*".repeat(49)), &"a".repeat(100)));
    }
}
