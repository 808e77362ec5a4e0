//! A trial on two nodes: one builds the stack and exports it by NFS, the other mounts and loads it.
//!
//! The controller mediates: it asks the server to serve and the client for the trial, and forwards the client's requests to the
//! server. At the end the server takes everything down, whether or not the client succeeded.

use crate::agent_link::{AgentLink, is_asked, on, out_of_turn, said, stopped_there};
use crate::device_prefix::SERVER;
use crate::error::{RunError, Sink};
use crate::link::Heard;
use crate::protocol::{Reply, Request, TrialRequest, Turn};
use crate::trial::by_ratio;
use record::counter::{OtherProcess, Sample, ServerClock, ServerCounters};
use record::nfs::NfsVersion;
use record::plan::{Cell, Plan};
use record::printable::{chain, printable};
use record::topology::{Exported, Stacked, Unseen};
use record::trial::{Outcome, StepTime, TrialRecord, TrialStep};
use stack::NfsSource;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use stack::NfsClient;

/// The network route from a client to the target that serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The target that serves.
    pub server: String,
    /// The target that mounts.
    pub client: String,
    /// The server's address, as the client reaches it.
    pub address: Ipv4Addr,
    /// The server's port, if it isn't NFS's own.
    pub port: Option<u16>,
    /// The port of the server's mountd, if the client has to name it.
    pub mount_port: Option<u16>,
    /// The client's address, as the server sees it.
    pub seen_as: NfsClient,
}

impl Route {
    /// The export that the client mounts: a directory as the server names it.
    pub(crate) fn to(&self, directory: PathBuf) -> NfsSource {
        let (server, port, mount_port) = (self.address, self.port, self.mount_port);
        NfsSource { server, port, mount_port, directory }
    }
}

/// The route from a client to a server.
pub(crate) fn route<'r>(routes: &'r [Route], server: &str, client: &str) -> Result<&'r Route, RunError> {
    let found = routes.iter().find(|route| route.server == server && route.client == client);
    found.ok_or_else(|| RunError::NoRoute { client: client.to_owned(), server: server.to_owned() })
}

/// Checks that an NFSv4 server can tell clients apart that load together. It takes two machines of one name for one client that has
/// restarted, and drops what the other one has open.
///
/// # Errors
/// When two of them have one name.
pub(crate) fn tell_apart(plan: &Plan, lines: &[AgentLink]) -> Result<(), RunError> {
    let is_named = |cell: &&Cell| cell.stack.nfs().is_some_and(|nfs| nfs.version != Some(NfsVersion::V3));
    for cell in plan.cells.iter().filter(|cell| cell.is_together()).filter(is_named) {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for client in cell.loading() {
            let line = lines.iter().find(|line| line.target == client);
            let Some(name) = line.and_then(|line| line.nfs_name.as_deref()) else { continue };
            if let Some(first) = seen.insert(name, client) {
                return Err(RunError::OneNfsName {
                    first: first.to_owned(),
                    second: client.to_owned(),
                    name: printable(name).into_owned(),
                });
            }
        }
    }
    Ok(())
}

/// Performs one trial; `None` when the user stopped it.
///
/// # Errors
/// When a node is lost or its answer doesn't fit, or when the export can't be taken down.
pub(crate) fn trial(
    [server, client]: [&mut AgentLink; 2],
    routes: &[Route],
    request: TrialRequest,
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<Option<TrialRecord>, RunError> {
    let route = route(routes, &server.target, &client.target)?;
    let clients = vec![route.seen_as.clone()];
    let serve = Request::Serve { trial: Box::new(request.clone()), clients };
    let directory = match server.ask(&serve, cancel, sink)? {
        Reply::Served { directory } => directory,
        Reply::Trial { cancelled: true, .. } if is_asked(cancel) => return Ok(None),
        Reply::Trial { cancelled: true, .. } => return Err(stopped_there(&server.target)),
        Reply::Trial { record, .. } => return Ok(Some(*record)),
        other => return Err(on(&server.target, out_of_turn(&other))),
    };
    let from = Some(route.to(directory));
    let asked = Request::Trial(Box::new(TrialRequest { from, ..request }));
    let loaded = relay(server, client, &asked, cancel, sink);
    let withdrawn = server.ask(&Request::Withdraw, cancel, sink);
    let (loaded, withdrawn) = match (loaded, withdrawn) {
        (Ok(loaded), Ok(withdrawn)) => (loaded, withdrawn),
        (Err(first), Err(second)) => return Err(first.and(second)),
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let (record, cancelled) = match loaded {
        Reply::Trial { record, cancelled } => (record, cancelled),
        other => return Err(on(&client.target, out_of_turn(&other))),
    };
    match withdrawn {
        Reply::Trial { .. } if cancelled && is_asked(cancel) => Ok(None),
        Reply::Trial { .. } if cancelled => Err(stopped_there(&client.target)),
        Reply::Trial { record: served, .. } => Ok(Some(joined(*record, *served))),
        other => Err(on(&server.target, out_of_turn(&other))),
    }
}

/// Runs the client's trial and forwards its requests to the server. If the server is lost, the client's trial ends; the client itself goes
/// on with other trials.
fn relay(
    server: &mut AgentLink,
    client: &mut AgentLink,
    request: &Request,
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<Reply, RunError> {
    let mut lost: Option<RunError> = None;
    let mut is_abandoned = false;
    let of = client.target.clone();
    let at = |error| on(&of, error);
    client.link.send(request).map_err(|e| at(e.into()))?;
    let reply = loop {
        client.tell_if(cancel.load(Ordering::Relaxed)).map_err(|e| at(e.into()))?;
        if lost.is_some() && !is_abandoned {
            is_abandoned = true;
            client.link.send(&Request::Abandon).map_err(|e| at(e.into()))?;
        }
        match client.link.wait(Duration::from_millis(50)).map_err(|e| at(e.into()))? {
            Heard::Silence if lost.is_none() => {
                lost = server.link.broken().map(|error| on(&server.target, error.into()));
            }
            Heard::Silence => {}
            Heard::Said(line) => sink(said(&client.target, &line)).map_err(RunError::Sink)?,
            Heard::Reply(Reply::Event { event }) => {
                sink(event.of_target(&client.target)).map_err(RunError::Sink)?;
            }
            Heard::Reply(Reply::Turn { turn }) => {
                let done = if lost.is_some() {
                    Err("it is lost".to_owned())
                } else {
                    let turned = turned(server, turn, cancel, sink);
                    let done = turned.as_ref().copied().map_err(|error| chain(error));
                    lost = turned.err().filter(|error| !error.is_an_answer());
                    done
                };
                client.link.send(&Request::GoOn { done }).map_err(|e| at(e.into()))?;
            }
            Heard::Reply(Reply::Failed { blame, error }) => return Err(at(RunError::Node { blame, error })),
            Heard::Reply(reply) => break reply,
        }
    };
    lost.map_or(Ok(reply), Err)
}

/// Has the server do what the client asked for; returns the server's clock afterwards.
pub(crate) fn turned(
    server: &mut AgentLink,
    turn: Turn,
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<u64, RunError> {
    match server.ask(&Request::Turn { turn }, cancel, sink)? {
        Reply::Turned { monotonic_ns } => Ok(monotonic_ns),
        other => Err(on(&server.target, out_of_turn(&other))),
    }
}

/// Joins both records: the client's, with the server's devices, files and caches below it.
pub(crate) fn joined(client: TrialRecord, server: TrialRecord) -> TrialRecord {
    let mut record = client;
    if let (Outcome::Measured, Outcome::Failed(why)) = (&record.outcome, &server.outcome) {
        record.outcome = Outcome::Failed(format!("the agent process of the machine that serves it: {why}"));
    }
    record.refused |= server.refused;
    record.cut_off |= server.cut_off && record.outcome != Outcome::Measured;
    record.steps = added(server.steps, record.steps);
    record.built.splice(0..0, server.built);
    record.settings.splice(0..0, server.settings);
    let (fs_type, mount_options) = (server.topology.deciding_fs(), server.topology.deciding_options());
    record.topology.exported = Some(Exported {
        fs_type: fs_type.map(str::to_owned),
        mount_options: mount_options.map(str::to_owned),
    });
    let device = |device: Option<String>| device.map(|device| SERVER.name(&device));
    let stacked = server.topology.stacked.into_iter().filter(|one| one.device.is_some());
    record.topology.stacked = stacked.map(|one| Stacked { device: device(one.device), ..one }).collect();
    let unseen = server.topology.unseen.into_iter();
    record.topology.unseen = unseen.map(|one| Unseen { device: device(one.device), ..one }).collect();
    record.topology.nodes = server.topology.nodes.into_iter().map(|node| SERVER.node(node, 0)).collect();
    record.topology.unknown = server.topology.unknown.iter().map(|why| SERVER.name(why)).collect();
    record.unread.extend(server.unread.iter().map(|why| SERVER.name(why)));
    record.files_before = server.files_before;
    record.files_after = server.files_after;
    record.server_before = server.server_before;
    record.server_after = server.server_after;
    record.backing_before = server.backing_before;
    record.backing_after = server.backing_after;
    record.caches = server.caches;
    record.thin_pools = server.thin_pools;
    record.pool = server.pool;
    if let (Some(copied), Some(pool)) =
        (record.engine.as_mut().and_then(|engine| engine.copied.as_mut()), &record.pool)
    {
        copied.extents = copied.extents.or(by_ratio(copied.logical_bytes, pool));
    }
    let evidence = &mut record.evidence;
    if let Some(clock) = evidence.server_clock {
        evidence.samples.extend(server.evidence.samples.into_iter().filter_map(|s| seen_at(clock, s)));
        evidence.samples.sort_by_key(|sample| sample.monotonic_ns);
    }
    let on_ground = |other: &OtherProcess| other.on_ground == Some(true) && other.kernel != Some(true);
    let strangers = server.evidence.others.into_iter().filter(on_ground);
    // Their CPU time is spent on the server, not on the client.
    evidence.others.extend(strangers.map(|other| OtherProcess {
        comm: SERVER.name(&other.comm),
        cpu_ticks: None,
        ..other
    }));
    evidence.others_complete &= server.evidence.others_complete;
    record
}

/// Adds up each step's time on both nodes. Steps keep the order of their first occurrence, with `undo` last.
fn added(first: Vec<StepTime>, then: Vec<StepTime>) -> Vec<StepTime> {
    let (mut all, mut last): (Vec<StepTime>, Vec<StepTime>) =
        first.into_iter().partition(|step| step.step != TrialStep::Undo);
    for step in then.into_iter().chain(std::mem::take(&mut last)) {
        match all.iter_mut().find(|known| known.step == step.step) {
            Some(known) => known.seconds += step.seconds,
            None => all.push(step),
        }
    }
    all
}

/// A sample of the server, converted to the client's clock; `None` if that gives a time before the client's clock began.
fn seen_at(clock: ServerClock, sample: Sample) -> Option<Sample> {
    let theirs = i128::from(sample.monotonic_ns) - i128::from(clock.ahead_ns);
    Some(Sample {
        monotonic_ns: u64::try_from(theirs).ok()?,
        block: sample.block.into_iter().map(|(name, counters)| (SERVER.name(&name), counters)).collect(),
        journal_commits: sample
            .journal_commits
            .into_iter()
            .map(|(name, n)| (SERVER.name(&name), n))
            .collect(),
        arc: sample.arc,
        server: Some(ServerCounters { cpu: sample.cpu, memory: sample.memory }),
        ..Sample::default()
    })
}

#[cfg(test)]
mod tests;
