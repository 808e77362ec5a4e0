//! Network routes between two machines of which one mounts an NFS export of the other.
//!
//! A machine's address is that in `address:`, else the host of its ssh destination; this machine's is the one that the other side
//! sees. A lab guest reaches this machine as 10.0.2.2, and is reached through a port on 127.0.0.1 that is forwarded for the run.

use crate::agent;
use crate::error::FleetError;
use crate::guests::Guest;
use crate::options::Options;
use host::{Invocation, LocalRunner, Runner as _, Tool};
use record::nfs::NfsVersion;
use record::plan::Plan;
use record::target::{Target, TargetKind};
use run::nfs_remote::{NfsClient, Route};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// This machine's address in a lab guest; connections through a forwarded port come from it too.
const FROM_GUEST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
/// The port of NFS.
const NFS: u16 = 2049;

/// Returns all routes that the plan's cells need. The machines are connected and the guests up before.
///
/// # Errors
/// An address can't be found, or a port can't be forwarded.
pub(crate) fn routes(plan: &Plan, guests: &mut [Guest], options: &Options) -> Result<Vec<Route>, FleetError> {
    // true: a stack of the pair asks for NFSv3
    let mut pairs: BTreeMap<[&str; 2], bool> = BTreeMap::new();
    for cell in &plan.cells {
        let Some(nfs) = cell.stack.nfs().filter(|_| cell.is_mounted_elsewhere()) else { continue };
        for client in cell.loading() {
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
                let guest = guest.ok_or_else(|| FleetError::NotUp(lab.clone()))?;
                let port = guest.stay.forward(NFS)?;
                let mountd = by_mountd.then(|| guest.stay.forward(lab::MOUNTD_PORT)).transpose();
                let ports = [Some(port), mountd?];
                let by_guest = matches!(from, TargetKind::Guest { .. });
                let address = if by_guest { FROM_GUEST } else { Ipv4Addr::LOCALHOST };
                route(address, ports, FROM_GUEST, true)
            }
            [_, TargetKind::Guest { .. }] => route(FROM_GUEST, [None; 2], Ipv4Addr::LOCALHOST, true),
            _ => {
                let (serves, sees) =
                    (address(plan, server, client, options), address(plan, client, server, options));
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

/// A machine's address for connections from `other`.
fn address(plan: &Plan, name: &str, other: &str, options: &Options) -> Result<Ipv4Addr, FleetError> {
    if let Some(said) = target(plan, name).and_then(|target| target.address.as_deref()) {
        return resolved(said, name);
    }
    match (kind(plan, name), kind(plan, other)) {
        (TargetKind::Ssh { destination }, _) => {
            let host = agent::ssh(destination, options).host(&LocalRunner)?;
            resolved(&host, name)
        }
        (_, TargetKind::Ssh { destination }) => seen_from(destination, options),
        _ => Err(FleetError::NoAddress { target: name.to_owned(), other: other.to_owned() }),
    }
}

/// This machine's address as another machine sees it in the ssh connection.
fn seen_from(destination: &str, options: &Options) -> Result<Ipv4Addr, FleetError> {
    let ask = ["sh", "-c", "echo \"$SSH_CONNECTION\""];
    let ssh = agent::ssh(destination, options);
    let said = ssh.run(&LocalRunner, "ask for this machine's address", &ask, None)?;
    let first = said.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| FleetError::NotSeen {
        destination: destination.to_owned(),
        said: said.trim().to_owned(),
    })
}

/// The IPv4 address of a name, resolved on this machine.
fn resolved(name: &str, target: &str) -> Result<Ipv4Addr, FleetError> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let ask = Invocation::new(Tool::Getent).args(["ahostsv4", name]).accept([0, 2]);
    let said = LocalRunner.run(&ask)?.stdout;
    let first = said.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| FleetError::Unresolved { target: target.to_owned(), name: name.to_owned() })
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
