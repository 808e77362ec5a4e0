//! Ansible's inventories in INI: `[group]`, `[group:children]`, `[group:vars]`, and hosts with `name=value` after them.

use super::groups::{Groups, Variable, Variables};
use crate::diagnostic::printable;
use crate::problems::Problems;
use crate::source::{Source, Span};
use record::machine::Machine;

/// The part of the file that a line is in.
enum Section {
    Hosts(String),
    Children(String),
    Variables(String),
}

/// Reads the whole file.
pub(super) fn read(source: &Source, problems: &mut Problems<'_>) -> Option<Vec<Machine>> {
    let mut groups = Groups::default();
    let mut section = Section::Hosts("ungrouped".to_owned());
    let mut at = 0;
    for line in source.text.split('\n') {
        let start = at;
        at += line.len() + 1;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') || text.starts_with(';') {
            continue;
        }
        if problems.full() {
            return None;
        }
        let begin = start + line.len() - line.trim_start().len();
        let span = Span { start: begin, end: begin + text.len() };
        if let Some(head) = header(text) {
            section = self::section(head, span, &mut groups, problems)?;
            continue;
        }
        match &section {
            Section::Hosts(group) => hosts(group, text, span, &mut groups, problems),
            Section::Children(group) => groups.add_child(group, uncommented(text)),
            Section::Variables(group) => match text.split_once('=') {
                Some((name, value)) => {
                    let text = unquoted(uncommented(value.trim())).to_owned();
                    groups.set(group, Variables::from([(name.trim().to_owned(), Variable { text, span })]));
                }
                None => {
                    problems
                        .add(span, format!("`{}` sets nothing", printable(text, 40)))
                        .expected("NAME=VALUE");
                }
            },
        }
    }
    Some(groups.machines(source, problems))
}

/// Returns the text of a `[header]`. A host may begin with a range, so that only a closed line is one.
fn header(text: &str) -> Option<&str> {
    let text = uncommented(text);
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let is_range =
        inner.split_once(':').is_some_and(|(_, kind)| kind.starts_with(|c: char| c.is_ascii_digit()));
    (!is_range && !inner.contains(['[', ']'])).then_some(inner)
}

fn section(head: &str, span: Span, groups: &mut Groups, problems: &mut Problems<'_>) -> Option<Section> {
    let (name, kind) = head.split_once(':').unwrap_or((head, "hosts"));
    groups.add_group(name);
    let name = name.to_owned();
    Some(match kind {
        "hosts" => Section::Hosts(name),
        "children" => Section::Children(name),
        "vars" => Section::Variables(name),
        other => {
            problems
                .add(span, format!("`{}` is not a part of a group", printable(other, 40)))
                .suggest(other, ["children", "vars", "hosts"])
                .expected("[NAME], [NAME:children] or [NAME:vars]");
            return None;
        }
    })
}

fn hosts(group: &str, text: &str, span: Span, groups: &mut Groups, problems: &mut Problems<'_>) {
    let mut words = words(text).into_iter();
    let Some(pattern) = words.next() else { return };
    let mut variables = Variables::new();
    for word in words {
        match word.split_once('=') {
            Some((name, value)) => {
                variables.insert(name.to_owned(), Variable { text: value.to_owned(), span });
            }
            None => {
                problems
                    .add(span, format!("`{}` after a host sets nothing", printable(&word, 40)))
                    .expected("NAME=VALUE after a host, one host a line")
                    .help("is this an Ansible inventory? A list of diskproof's own is YAML: its name ends in .yaml");
                return;
            }
        }
    }
    groups.add_hosts(group, &pattern, span, &variables, problems);
}

/// Splits a line at blanks; quotes hold blanks together, and `#` after a blank begins a comment.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut begun = false;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => (quote, begun) = (Some(c), true),
            (None, '#') if !begun && !words.is_empty() => return words,
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// Removes a comment at the end of a line.
fn uncommented(text: &str) -> &str {
    text.find(" #").map_or(text, |at| &text[..at]).trim_end()
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}
