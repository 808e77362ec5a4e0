//! How the nodes of a plan's targets are reached: this machine by a child process, others by ssh, lab guests after they are brought up.

use crate::exit::Failure;
use crate::guests::{Guest, way_into};
use crate::privilege;
use crate::routes;
use crate::settings::Settings;
use host::{LocalRunner, Ssh};
use lab::{Lab, State};
use record::plan::Plan;
use record::target::{Target, TargetKind};
use record::volume::VolumeKind;
use run::apart::Route;
use run::controller::{NodeAt, targets_of, volumes_of};
use std::ffi::OsString;
use std::path::Path;

/// The nodes of a plan's targets, and the lab guests that some of them are in.
pub(crate) struct Reached {
    /// One for each target that the plan's cells are built on or loaded from.
    pub(crate) nodes: Vec<NodeAt>,
    /// How they reach each other, where one mounts what another serves.
    pub(crate) routes: Vec<Route>,
    /// Left when dropped: a guest that was not up goes down again, else its disks are taken out.
    _guests: Vec<Guest>,
}

/// Reaches the nodes of all targets that the plan's cells are built on or loaded from; what they need of us is there when this returns.
///
/// # Errors
/// A machine can't be reached, a guest not be had, or root is needed and can't be had.
pub(crate) fn nodes(plan: &Plan, settings: &Settings) -> Result<Reached, Failure> {
    let (mut nodes, mut guests) = (Vec::new(), Vec::new());
    for target in targets_of(plan) {
        let (node, guest) = node(plan, target, settings)?;
        nodes.push(node);
        guests.extend(guest);
    }
    let routes = routes::routes(plan, &mut guests, settings)?;
    Ok(Reached { nodes, routes, _guests: guests })
}

fn node(plan: &Plan, name: &str, settings: &Settings) -> Result<(NodeAt, Option<Guest>), Failure> {
    let target = plan.targets.iter().find(|target| target.name == name);
    let (argv, guest, hosted) = match target.map(|Target { kind, .. }| kind) {
        None | Some(TargetKind::Local) => {
            let what = needs_root(plan, name).then(|| format!("experiment `{}`", plan.experiment));
            (privilege::node_argv(settings, &LocalRunner, what.as_deref())?, None, Vec::new())
        }
        Some(TargetKind::Ssh { destination }) => {
            (over(&ssh(destination, settings), needs_root(plan, name))?, None, Vec::new())
        }
        Some(TargetKind::Guest { lab, disks }) => {
            let guest = Guest::enter(lab, disks, settings)?;
            let hosted = disks.iter().map(|disk| guest.hosted(disk)).collect();
            (over(&guest.ssh, true)?, Some(guest), hosted)
        }
    };
    Ok((NodeAt { target: name.to_owned(), argv, hosted }, guest))
}

/// The node of a target as it is: a guest that isn't up has nothing to say.
///
/// # Errors
/// The machine can't be reached.
pub(crate) fn node_there(plan: &Plan, name: &str, settings: &Settings) -> Result<Option<NodeAt>, Failure> {
    let target = plan.targets.iter().find(|target| target.name == name);
    if let Some(TargetKind::Guest { lab, .. }) = target.map(|target| &target.kind) {
        let lab = Lab::open(&settings.state.value, lab).map_err(Failure::machine)?;
        if lab.status().map_err(Failure::machine)?.state != State::Up {
            return Ok(None);
        }
        let argv = over(&way_into(&lab)?, true)?;
        return Ok(Some(NodeAt { target: name.to_owned(), argv, hosted: Vec::new() }));
    }
    node(plan, name, settings).map(|(node, _)| Some(node))
}

fn needs_root(plan: &Plan, target: &str) -> bool {
    let mounts = plan.cells.iter().any(|cell| cell.stack.client() == Some(target));
    mounts || volumes_of(plan, target).iter().any(|v| !matches!(v.kind, VolumeKind::Directory { .. }))
}

/// The command that starts a node on another machine; this program is there when it returns.
///
/// # Errors
/// The machine can't be reached, or is of another kind.
pub(crate) fn over(ssh: &Ssh, needs_root: bool) -> Result<Vec<OsString>, Failure> {
    let installed = install(ssh)?;
    let sudo: &[&str] = if needs_root && installed.uid != 0 { &["sudo", "-n", "--"] } else { &[] };
    Ok(ssh.argv(&[sudo, &[&installed.path, "node"]].concat()))
}

/// The way to another machine.
pub(crate) fn ssh(destination: &str, settings: &Settings) -> Ssh {
    Ssh::to(destination, settings.ssh_config.value.as_deref())
}

/// Puts this very program on another machine.
///
/// # Errors
/// The machine can't be reached, or is of another kind.
pub(crate) fn install(ssh: &Ssh) -> Result<host::Installed, Failure> {
    // The very file that runs, also where another has taken its place since.
    ssh.install(&LocalRunner, Path::new("/proc/self/exe")).map_err(Failure::machine)
}
