//! Starts the agent processes of a plan's machines: on this machine as a child process, on others over ssh, in lab guests once they are up.

use crate::agent::{over, ssh};
use crate::error::FleetError;
use crate::guests::{Guest, way_into};
use crate::hosted_by;
use crate::local::agent_here;
use crate::options::Options;
use crate::routes;
use host::LocalRunner;
use lab::{Lab, State};
use record::plan::Plan;
use record::target::{Target, TargetKind};
use record::volume::VolumeKind;
use run::controller::{NodeAt, targets_of, volumes_of};
use run::nfs_remote::Route;

/// The agent processes of a plan's machines, and the lab guests that some of them run in.
#[derive(Debug)]
pub struct Connected {
    /// One for each machine that the plan's cells are built on or loaded from.
    pub nodes: Vec<NodeAt>,
    /// The network routes between machines that use NFS.
    pub routes: Vec<Route>,
    /// The lab guests. On drop, a guest that the run started is stopped, and disks that it attached to others are removed.
    _guests: Vec<Guest>,
}

/// Connects to all machines on which the plan builds stacks or runs load. Afterwards the program is installed there, and lab guests have
/// their disks.
///
/// # Errors
/// A machine can't be reached, a guest can't be started, a guest's host doesn't show the guest's disks, or root is needed and not available.
pub fn connect(plan: &Plan, options: &Options) -> Result<Connected, FleetError> {
    let (mut nodes, mut guests) = (Vec::new(), Vec::new());
    for reached in all_at_once(plan, options) {
        let (mut node, guest) = reached?;
        if let Some(target) = plan.targets.iter().find(|target| target.name == node.target) {
            node.hosted.extend(hosted_by::disks(plan, target, options)?);
        }
        nodes.push(node);
        guests.extend(guest);
    }
    let routes = routes::routes(plan, &mut guests, options)?;
    Ok(Connected { nodes, routes, _guests: guests })
}

/// Reaches the machines on the network all at the same time, and the lab guests one after another: they start on this machine.
fn all_at_once(plan: &Plan, options: &Options) -> Vec<Result<(NodeAt, Option<Guest>), FleetError>> {
    std::thread::scope(|scope| {
        let far = |name: &str| {
            let target = plan.targets.iter().find(|target| target.name == name);
            matches!(target, Some(Target { kind: TargetKind::Ssh { .. }, .. }))
        };
        let reaching: Vec<_> = targets_of(plan)
            .into_iter()
            .map(|name| (name, far(name).then(|| scope.spawn(move || node(plan, name, options)))))
            .collect();
        let reached = reaching.into_iter().map(|(name, thread)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => node(plan, name, options),
        });
        reached.collect()
    })
}

fn node(plan: &Plan, name: &str, options: &Options) -> Result<(NodeAt, Option<Guest>), FleetError> {
    let target = plan.targets.iter().find(|target| target.name == name);
    let mut remote = false;
    let (argv, guest, hosted) = match target.map(|Target { kind, .. }| kind) {
        None | Some(TargetKind::Local) => {
            let what = needs_root(plan, name).then(|| format!("experiment `{}`", plan.experiment));
            (agent_here(options, &LocalRunner, what.as_deref())?, None, Vec::new())
        }
        Some(TargetKind::Ssh { destination }) => {
            remote = true;
            (over(&ssh(destination, options), needs_root(plan, name))?, None, Vec::new())
        }
        Some(TargetKind::Created { .. }) => return Err(FleetError::NotCreated(name.to_owned())),
        Some(TargetKind::Guest { lab, disks }) => {
            let guest = Guest::enter(lab, disks, options)?;
            let hosted = disks.iter().map(|disk| guest.hosted(disk)).collect();
            (over(&guest.ssh, true)?, Some(guest), hosted)
        }
    };
    Ok((NodeAt { target: name.to_owned(), argv, remote, hosted }, guest))
}

/// Connects to one machine as it is. `None` for a guest that isn't up; it isn't started.
///
/// # Errors
/// The machine can't be reached.
pub fn connect_as_it_is(plan: &Plan, name: &str, options: &Options) -> Result<Option<NodeAt>, FleetError> {
    let target = plan.targets.iter().find(|target| target.name == name);
    if let Some(TargetKind::Guest { lab, .. }) = target.map(|target| &target.kind) {
        let lab = Lab::open(&options.state_dir, lab)?;
        if lab.status()?.state != State::Up {
            return Ok(None);
        }
        let argv = over(&way_into(&lab)?, true)?;
        return Ok(Some(NodeAt { target: name.to_owned(), argv, remote: false, hosted: Vec::new() }));
    }
    node(plan, name, options).map(|(node, _)| Some(node))
}

fn needs_root(plan: &Plan, target: &str) -> bool {
    let mounts =
        plan.cells.iter().any(|cell| cell.is_mounted_elsewhere() && cell.loading().contains(&target));
    mounts || volumes_of(plan, target).iter().any(|v| !matches!(v.kind, VolumeKind::Directory { .. }))
}
