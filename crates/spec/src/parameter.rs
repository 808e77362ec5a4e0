//! Parameters: values that an experiment takes from outside, with types and defaults. Defaults may refer to other parameters.

use crate::diagnostic::printable;
use crate::expression::{evaluate, is_name};
use crate::fields::{Fields, list, named};
use crate::limits::{MAX_FILLED, MAX_PARAMETERS, MAX_TEXT};
use crate::number::Number;
use crate::problems::Problems;
use crate::quantity::{Wrong, amount, duration, percent};
use crate::scope::{Level, RESERVED, Scope};
use crate::tree::{Key, Node, Value};
use crate::vocabulary::{PARAMETER, PARAMETER_TYPES};
use std::collections::BTreeMap;

/// A parameter of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
    /// Purpose of the parameter, in one line.
    pub help: Option<String>,
    /// Type of its value: text, int, number, size, duration, percent, list.
    pub kind: String,
    /// Its default value; `None`: a value is required.
    pub default: Option<String>,
}

/// A declared parameter, with its place for messages.
struct Declared<'n> {
    parameter: Parameter,
    default: Option<&'n Node>,
}

/// The result of resolving the parameters.
pub(crate) struct Resolved {
    pub(crate) values: Vec<(String, Level)>,
    /// Required parameters without a value.
    pub(crate) missing: Vec<Parameter>,
    /// Whether all others have a value.
    pub(crate) sound: bool,
}

/// Reads the declarations, and gives every parameter its value.
pub(crate) fn resolve(
    node: Option<&Node>,
    set: &BTreeMap<String, String>,
    problems: &mut Problems<'_>,
) -> Resolved {
    let declared = declarations(node, problems);
    for (name, value) in set {
        if !declared.iter().any(|one| one.parameter.name == *name) {
            let place = format!("--set {}={}", printable(name, 40), printable(value, 40));
            let known = declared.iter().map(|one| one.parameter.name.as_str());
            let expected = if declared.is_empty() {
                "no --set: the experiment has no `parameters`".to_owned()
            } else {
                format!("one of {}", known.clone().collect::<Vec<_>>().join(", "))
            };
            problems
                .add_elsewhere(place, format!("the experiment has no parameter `{}`", printable(name, 40)))
                .suggest(name, known)
                .expected(expected);
        }
    }
    let missing: Vec<Parameter> = declared
        .iter()
        .filter(|one| one.default.is_none() && !set.contains_key(&one.parameter.name))
        .map(|one| one.parameter.clone())
        .collect();
    let mut solver = Solver { declared: &declared, set, state: BTreeMap::new() };
    let mut values = Vec::new();
    for one in &declared {
        if let Some(level) = solver.value(&one.parameter.name, problems) {
            values.push((one.parameter.name.clone(), level));
        }
    }
    let declared_count = node.map_or(0, |node| match &node.value {
        Value::Map(entries) => entries.len(),
        _ => 0,
    });
    let sound = values.len() + missing.len() == declared_count;
    Resolved { values, missing, sound }
}

fn declarations<'n>(node: Option<&'n Node>, problems: &mut Problems<'_>) -> Vec<Declared<'n>> {
    let Some(entries) = node.and_then(|node| named(node, "a map: NAME: { default, help, type }", problems))
    else {
        return Vec::new();
    };
    if let Some((key, _)) = entries.get(MAX_PARAMETERS) {
        problems.add(key.span, format!("{} parameters; at most {MAX_PARAMETERS} are allowed", entries.len()));
        return Vec::new();
    }
    entries.iter().filter_map(|(key, node)| declaration(key, node, problems)).collect()
}

fn declaration<'n>(key: &Key, node: &'n Node, problems: &mut Problems<'_>) -> Option<Declared<'n>> {
    check_name(key, "parameter", problems)?;
    let scope = Scope::default();
    // `size: 256m` is short for `size: { default: 256m }`.
    if matches!(node.value, Value::Text(_) | Value::List(_)) {
        let parameter =
            Parameter { name: key.text.clone(), help: None, kind: "text".to_owned(), default: plain(node) };
        return Some(Declared { parameter, default: Some(node) });
    }
    let fields = Fields::open(node, &PARAMETER, problems)?;
    let kind = match fields.get("type") {
        Some(kind) => crate::value::choice(kind, PARAMETER_TYPES, &scope, problems)?,
        None => "text",
    };
    let help = match fields.get("help") {
        Some(help) => Some(printable(crate::value::raw(help, "a sentence", problems)?, 200)),
        None => None,
    };
    let default = fields.get("default");
    let parameter =
        Parameter { name: key.text.clone(), help, kind: kind.to_owned(), default: default.and_then(plain) };
    Some(Declared { parameter, default })
}

fn plain(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) => Some(text.clone()),
        Value::List(items) => {
            items.iter().map(plain).collect::<Option<Vec<_>>>().map(|items| items.join(","))
        }
        Value::Null | Value::Map(_) => None,
    }
}

/// Checks the name of a parameter or factor.
pub(crate) fn check_name(key: &Key, what: &'static str, problems: &mut Problems<'_>) -> Option<()> {
    let shown = printable(&key.text, 40);
    if !is_name(&key.text) || key.text.len() > 40 {
        problems
            .add(key.span, format!("`{shown}` cannot be the name of a {what}"))
            .expected("a letter, then letters, digits and `_`, at most 40");
        return None;
    }
    if RESERVED.contains(&key.text.as_str()) {
        problems
            .add(key.span, format!("`{shown}` has a meaning of its own and cannot name a {what}"))
            .help(format!("choose another name, e.g. `my_{shown}`"));
        return None;
    }
    problems.declare(what, &key.text, key.span);
    Some(())
}

enum State {
    Busy,
    Done(Option<Level>),
}

struct Solver<'d, 'n> {
    declared: &'d [Declared<'n>],
    set: &'d BTreeMap<String, String>,
    state: BTreeMap<String, State>,
}

impl Solver<'_, '_> {
    fn value(&mut self, name: &str, problems: &mut Problems<'_>) -> Option<Level> {
        if let Some(State::Done(level)) = self.state.get(name) {
            return level.clone();
        }
        let one = self.declared.iter().find(|one| one.parameter.name == name)?;
        self.state.insert(name.to_owned(), State::Busy);
        let kind = one.parameter.kind.as_str();
        let level = if let Some(given) = self.set.get(name) {
            check(given, kind, &Scope::default()).map_err(|why| {
                let place = format!("--set {name}={}", printable(given, 40));
                let diagnostic = problems.add_elsewhere(place, why.message);
                diagnostic.expected = Some(format!("a value of type {kind}"));
                diagnostic.help = why.help;
            })
        } else {
            self.default_of(one.default?, name, kind, problems)
        };
        let level = level.ok();
        self.state.insert(name.to_owned(), State::Done(level.clone()));
        level
    }

    fn default_of(
        &mut self,
        node: &Node,
        name: &str,
        kind: &str,
        problems: &mut Problems<'_>,
    ) -> Result<Level, ()> {
        let mut levels = Vec::new();
        for item in list(node) {
            let text = crate::value::raw(item, "a single value", problems).ok_or(())?;
            let scope = self.scope_for(text, item, name, problems)?;
            let kind = if kind == "list" { "text" } else { kind };
            match check(text, kind, &scope) {
                Ok(level) => levels.push(level),
                Err(why) => {
                    crate::value::wrong(item, why, &scope, problems);
                    return Err(());
                }
            }
        }
        let is_list = matches!(node.value, Value::List(_));
        match (is_list || kind == "list", levels.as_slice()) {
            (false, [single]) => Ok(single.clone()),
            _ => {
                let all: Vec<String> = levels.iter().map(Level::text).collect();
                if all.iter().map(String::len).sum::<usize>() > MAX_TEXT {
                    problems.add(node.span, format!("a list of more than {MAX_TEXT} bytes"));
                    return Err(());
                }
                Ok(Level::List(all))
            }
        }
    }

    /// Returns the values of the parameters that a default mentions.
    fn scope_for(
        &mut self,
        text: &str,
        node: &Node,
        name: &str,
        problems: &mut Problems<'_>,
    ) -> Result<Scope<'static>, ()> {
        let mut scope = Scope::default();
        let mentioned: Vec<String> = words(text)
            .filter(|word| self.declared.iter().any(|one| one.parameter.name == *word))
            .map(str::to_owned)
            .collect();
        for other in mentioned {
            // A text default that happens to contain another parameter's name as a word does not refer to it.
            if !refers(text, &other, self.kind(name)) {
                continue;
            }
            if matches!(self.state.get(&other), Some(State::Busy)) {
                problems
                    .add(node.span, format!("parameters `{name}` and `{other}` refer to each other"))
                    .help("give one of them a value of its own");
                return Err(());
            }
            let level = self.value(&other, problems).ok_or(())?;
            scope.names.push((other, level));
        }
        Ok(scope)
    }

    fn kind(&self, name: &str) -> &str {
        self.declared
            .iter()
            .find(|one| one.parameter.name == name)
            .map_or("text", |one| one.parameter.kind.as_str())
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| is_name(word))
}

fn refers(text: &str, name: &str, kind: &str) -> bool {
    let whole = text.trim() == name;
    let numeric = matches!(kind, "int" | "number" | "size");
    let braced = text
        .split('{')
        .skip(1)
        .any(|part| part.split_once('}').is_some_and(|(inner, _)| words(inner).any(|word| word == name)));
    whole || braced || numeric
}

/// Checks a value against a type, and returns it in its final form.
fn check(text: &str, kind: &str, scope: &Scope<'_>) -> Result<Level, Wrong> {
    let text = text.trim();
    let most = if kind == "list" { MAX_TEXT } else { MAX_FILLED };
    if text.len() > most {
        return Err(Wrong::new(format!("a value of {} bytes; at most {most} are allowed", text.len())));
    }
    if let Some(level) = scope.find(text) {
        return if let Level::Text(inner) = level {
            check(inner, kind, &Scope::default())
        } else {
            Ok(level.clone())
        };
    }
    match kind {
        "int" | "number" | "size" => numeric(text, kind, scope),
        "duration" => scope.fill(text, &[]).and_then(|text| duration(&text).map(|_| Level::Text(text))),
        "percent" => scope.fill(text, &[]).and_then(|text| percent(&text).map(|_| Level::Text(text))),
        "list" => Ok(Level::List(text.split(',').map(|item| item.trim().to_owned()).collect())),
        _ => {
            let filled = scope.fill(text, &[])?;
            if filled.len() > MAX_FILLED {
                return Err(Wrong::new(format!(
                    "the value becomes too long; at most {MAX_FILLED} bytes are allowed"
                )));
            }
            Ok(Level::Text(filled))
        }
    }
}

fn numeric(text: &str, kind: &str, scope: &Scope<'_>) -> Result<Level, Wrong> {
    let filled = scope.fill(text, &[])?;
    let (number, written): (Number, bool) = match amount(&filled) {
        Some(number) => (number?, true),
        None => (evaluate(&filled, &mut |name| scope.number(name))?, false),
    };
    let shown = printable(text, 40);
    if kind != "number" && number.whole().is_none() {
        return Err(Wrong::new(format!("`{shown}` is not whole")));
    }
    if kind == "size" && (number.is_negative() || number.is_zero()) {
        return Err(Wrong::new(format!("`{shown}` is not a size")));
    }
    Ok(Level::Text(if written { filled } else { number.to_string() }))
}
