//! The command layer: the user's own programs, as argument vectors.

use crate::diagnostic::printable;
use crate::fields::{Fields, list};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Node, Value};
use crate::value;
use crate::vocabulary::PROVIDES;
use record::stack::{CommandLayer, Provides};

/// Placeholders that are filled in when the layer is built.
const PLACEHOLDERS: &[&str] = &["device", "devices", "mount", "name"];

pub(crate) fn read(
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<CommandLayer> {
    let up = fields.get("up").map(|node| commands(node, scope, problems));
    let down = fields.get("down").map(|node| commands(node, scope, problems));
    let provides = provides(fields.get("provides")?, scope, problems)?;
    Some(CommandLayer { up: up??, down: down??, provides })
}

/// `[[prog, arg], [prog, arg]]`, or one command `[prog, arg]`.
fn commands(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<Vec<String>>> {
    const EXPECTED: &str = "a list of commands, each a list: [[mdadm, --create, ...], [...]]";
    let Value::List(items) = &node.value else {
        let diagnostic =
            problems.add(node.span, format!("{} does not fit here", node.kind())).expected(EXPECTED);
        if matches!(node.value, Value::Text(_)) {
            diagnostic.help("commands are argument vectors; there is no shell that would split a line");
        }
        return None;
    };
    let nested = items.iter().any(|item| matches!(item.value, Value::List(_)));
    let vectors: Vec<&[Node]> =
        if nested { items.iter().map(list).collect() } else { vec![items.as_slice()] };
    let mut commands = Vec::new();
    for vector in vectors {
        let mut command = Vec::new();
        for item in vector {
            let argument = value::text_keeping(item, "an argument", PLACEHOLDERS, scope, problems)?;
            if argument.contains('\0') {
                problems.add(item.span, "an argument holds a NUL character").expected("plain text");
                return None;
            }
            command.push(argument);
        }
        match command.first() {
            Some(program) if !program.is_empty() => commands.push(command),
            _ => {
                problems.add(node.span, "an empty command").expected(EXPECTED);
                return None;
            }
        }
    }
    Some(commands)
}

fn provides(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Provides> {
    const EXPECTED: &str = "`mount`, or { device: /dev/... }";
    match &node.value {
        Value::Text(text) if text == "mount" => Some(Provides::Mount),
        Value::Map(_) => {
            let fields = Fields::open(node, &PROVIDES, problems)?;
            let inner = fields.get("device")?;
            let path = value::text_keeping(inner, "a path", PLACEHOLDERS, scope, problems)?;
            if !path.starts_with("/dev/") || path.split('/').any(|part| part == "..") || path.contains('\0') {
                problems
                    .add(inner.span, format!("`{}` is not a block device", printable(&path, 60)))
                    .expected("a path below /dev, e.g. /dev/mapper/{name}");
                return None;
            }
            Some(Provides::Device(path))
        }
        _ => {
            problems.add(node.span, format!("{} does not fit here", node.kind())).expected(EXPECTED);
            None
        }
    }
}
