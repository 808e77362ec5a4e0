//! An Ansible inventory as groups: hosts, children and variables. Its machines are what remains when the variables are followed.

use super::own::is_plain;
use super::range::expand;
use crate::diagnostic::printable;
use crate::limits::MAX_MACHINES;
use crate::problems::Problems;
use crate::source::{Source, Span};
use record::machine::{Mac, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// A variable's value and its place.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) text: String,
    pub(super) span: Span,
}

/// The variables of a host or group.
pub(super) type Variables = BTreeMap<String, Variable>;

/// One group.
#[derive(Debug, Default)]
struct Group {
    hosts: Vec<String>,
    children: Vec<String>,
    variables: Variables,
}

/// All groups and hosts of an inventory.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<String, Group>,
    /// Names of the groups in the order of the file.
    order: Vec<String>,
    hosts: BTreeMap<String, Host>,
    /// Names of the hosts in the order of the file.
    sequence: Vec<String>,
}

#[derive(Debug, Default)]
struct Host {
    place: Span,
    variables: Variables,
}

/// The group of all hosts, which needs no name in a selection.
const ALL: &str = "all";
/// The group of the hosts without another group.
const UNGROUPED: &str = "ungrouped";

impl Groups {
    fn group(&mut self, name: &str) -> &mut Group {
        if !self.groups.contains_key(name) {
            self.order.push(name.to_owned());
        }
        self.groups.entry(name.to_owned()).or_default()
    }

    /// Adds the hosts that a name with ranges stands for to a group, with variables of their own. `NAME:PORT` sets the port.
    pub(super) fn add_hosts(
        &mut self,
        group: &str,
        pattern: &str,
        span: Span,
        variables: &Variables,
        problems: &mut Problems<'_>,
    ) {
        let (pattern, port) = with_port(pattern);
        let names = match expand(pattern) {
            Ok(names) => names,
            Err(why) => {
                problems
                    .add(span, format!("`{}`: {why}", printable(pattern, 60)))
                    .expected("a host, or a range as `web[01:20]`");
                return;
            }
        };
        self.group(group);
        for name in names {
            if !may_be_host(&name) {
                problems.add(span, format!("`{}` is not the name of a host", printable(&name, 60)));
                return;
            }
            if !self.hosts.contains_key(&name) {
                if self.hosts.len() >= MAX_MACHINES {
                    problems.add(span, format!("more than {MAX_MACHINES} hosts"));
                    return;
                }
                self.sequence.push(name.clone());
                self.hosts.insert(name.clone(), Host { place: span, variables: Variables::new() });
            }
            if let Some(host) = self.hosts.get_mut(&name) {
                host.variables.extend(variables.clone());
                if let Some(port) = port {
                    host.variables.insert(PORT.to_owned(), Variable { text: port.to_owned(), span });
                }
            }
            let hosts = &mut self.group(group).hosts;
            if !hosts.contains(&name) {
                hosts.push(name);
            }
        }
    }

    /// Adds a group to another one.
    pub(super) fn add_child(&mut self, group: &str, child: &str) {
        self.group(child);
        let children = &mut self.group(group).children;
        if !children.iter().any(|known| known == child) {
            children.push(child.to_owned());
        }
    }

    /// Adds a group without anything in it.
    pub(super) fn add_group(&mut self, group: &str) {
        self.group(group);
    }

    /// Sets variables of a group.
    pub(super) fn set(&mut self, group: &str, variables: Variables) {
        self.group(group).variables.extend(variables);
    }

    /// Returns the machines. Variables of a host win over those of its groups, and those of a child over its parents'.
    pub(super) fn machines(&self, source: &Source, problems: &mut Problems<'_>) -> Vec<Machine> {
        let parents = self.parents();
        let mut machines = Vec::new();
        for name in &self.sequence {
            if problems.full() {
                break;
            }
            let Some(host) = self.hosts.get(name) else { continue };
            let around = self.around(name, &parents);
            let mut variables = Variables::new();
            for group in around.iter().rev() {
                if let Some(group) = self.groups.get(*group) {
                    variables.extend(group.variables.clone());
                }
            }
            variables.extend(host.variables.clone());
            let groups = self.order.iter().filter(|group| around.contains(&group.as_str()));
            let groups = groups.filter(|group| *group != ALL && *group != UNGROUPED).cloned().collect();
            machines.extend(machine(name, host.place, &variables, groups, source, problems));
        }
        machines
    }

    fn parents(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut parents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, group) in &self.groups {
            for child in &group.children {
                parents.entry(child).or_default().push(name);
            }
        }
        parents
    }

    /// Returns the groups of a host, the nearest first and `all` last. Groups in a circle count once.
    fn around<'g>(&'g self, host: &str, parents: &BTreeMap<&'g str, Vec<&'g str>>) -> Vec<&'g str> {
        let direct = self.order.iter().filter(|group| {
            *group != ALL
                && self.groups.get(*group).is_some_and(|group| group.hosts.iter().any(|known| known == host))
        });
        let mut found: Vec<&str> = direct.map(String::as_str).collect();
        let mut seen: BTreeSet<&str> = found.iter().copied().collect();
        let mut at = 0;
        while let Some(group) = found.get(at).copied() {
            at += 1;
            for parent in parents.get(group).into_iter().flatten() {
                if *parent != ALL && seen.insert(parent) {
                    found.push(parent);
                }
            }
        }
        found.push(ALL);
        found
    }
}

const PORT: &str = "ansible_port";

/// Separates the port of `host:port`. An IPv6 address has several colons, and no port.
fn with_port(pattern: &str) -> (&str, Option<&str>) {
    // The colon of a range stands inside of brackets.
    let after = pattern.rfind(']').map_or(0, |at| at + 1);
    match pattern[after..].split_once(':') {
        Some((_, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (&pattern[..pattern.len() - port.len() - 1], Some(port))
        }
        _ => (pattern, None),
    }
}

fn may_be_host(name: &str) -> bool {
    is_plain(name) || name.parse::<std::net::IpAddr>().is_ok()
}

fn machine(
    name: &str,
    place: Span,
    variables: &Variables,
    groups: Vec<String>,
    source: &Source,
    problems: &mut Problems<'_>,
) -> Option<Machine> {
    let get = |names: &[&str]| names.iter().find_map(|name| variables.get(*name));
    if let Some(connection) = get(&["ansible_connection"])
        && !matches!(connection.text.as_str(), "ssh" | "smart" | "paramiko" | "paramiko_ssh")
    {
        let kind = printable(&connection.text, 40);
        problems
            .note(connection.span, format!("{name} is left out: its ansible_connection is {kind}, not ssh"));
        return None;
    }
    let mut machine = Machine::named(name, &format!("{}:{}", source.name, source.line(place.start)));
    machine.groups = groups;
    let host = get(&["ansible_host", "ansible_ssh_host"]);
    if let Some(host) = host {
        plain(host, "ansible_host", problems)?;
        machine.ssh.clone_from(&host.text);
    }
    if let Some(user) = get(&["ansible_user", "ansible_ssh_user"]) {
        plain(user, "ansible_user", problems)?;
        machine.ssh = format!("{}@{}", user.text, machine.ssh);
    }
    if let Some(port) = get(&[PORT, "ansible_ssh_port"]) {
        machine.port = Some(self::port(port, problems)?);
    }
    if let Some(key) = get(&["ansible_ssh_private_key_file", "ansible_private_key_file"]) {
        no_template(key, "ansible_ssh_private_key_file", problems)?;
        machine.identity = Some(key.text.clone().into());
    }
    for unused in ["ansible_ssh_common_args", "ansible_ssh_extra_args"] {
        if let Some(found) = get(&[unused]) {
            problems
                .note(found.span, format!("`{unused}` is not used: write its options into ~/.ssh/config"));
        }
    }
    if let Some(mac) = get(&["mac", "mac_address"]) {
        machine.mac = Mac::parse(&mac.text);
        if machine.mac.is_none() {
            problems.note(
                mac.span,
                format!("`{}` is not a hardware address; {name} can't be woken", printable(&mac.text, 40)),
            );
        }
    }
    Some(machine)
}

fn port(port: &Variable, problems: &mut Problems<'_>) -> Option<u16> {
    let number = port.text.parse::<u16>().ok().filter(|port| *port > 0);
    if number.is_none() {
        no_template(port, PORT, problems)?;
        problems
            .add(port.span, format!("`{}` is not a port", printable(&port.text, 40)))
            .expected("a number from 1 to 65535");
    }
    number
}

/// Checks a word of ssh's destination: ssh must not take it for an option.
fn plain(variable: &Variable, what: &str, problems: &mut Problems<'_>) -> Option<()> {
    no_template(variable, what, problems)?;
    let text = &variable.text;
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '@';
    if text.is_empty() || text.starts_with('-') || text.contains(odd) {
        problems.add(variable.span, format!("`{}` cannot be used as {what}", printable(text, 60)));
        return None;
    }
    Some(())
}

/// Refuses a template: only Ansible can fill it in.
fn no_template(variable: &Variable, what: &str, problems: &mut Problems<'_>) -> Option<()> {
    if !variable.text.contains("{{") {
        return Some(());
    }
    problems
        .add(variable.span, format!("{what} is a template, `{}`", printable(&variable.text, 60)))
        .help("only Ansible can fill it in: --machines ansible:FILE asks `ansible-inventory`");
    None
}
