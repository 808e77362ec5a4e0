//! Stacks that are built on one machine and mounted by another.

use crate::diagnostic::printable;
use crate::problems::Problems;
use crate::source::Span;
use record::stack::{Rebuild, Stack};
use record::target::{Target, TargetKind};

/// Refuses combinations that are impossible with two machines. `places` are the machines that the stack is built on.
pub(crate) fn check(
    stack: &Stack,
    span: Span,
    places: &[String],
    targets: &[Target],
    problems: &mut Problems<'_>,
) -> Option<()> {
    let Some(client) = stack.client() else { return Some(()) };
    let refused = |problems: &mut Problems<'_>, why: String, help: &str| {
        problems.add(span, why).help(help);
        None
    };
    let (shown, asked) = (printable(&stack.name, 60), printable(client, 40));
    let Some(client) = targets.iter().find(|target| target.name == client) else {
        let names = targets.iter().map(|target| target.name.as_str());
        let known = names.clone().collect::<Vec<_>>().join(", ");
        problems
            .add(span, format!("`client: {asked}` of stack `{shown}` is not a target"))
            .suggest(client, names)
            .help(if known.is_empty() {
                "name two machines in `targets`: one that has the volumes, and this one".to_owned()
            } else {
                format!("targets: {}", printable(&known, 200))
            });
        return None;
    };
    if stack.rebuild == Rebuild::Run {
        return refused(
            problems,
            format!("`rebuild: run` of stack `{shown}`, which `{asked}` mounts"),
            "a stack with a `client` is built, exported and taken down for each trial; leave `rebuild` out",
        );
    }
    if stack.attaches_late() || stack.flushes() {
        return refused(
            problems,
            format!(
                "the cache of stack `{shown}` is attached or flushed during the trial, and `{asked}` mounts the stack"
            ),
            "only the machine that makes the load knows when to do that: leave `attach` and `detach` out, or `client`",
        );
    }
    for server in places.iter().filter_map(|place| targets.iter().find(|target| target.name == *place)) {
        let on = printable(&server.name, 40);
        if server.kind == client.kind {
            let same = if server.name == client.name {
                format!("stack `{shown}` is built on `{on}`, and its `client` is the same target")
            } else {
                format!("stack `{shown}` is built on `{on}`, and its `client` `{asked}` is the same machine")
            };
            return refused(
                problems,
                same,
                "leave `client` out to mount on the same machine, or bind the volumes to another target (`target:`)",
            );
        }
        if !reach(server, client) {
            return refused(
                problems,
                format!("stack `{shown}`: `{on}` and `{asked}` can't reach each other"),
                UNREACHED,
            );
        }
    }
    Some(())
}

/// The way out for two machines that can't reach each other.
pub(crate) const UNREACHED: &str = "a lab guest is reached from this machine and from its other guests only; take two guests, or two machines";

/// Whether a client can reach a server. A lab guest has no way to another machine.
pub(crate) fn reach(server: &Target, client: &Target) -> bool {
    let guest = |target: &Target| matches!(target.kind, TargetKind::Guest { .. });
    let ssh = |target: &Target| matches!(target.kind, TargetKind::Ssh { .. } | TargetKind::Created { .. });
    !((guest(server) && ssh(client)) || (ssh(server) && guest(client)))
}
