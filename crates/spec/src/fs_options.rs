//! The options that a layer hands to mkfs and mount.

use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Node, Value};
use crate::value;
use record::allowed::{self, Mkfs, Mounted, Refusal};

/// Reads arguments for mkfs and checks them against its table.
pub(crate) fn mkfs_options(
    node: Option<&Node>,
    program: Mkfs,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<String>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let arguments = value::texts(node, "a list of arguments, one per element", &[], scope, problems)?;
    match allowed::mkfs(program, &arguments) {
        Ok(()) => Some(arguments),
        Err(refusal) => {
            refuse("mkfs_options", node, refusal.at, &refusal, problems);
            None
        }
    }
}

fn refuse(key: &str, node: &Node, at: usize, refusal: &Refusal, problems: &mut Problems<'_>) {
    let place = match &node.value {
        Value::List(items) => items.get(at).map_or(node.span, |item| item.span),
        _ => node.span,
    };
    problems
        .add(place, format!("`{key}`: {}", refusal.message))
        .expected(refusal.allowed.clone())
        .help(refusal.help.clone());
}

/// Reads mount options and checks them against their table: `noatime,ssd` and `[noatime, ssd]` mean the same.
pub(crate) fn mount_options(
    node: Option<&Node>,
    what: Mounted,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<String>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let given = value::texts(node, "mount options, e.g. `[noatime]`", &[], scope, problems)?;
    let mut options = Vec::new();
    for (at, text) in given.iter().enumerate() {
        let parts = text.split(',').map(|part| part.trim_matches(' ')).filter(|part| !part.is_empty());
        let parts: Vec<String> = parts.map(str::to_owned).collect();
        if let Err(refusal) = allowed::mount(what, &parts) {
            refuse("mount_options", node, at, &refusal, problems);
            return None;
        }
        options.extend(parts);
    }
    Some(options)
}
