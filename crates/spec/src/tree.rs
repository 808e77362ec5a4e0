//! Parses YAML text into a tree in which every key and value has its place. Depth, number of values and size of text are bounded.

use crate::diagnostic::printable;
use crate::limits::{MAX_ALIASED_BYTES, MAX_DEPTH, MAX_NODES};
use crate::problems::Problems;
use crate::source::Span;
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// A value. Numbers, sizes and names are all text until a reader requests a type.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) span: Span,
    pub(crate) text: String,
}

impl Node {
    /// Returns its kind, for messages.
    pub(crate) fn kind(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Text(text) => format!("`{}`", printable(text, 40)),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        }
    }
}

/// A list or map that is still open.
struct Open {
    anchor: usize,
    start: Span,
    kind: OpenKind,
    weight: Weight,
}

enum OpenKind {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, first: HashMap<String, usize>, key: Option<Key> },
}

/// The cost of copying a value.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Parses the text. `None`: the reason is among the problems.
pub(crate) fn parse(text: &str, problems: &mut Problems<'_>) -> Option<Node> {
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        emit_unresolved_aliases: true,
    };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or(0..0);
                builder.take(event, Span { start: range.start, end: range.end }, problems)?;
            }
            Err(error) => {
                report(&error, problems);
                return None;
            }
        }
    }
    if builder.root.is_none() {
        problems
            .add(Span::default(), "the file is empty")
            .expected("an experiment: at least `experiment`, `volumes`, `stacks` and `workloads`")
            .help("`diskproof new` writes a commented one to begin with");
    }
    builder.root
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: BTreeMap<usize, (Node, Weight)>,
    total: Weight,
    root: Option<Node>,
    documents: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span, problems: &mut Problems<'_>) -> Option<()> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    problems
                        .add(span, "a second document begins here")
                        .expected("one experiment per file")
                        .help("move what follows `---` to a file of its own");
                    return None;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span, problems);
                let null =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let bytes = text.len();
                let weight = Weight { nodes: 1, bytes };
                self.count(weight, span, problems)?;
                let value = if null { Value::Null } else { Value::Text(text.into_owned()) };
                self.place(Node { span, value }, anchor, weight, problems)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span, problems);
                self.begin(anchor, span, OpenKind::List(Vec::new()), problems)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span, problems);
                let kind = OpenKind::Map { entries: Vec::new(), first: HashMap::new(), key: None };
                self.begin(anchor, span, kind, problems)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span, problems)?,
            Event::Alias(id) => self.alias(id, span, problems)?,
            Event::UnresolvedAlias(name) => {
                problems
                    .add(span, format!("`*{}` refers to an anchor that does not exist", printable(&name, 40)))
                    .expected("an anchor `&name` earlier in the file")
                    .help("a text that begins with `*` must be quoted");
                return None;
            }
            _ => {}
        }
        Some(())
    }

    fn refuse_tag(&self, tagged: bool, span: Span, problems: &mut Problems<'_>) {
        if tagged {
            problems
                .add(span, "tags (`!...`) have no meaning here")
                .help("remove the tag; quote the value if it begins with `!`");
        }
    }

    fn begin(
        &mut self,
        anchor: usize,
        start: Span,
        kind: OpenKind,
        problems: &mut Problems<'_>,
    ) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            too_deep(start, problems);
            return None;
        }
        self.refuse_as_key(start, problems)?;
        let weight = Weight { nodes: 1, bytes: 0 };
        self.count(weight, start, problems)?;
        self.open.push(Open { anchor, start, kind, weight });
        Some(())
    }

    /// Refuses a list or map in the place of a key.
    fn refuse_as_key(&self, span: Span, problems: &mut Problems<'_>) -> Option<()> {
        if let Some(Open { kind: OpenKind::Map { key: None, .. }, .. }) = self.open.last() {
            problems
                .add(span, "a list or map cannot be a key")
                .expected("a name")
                .help("text that begins with `{` or `[` must be quoted, e.g. \"{n}\"");
            return None;
        }
        Some(())
    }

    fn end(&mut self, span: Span, problems: &mut Problems<'_>) -> Option<()> {
        let open = self.open.pop()?;
        let value = match open.kind {
            OpenKind::List(items) => Value::List(items),
            OpenKind::Map { entries, .. } => Value::Map(merged(entries, problems)),
        };
        let span = Span { start: open.start.start, end: span.end.max(open.start.end) };
        self.place(Node { span, value }, open.anchor, open.weight, problems)
    }

    fn alias(&mut self, id: usize, span: Span, problems: &mut Problems<'_>) -> Option<()> {
        let Some((node, weight)) = self.anchors.get(&id) else {
            problems
                .add(span, "an alias that refers to the value it is part of")
                .help("write the value out; a parameter can hold what is used in several places");
            return None;
        };
        let (node, weight) = (node.clone(), *weight);
        self.count(weight, span, problems)?;
        self.place(node, 0, weight, problems)
    }

    /// Counts a value before it is kept; reports it if there are too many.
    fn count(&mut self, weight: Weight, span: Span, problems: &mut Problems<'_>) -> Option<()> {
        self.total.add(weight);
        if self.total.nodes > MAX_NODES || self.total.bytes > MAX_ALIASED_BYTES {
            problems
                .add(span, format!("the file holds more than {MAX_NODES} values, aliases followed"))
                .help("split it into several experiments");
            return None;
        }
        Some(())
    }

    /// Puts a finished value in its place.
    fn place(
        &mut self,
        node: Node,
        anchor: usize,
        weight: Weight,
        problems: &mut Problems<'_>,
    ) -> Option<()> {
        if anchor > 0 {
            self.count(weight, node.span, problems)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        parent.weight.add(weight);
        match &mut parent.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map { entries, first, key } => match key.take() {
                Some(name) => entries.push((name, node)),
                None => *key = Some(as_key(node, first, problems)?),
            },
        }
        Some(())
    }
}

/// Follows `<<: *base`: the base's keys apply where the map does not have them. Not YAML 1.2, but common practice.
fn merged(entries: Vec<(Key, Node)>, problems: &mut Problems<'_>) -> Vec<(Key, Node)> {
    if !entries.iter().any(|(key, _)| key.text == "<<") {
        return entries;
    }
    let (bases, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(key, _)| key.text == "<<");
    let mut names: HashSet<String> = own.iter().map(|(key, _)| key.text.clone()).collect();
    for (_, base) in bases {
        let kind = base.kind();
        let Value::Map(inherited) = base.value else {
            problems
                .add(base.span, format!("{kind} cannot be merged"))
                .expected("an alias of a map: `<<: *base`");
            continue;
        };
        for (key, node) in inherited {
            if names.insert(key.text.clone()) {
                own.push((key, node));
            }
        }
    }
    own
}

fn as_key(node: Node, first: &mut HashMap<String, usize>, problems: &mut Problems<'_>) -> Option<Key> {
    let Value::Text(text) = node.value else {
        problems.add(node.span, "a key is missing here").expected("a name before the `:`");
        return None;
    };
    if first.insert(text.clone(), node.span.start).is_some() {
        problems
            .add(node.span, format!("`{}` is there twice", printable(&text, 40)))
            .expected("every key once in its map")
            .help("remove one of the two; only one of them could have counted");
    }
    Some(Key { span: node.span, text })
}

fn too_deep(span: Span, problems: &mut Problems<'_>) {
    problems
        .add(span, format!("lists and maps are nested deeper than {MAX_DEPTH} levels"))
        .help("an experiment needs about eight; look for a bracket too many");
}

/// Reports the error of the YAML scanner.
fn report(error: &ScanError, problems: &mut Problems<'_>) {
    let start = error.marker().byte_offset().unwrap_or(0);
    let span = Span { start, end: start };
    if *error.kind() == ErrorKind::RecursionLimitExceeded {
        too_deep(span, problems);
        return;
    }
    let help = match error.kind() {
        ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation | ErrorKind::TabNotAllowed => {
            "YAML is indented with blanks; replace the tab"
        }
        ErrorKind::UnclosedFlowCollection { .. } | ErrorKind::MismatchedFlowCollectionEnd { .. } => {
            "this bracket has no partner"
        }
        ErrorKind::UnclosedQuotedScalar => "this quotation mark has no partner",
        ErrorKind::InvalidQuotedScalarIndent | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "a quotation mark above has no partner"
        }
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => {
            "a `{` or `[` above is not closed, or a comma is missing"
        }
        ErrorKind::UnexpectedCharacter { .. } => "text that begins with a special character must be quoted",
        ErrorKind::DirectiveDisallowed => "remove the line; experiment files need no `%` directives",
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey => {
            "compare the indentation with the line above; a value with `: ` or `{` in it must be quoted"
        }
        _ => {
            "compare indentation and colons with the lines above; quote text that holds `: `, `#`, `{` or `[`"
        }
    };
    let message = printable(&error.info(), 200);
    problems.add(span, format!("this is not YAML: {message}")).help(help);
}

/// Returns the value of a map's key.
pub(crate) fn find<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
}
