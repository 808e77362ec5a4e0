//! diskproof's own list of machines.

use super::range::expand;
use crate::diagnostic::printable;
use crate::fields::{Fields, list, named};
use crate::limits::MAX_MACHINES;
use crate::money;
use crate::price::per_hour;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::source::Source;
use crate::target_keys;
use crate::tree::{Key, Node};
use crate::value;
use crate::vocabulary::{MACHINE, MACHINES};
use record::machine::{Mac, Machine, MachinePrice};
use std::collections::BTreeSet;

const PLAIN: &str = "letters, digits, `.`, `_` and `-`, beginning with a letter or digit";

/// Reads the whole file.
pub(super) fn read(root: &Node, source: &Source, problems: &mut Problems<'_>) -> Vec<Machine> {
    let Some(fields) = Fields::open(root, &MACHINES, problems) else { return Vec::new() };
    let currency = fields.get("currency").and_then(|node| money::currency(node, problems));
    let Some(node) = fields.get("machines") else { return Vec::new() };
    let Some(entries) = named(node, "a map: NAME: { ssh: user@host }", problems) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let mut machines = Vec::new();
    for (key, node) in entries {
        if problems.full() {
            break;
        }
        let Some(names) = names(key, problems) else { continue };
        let Some(read) = machine(key, node, names.len() > 1, currency.as_deref(), source, problems) else {
            continue;
        };
        for name in names {
            if machines.len() >= MAX_MACHINES {
                problems.add(key.span, format!("more than {MAX_MACHINES} machines"));
                return machines;
            }
            if !seen.insert(name.clone()) {
                problems
                    .add(key.span, format!("machine `{name}` is there twice"))
                    .help("two entries stand for it; remove one, or make the range shorter");
                break;
            }
            let ssh = read.ssh.clone();
            machines.push(Machine {
                ssh: if ssh.is_empty() { name.clone() } else { ssh },
                name,
                ..read.clone()
            });
        }
    }
    machines
}

fn names(key: &Key, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let names = match expand(&key.text) {
        Ok(names) => names,
        Err(why) => {
            problems
                .add(key.span, format!("`{}`: {why}", printable(&key.text, 60)))
                .expected("a name, or a range as `web[01:20]`");
            return None;
        }
    };
    match names.iter().find(|name| !is_plain(name)) {
        Some(name) => {
            problems
                .add(key.span, format!("`{}` cannot be the name of a machine", printable(name, 60)))
                .expected(PLAIN);
            None
        }
        None => Some(names),
    }
}

/// Whether a text can be the name of a machine, a group or a tag.
pub(super) fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= 253
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Reads one entry; its name is set by the caller, and its destination where it is empty.
fn machine(
    key: &Key,
    node: &Node,
    of_many: bool,
    currency: Option<&str>,
    source: &Source,
    problems: &mut Problems<'_>,
) -> Option<Machine> {
    let fields = Fields::open(node, &MACHINE, problems)?;
    let mut machine = Machine::named("", &format!("{}:{}", source.name, source.line(key.span.start)));
    for single in ["ssh", "mac", "address"] {
        if let (true, Some(key)) = (of_many, fields.key(single)) {
            problems
                .add(key.span, format!("`{single}` belongs to one machine, and the entry stands for several"))
                .help("give the machine an entry of its own; names of ~/.ssh/config need no `ssh`");
            return None;
        }
    }
    if let Some(node) = fields.get("ssh") {
        machine.ssh = target_keys::destination(node, &Scope::default(), problems)?;
    }
    if let Some(node) = fields.get("mac") {
        machine.mac = Some(mac(node, problems)?);
    }
    if let Some(node) = fields.get("address") {
        machine.address = Some(target_keys::plain_address(node, &Scope::default(), problems)?);
    }
    if let Some(node) = fields.get("price") {
        machine.price = Some(price(node, currency, problems)?);
    }
    machine.groups = words(fields.get("groups"), "a group", problems)?;
    machine.tags = words(fields.get("tags"), "a tag", problems)?;
    Some(machine)
}

fn mac(node: &Node, problems: &mut Problems<'_>) -> Option<Mac> {
    const EXPECTED: &str = "six bytes, e.g. \"52:54:00:12:34:56\"";
    let text = value::raw(node, EXPECTED, problems)?;
    let mac = Mac::parse(text);
    if mac.is_none() {
        problems
            .add(node.span, format!("`{}` is not a hardware address", printable(text, 40)))
            .expected(EXPECTED);
    }
    mac
}

fn price(node: &Node, currency: Option<&str>, problems: &mut Problems<'_>) -> Option<MachinePrice> {
    const EXPECTED: &str = "money per time: `120/month`, `0.17/hour`, also `/day` and `/year`";
    let text = value::raw(node, EXPECTED, problems)?;
    match per_hour(text, &Scope::default()) {
        Ok(per_hour) => Some(MachinePrice {
            text: text.to_owned(),
            per_hour: per_hour.to_f64(),
            currency: currency.map(str::to_owned),
        }),
        Err(why) => {
            value::wrong(node, why, &Scope::default(), problems);
            problems.amend(node.span).expected(EXPECTED);
            None
        }
    }
}

fn words(node: Option<&Node>, what: &str, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let mut words: Vec<String> = Vec::new();
    for item in list(node) {
        let word = value::raw(item, "a name or a list of names", problems)?;
        if !is_plain(word) {
            problems
                .add(item.span, format!("`{}` cannot be the name of {what}", printable(word, 60)))
                .expected(PLAIN);
            return None;
        }
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    Some(words)
}
