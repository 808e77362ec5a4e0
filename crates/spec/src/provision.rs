//! Provisioning: scripts, playbooks and manifests, read from the experiment's directory.

use crate::diagnostic::printable;
use crate::fields::{Fields, list, named};
use crate::limits::{MAX_PROVISION_BYTES, MAX_PROVISION_STEPS};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::vocabulary::PROVISION;
use crate::{beside, cell, value, volume};
use record::provision::{ProvisionStep, Provisioner};
use record::target::Target;
use std::collections::BTreeMap;
use std::path::Path;

const KINDS: [Provisioner; 3] = [Provisioner::Shell, Provisioner::Ansible, Provisioner::Puppet];

/// Reads `provision`.
pub(crate) fn read(
    node: Option<&Node>,
    targets: &[Target],
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Vec<ProvisionStep> {
    let steps = node.map_or(&[][..], list);
    if let Some(beyond) = steps.get(MAX_PROVISION_STEPS) {
        let message = format!("{} steps; at most {MAX_PROVISION_STEPS} are allowed", steps.len());
        problems.add(beyond.span, message);
        return Vec::new();
    }
    steps.iter().filter_map(|node| step(node, targets, base_dir, scope, problems)).collect()
}

fn step(
    node: &Node,
    targets: &[Target],
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<ProvisionStep> {
    let fields = Fields::open(node, &PROVISION, problems)?;
    let said: Vec<Provisioner> = KINDS.into_iter().filter(|kind| fields.get(kind.name()).is_some()).collect();
    let [by] = said[..] else {
        let message = if said.is_empty() { "a step with nothing to do" } else { "two things in one step" };
        problems
            .add_missing(node.span, message)
            .expected("exactly one of `shell`, `ansible`, `puppet`, with the name of a file");
        return None;
    };
    let (other, instead) = match by {
        Provisioner::Shell => ("vars", "give a script `args`"),
        Provisioner::Ansible => ("args", "give a playbook `vars`"),
        Provisioner::Puppet => ("args", "give a manifest `vars`: it sees them as facts"),
    };
    if let Some(key) = fields.key(other) {
        problems.add(key.span, format!("`{other}` does not go with `{by}`")).help(instead);
        return None;
    }
    let target = match fields.get("target") {
        Some(node) => Some(volume::known(node, targets, scope, problems)?),
        None => None,
    };
    let args = fields.get("args").map(|node| value::texts(node, "arguments", &[], scope, problems));
    let vars = vars(fields.get("vars"), scope, problems);
    let (path, text) = file(fields.get(by.name())?, by, base_dir, scope, problems)?;
    let (args, vars) = (args.unwrap_or_else(|| Some(Vec::new()))?, vars?);
    if let Some(node) = fields.get("args").filter(|_| args.iter().any(|arg| arg.contains('\0'))) {
        problems.add(node.span, "an argument holds a NUL character").expected("plain text");
        return None;
    }
    let digest = cell::digest(&(by.name(), &text, &args, &vars));
    Some(ProvisionStep { by, path, text, args, vars, target, digest })
}

fn file(
    node: &Node,
    by: Provisioner,
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<(String, String)> {
    let expected = match by {
        Provisioner::Shell => "a script, its path relative to the experiment file",
        Provisioner::Ansible => "a playbook, its path relative to the experiment file",
        Provisioner::Puppet => "a manifest, its path relative to the experiment file",
    };
    let path = value::text(node, expected, scope, problems)?;
    let named = Path::new(&path).file_name().is_some() && !path.contains('\0');
    let text = if named {
        beside::text(&base_dir.join(&path), MAX_PROVISION_BYTES)
    } else {
        Err(beside::NoText::NoName)
    };
    let text = match text {
        Ok(text) => text,
        Err(why) => {
            problems.add(node.span, format!("`{}`: {why}", printable(&path, 80))).expected(expected);
            return None;
        }
    };
    if by == Provisioner::Shell && !text.starts_with("#!/") {
        problems
            .add(node.span, format!("`{}` does not say which shell it is for", printable(&path, 80)))
            .expected("a first line such as `#!/bin/sh`");
        return None;
    }
    Some((path, text))
}

fn vars(
    node: Option<&Node>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<BTreeMap<String, String>> {
    let Some(node) = node else { return Some(BTreeMap::new()) };
    let mut vars = BTreeMap::new();
    for (key, node) in named(node, "a map: NAME: VALUE", problems)? {
        let mut letters = key.text.chars();
        let begins = letters.next().is_some_and(|first| first.is_ascii_lowercase());
        let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !begins || !letters.all(rest) {
            let message = format!("`{}` is not the name of a variable", printable(&key.text, 60));
            problems.add(key.span, message).expected("a-z, then a-z 0-9 _");
            return None;
        }
        let value = value::text(node, "a text", scope, problems)?;
        if value.contains('\0') {
            problems.add(node.span, "a variable holds a NUL character").expected("plain text");
            return None;
        }
        vars.insert(key.text.clone(), value);
    }
    Some(vars)
}
