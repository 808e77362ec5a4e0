//! Ansible's inventories in YAML, and in JSON as `ansible-inventory --list` prints them.

use super::groups::{Groups, Variable, Variables};
use crate::diagnostic::printable;
use crate::fields::named;
use crate::problems::Problems;
use crate::source::Source;
use crate::tree::{Key, Node, Value, find};
use record::machine::Machine;

/// Reads an inventory in YAML: groups with `hosts`, `children` and `vars`.
pub(super) fn yaml(root: &Node, source: &Source, problems: &mut Problems<'_>) -> Vec<Machine> {
    let mut groups = Groups::default();
    for (key, node) in
        named(root, "groups: NAME: { hosts: ..., children: ..., vars: ... }", problems).unwrap_or_default()
    {
        group(key, node, &mut groups, problems);
    }
    groups.machines(source, problems)
}

fn group(key: &Key, node: &Node, groups: &mut Groups, problems: &mut Problems<'_>) {
    groups.add_group(&key.text);
    for (part, node) in named(node, "a map with hosts, children, vars", problems).unwrap_or_default() {
        match part.text.as_str() {
            "hosts" => {
                for (host, node) in
                    named(node, "a map of hosts, each with its variables", problems).unwrap_or_default()
                {
                    groups.add_hosts(&key.text, &host.text, host.span, &variables(node), problems);
                }
            }
            "children" => {
                for (child, node) in named(node, "a map of groups", problems).unwrap_or_default() {
                    groups.add_child(&key.text, &child.text);
                    group(child, node, groups, problems);
                }
            }
            "vars" => groups.set(&key.text, variables(node)),
            other => {
                problems
                    .add(part.span, format!("unknown key `{}` in a group", printable(other, 40)))
                    .suggest(other, ["hosts", "children", "vars", "machines"])
                    .expected("hosts, children or vars; a list of diskproof's own begins with `machines:`");
            }
        }
    }
}

/// Returns the variables with single values. Others have no meaning for ssh.
fn variables(node: &Node) -> Variables {
    let Value::Map(entries) = &node.value else { return Variables::new() };
    let single = |(key, node): &(Key, Node)| match &node.value {
        Value::Text(text) => Some((key.text.clone(), Variable { text: text.clone(), span: node.span })),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    };
    entries.iter().filter_map(single).collect()
}

/// Reads what `ansible-inventory --list` prints.
pub(super) fn list(root: &Node, source: &Source, problems: &mut Problems<'_>) -> Vec<Machine> {
    let mut groups = Groups::default();
    let of_hosts = find(root, "_meta").and_then(|meta| find(meta, "hostvars"));
    for (key, node) in named(root, "a map of groups", problems).unwrap_or_default() {
        if key.text == "_meta" {
            continue;
        }
        groups.add_group(&key.text);
        for host in texts(find(node, "hosts")) {
            let own = of_hosts.and_then(|all| find(all, &host)).map(variables).unwrap_or_default();
            groups.add_hosts(&key.text, &host, node.span, &own, problems);
        }
        for child in texts(find(node, "children")) {
            groups.add_child(&key.text, &child);
        }
        if let Some(node) = find(node, "vars") {
            groups.set(&key.text, variables(node));
        }
    }
    groups.machines(source, problems)
}

fn texts(node: Option<&Node>) -> Vec<String> {
    let Some(Node { value: Value::List(items), .. }) = node else { return Vec::new() };
    let text = |item: &Node| match &item.value {
        Value::Text(text) => Some(text.clone()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    };
    items.iter().filter_map(text).collect()
}
