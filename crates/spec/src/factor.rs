//! Factors and their levels: `with: { n: [1, 2, 3] }`.

use crate::diagnostic::printable;
use crate::fields::{list, named};
use crate::limits::{MAX_FACTORS, MAX_NAME};
use crate::parameter::check_name;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::source::Span;
use crate::tree::{Key, Node, Value};
use crate::value;

/// One factor.
#[derive(Debug)]
pub(crate) struct Factor {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) levels: Vec<Level>,
}

/// Reads `with`. Factors can't have the names of parameters.
pub(crate) fn read(
    node: Option<&Node>,
    parameters: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Factor>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let entries = named(node, "a map of factors and their levels, e.g. { n: [1, 2, 3] }", problems)?;
    if let Some((key, _)) = entries.get(MAX_FACTORS) {
        problems
            .add(key.span, format!("{} factors; at most {MAX_FACTORS} are allowed", entries.len()))
            .help("ask one question per experiment");
        return None;
    }
    let mut factors = Vec::new();
    let mut sound = true;
    for (key, node) in entries {
        match factor(key, node, parameters, problems) {
            Some(factor) => factors.push(factor),
            None => sound = false,
        }
    }
    sound.then_some(factors)
}

fn factor(key: &Key, node: &Node, parameters: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Factor> {
    check_name(key, "factor", problems)?;
    let name = key.text.clone();
    if parameters.find(&name).is_some() {
        problems
            .add(key.span, format!("`{name}` is a parameter already"))
            .expected("a name of its own for every factor and parameter")
            .help(format!("to vary a parameter's list: `my_{name}: {name}`"));
        return None;
    }
    let mut levels = Vec::new();
    // A bare name of a parameter of type list stands for its elements as levels.
    if let Value::Text(text) = &node.value
        && let Some(Level::List(items)) = parameters.find(text)
    {
        for item in items {
            levels.push(fit(Level::Text(item.clone()), node, problems)?);
        }
    } else {
        for item in list(node) {
            levels.push(level(item, parameters, problems)?);
        }
    }
    if levels.is_empty() {
        problems
            .add(key.span, format!("factor `{name}` has no levels, so there would be no cells"))
            .expected("at least one level, e.g. [1, 2]");
        return None;
    }
    let mut seen = std::collections::HashSet::new();
    for (i, level) in levels.iter().enumerate() {
        if !seen.insert(level.text()) {
            let span = list(node).get(i).map_or(key.span, |item| item.span);
            let shown = printable(&level.text(), 40);
            problems
                .add(span, format!("level `{shown}` of factor `{name}` is there twice"))
                .help("repetitions come from rounds; remove one of the two");
            return None;
        }
    }
    Some(Factor { name, span: key.span, levels })
}

fn level(item: &Node, parameters: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Level> {
    const EXPECTED: &str = "a level: a number, size or text, or a list of texts";
    let level = match &item.value {
        Value::List(_) => Level::List(value::texts(item, EXPECTED, &[], parameters, problems)?),
        Value::Text(text) => match parameters.find(text) {
            Some(level) => level.clone(),
            None => Level::Text(value::text(item, EXPECTED, parameters, problems)?),
        },
        Value::Null | Value::Map(_) => {
            problems.add(item.span, format!("{} cannot be a level", item.kind())).expected(EXPECTED);
            return None;
        }
    };
    fit(level, item, problems)
}

/// Refuses levels that would make bad names.
fn fit(level: Level, item: &Node, problems: &mut Problems<'_>) -> Option<Level> {
    let text = level.text();
    if text.len() > MAX_NAME || text.chars().any(char::is_control) {
        let shown = printable(&text, 40);
        problems
            .add(item.span, format!("level `{shown}` cannot be used"))
            .expected(format!("at most {MAX_NAME} bytes, no control characters"));
        return None;
    }
    Some(level)
}

/// Returns the number of combinations of the factors.
pub(crate) fn combinations(factors: &[Factor]) -> u128 {
    factors.iter().fold(1_u128, |product, factor| product.saturating_mul(factor.levels.len() as u128))
}

/// Returns the levels of combination number `index`; the last factor varies fastest.
pub(crate) fn combination(factors: &[Factor], index: u128) -> Vec<(String, Level)> {
    let mut rest = index;
    let mut chosen: Vec<(String, Level)> = factors
        .iter()
        .rev()
        .filter_map(|factor| {
            let count = factor.levels.len() as u128;
            let at = usize::try_from(rest.checked_rem(count)?).ok()?;
            rest /= count;
            Some((factor.name.clone(), factor.levels.get(at)?.clone()))
        })
        .collect();
    chosen.reverse();
    chosen
}

/// Returns a name with its factors filled in. Factors with several levels that are not in the template are appended, so that no
/// two combinations share a name.
pub(crate) fn fill_name(
    key: &Key,
    factors: &[Factor],
    scope: &Scope<'_>,
    what: &str,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let fitted = Scope {
        parent: scope.parent,
        names: scope
            .names
            .iter()
            .map(|(name, level)| (name.clone(), Level::Text(crate::name::from_level(&level.text()))))
            .collect(),
    };
    let mut name = match fitted.fill(&key.text, &[]) {
        Ok(name) => name,
        Err(why) => {
            let diagnostic = problems.add(key.span, why.message);
            diagnostic.help = why.help;
            diagnostic.did_you_mean = why.near;
            return None;
        }
    };
    for factor in factors {
        let mentioned = key.text.split('{').skip(1).any(|part| {
            part.split_once('}').is_some_and(|(inner, _)| {
                inner
                    .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .any(|word| word == factor.name)
            })
        });
        if let (false, true, Some(Level::Text(level))) =
            (mentioned, factor.levels.len() > 1, fitted.find(&factor.name))
        {
            name.push('-');
            name.push_str(level);
        }
    }
    let name = crate::name::from_level(&name);
    if name.len() > MAX_NAME {
        problems
            .add(key.span, format!("the {what}'s name becomes too long: `{}`", printable(&name, 60)))
            .expected(format!("at most {MAX_NAME} characters, levels filled in"));
        return None;
    }
    Some(name)
}
