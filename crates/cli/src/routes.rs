//! How targets reach each other of which one mounts by NFS what another serves.
//!
//! Machines have addresses: what `address:` says, else the host of their ssh destination; of this machine, the one that the other side
//! sees of it. Lab guests reach this machine as 10.0.2.2 and are reached by a port of 127.0.0.1 that is forwarded for the run.

use crate::exit::Failure;
use crate::guests::Guest;
use crate::reach;
use crate::settings::Settings;
use host::{Invocation, LocalRunner, Runner as _, Tool};
use record::nfs::NfsVersion;
use record::plan::Plan;
use record::target::{Target, TargetKind};
use run::apart::Route;
use stack::NfsClient;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// This machine, as a lab guest sees it; and whoever comes into a guest by a port of this machine.
const FROM_GUEST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
/// NFS's own port.
const NFS: u16 = 2049;

/// All that the plan's cells need; the machines are reached and the guests up by now.
///
/// # Errors
/// An address can't be found, a port not be forwarded.
pub(crate) fn routes(plan: &Plan, guests: &mut [Guest], settings: &Settings) -> Result<Vec<Route>, Failure> {
    // and whether one of theirs asks for NFSv3
    let mut pairs: BTreeMap<[&str; 2], bool> = BTreeMap::new();
    for cell in &plan.cells {
        if let Some((nfs, client)) = cell.stack.nfs().zip(cell.stack.client()) {
            *pairs.entry([cell.target.as_str(), client]).or_default() |= nfs.version == Some(NfsVersion::V3);
        }
    }
    let mut routes = Vec::new();
    for ([server, client], by_mountd) in pairs {
        let ends = [kind(plan, server), kind(plan, client)];
        let route = |address, [port, mount_port]: [Option<u16>; 2], seen: Ipv4Addr, any_port| Route {
            server: server.to_owned(),
            client: client.to_owned(),
            address,
            port,
            mount_port,
            seen_as: NfsClient { address: seen, any_port },
        };
        routes.push(match ends {
            [TargetKind::Guest { lab, .. }, from] => {
                let guest = guests.iter_mut().find(|guest| guest.stay.lab().name() == lab);
                let guest =
                    guest.ok_or_else(|| Failure::ours(format!("the guest {lab} was not brought up")))?;
                let port = guest.stay.forward(NFS).map_err(Failure::machine)?;
                let mountd = by_mountd.then(|| guest.stay.forward(lab::MOUNTD_PORT)).transpose();
                let ports = [Some(port), mountd.map_err(Failure::machine)?];
                let by_guest = matches!(from, TargetKind::Guest { .. });
                let address = if by_guest { FROM_GUEST } else { Ipv4Addr::LOCALHOST };
                route(address, ports, FROM_GUEST, true)
            }
            [_, TargetKind::Guest { .. }] => route(FROM_GUEST, [None; 2], Ipv4Addr::LOCALHOST, true),
            _ => {
                let (serves, sees) =
                    (address(plan, server, client, settings), address(plan, client, server, settings));
                route(serves?, [None; 2], sees?, false)
            }
        });
    }
    Ok(routes)
}

fn target<'p>(plan: &'p Plan, name: &str) -> Option<&'p Target> {
    plan.targets.iter().find(|target| target.name == name)
}

fn kind<'p>(plan: &'p Plan, name: &str) -> &'p TargetKind {
    target(plan, name).map_or(&TargetKind::Local, |target| &target.kind)
}

/// A target's address in the network, as `other` needs it.
fn address(plan: &Plan, name: &str, other: &str, settings: &Settings) -> Result<Ipv4Addr, Failure> {
    if let Some(said) = target(plan, name).and_then(|target| target.address.as_deref()) {
        return resolved(said, name);
    }
    match (kind(plan, name), kind(plan, other)) {
        (TargetKind::Ssh { destination }, _) => {
            let host = reach::ssh(destination, settings).host(&LocalRunner).map_err(Failure::machine)?;
            resolved(&host, name)
        }
        (_, TargetKind::Ssh { destination }) => seen_from(destination, settings),
        _ => Err(Failure::machine(format!("target {name} has no address that {other} could reach"))),
    }
}

/// This machine's address, as another one sees who is logged in there.
fn seen_from(destination: &str, settings: &Settings) -> Result<Ipv4Addr, Failure> {
    let ask = ["sh", "-c", "echo \"$SSH_CONNECTION\""];
    let ssh = reach::ssh(destination, settings);
    let said =
        ssh.run(&LocalRunner, "ask for this machine's address", &ask, None).map_err(Failure::machine)?;
    let first = said.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| {
        Failure::machine(format!(
            "{destination} does not see this machine by an IPv4 address (`{}`); reach it by ssh as a target of its own, with `address`",
            said.trim()
        ))
    })
}

/// The IPv4 address of a name, as this machine finds it.
fn resolved(name: &str, target: &str) -> Result<Ipv4Addr, Failure> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let ask = Invocation::new(Tool::Getent).args(["ahostsv4", name]).accept([0, 2]);
    let said = LocalRunner.run(&ask).map_err(Failure::machine)?.stdout;
    let first = said.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| {
        Failure::machine(format!(
            "target {target}: this machine finds no IPv4 address of `{name}`; say `address:` in the target"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::resolved;
    use std::net::Ipv4Addr;

    #[test]
    fn what_is_said_counts_and_names_are_looked_up() {
        assert_eq!(resolved("10.1.2.3", "a").ok(), Some(Ipv4Addr::new(10, 1, 2, 3)));
        assert_eq!(resolved("localhost", "a").ok(), Some(Ipv4Addr::LOCALHOST));
        let unknown = resolved("no-such-host.invalid", "nas").err().map(|failure| failure.to_string());
        assert!(unknown.is_some_and(|text| text.contains("target nas") && text.contains("`address:`")));
    }
}
