//! How the nodes of a plan's targets are reached: this machine by a child process, others by ssh.

use crate::exit::Failure;
use crate::privilege;
use crate::settings::Settings;
use host::{LocalRunner, Ssh};
use record::plan::Plan;
use record::target::{Target, TargetKind};
use record::volume::VolumeKind;
use run::controller::{NodeAt, targets_of, volumes_of};

/// The nodes of all targets that the plan's cells run on; what they need of us is there when this returns.
///
/// # Errors
/// A machine can't be reached, or root is needed and can't be had.
pub(crate) fn nodes(plan: &Plan, settings: &Settings) -> Result<Vec<NodeAt>, Failure> {
    targets_of(plan).into_iter().map(|target| node(plan, target, settings)).collect()
}

/// The node of one target.
///
/// # Errors
/// As of [`nodes`].
pub(crate) fn node(plan: &Plan, name: &str, settings: &Settings) -> Result<NodeAt, Failure> {
    let target = plan.targets.iter().find(|target| target.name == name);
    let needs_root = volumes_of(plan, name).iter().any(|v| !matches!(v.kind, VolumeKind::Directory { .. }));
    let argv = match target.map(|Target { kind, .. }| kind) {
        None | Some(TargetKind::Local) => {
            let what = needs_root.then(|| format!("experiment `{}`", plan.experiment));
            privilege::node_argv(settings, &LocalRunner, what.as_deref())?
        }
        Some(TargetKind::Ssh { destination }) => {
            let ssh = ssh(destination, settings);
            let installed = install(&ssh)?;
            let sudo: &[&str] = if needs_root && installed.uid != 0 { &["sudo", "-n", "--"] } else { &[] };
            ssh.argv(&[sudo, &[&installed.path, "node"]].concat())
        }
        Some(TargetKind::Guest { lab, .. }) => {
            return Err(Failure::input(format!(
                "target `{name}` is lab guest `{lab}`, which this build can't bring up"
            )));
        }
    };
    Ok(NodeAt { target: name.to_owned(), argv })
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
    let own = std::env::current_exe()
        .map_err(|e| Failure::machine(format!("can't tell where our own program is: {e}")))?;
    ssh.install(&LocalRunner, &own).map_err(Failure::machine)
}
