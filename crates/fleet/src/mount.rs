//! Mounts a directory of a machine here by sshfs, where it is installed.

use crate::link::{Reach, of};
use host::{CommandFailure, Invocation, LocalRunner, Runner as _, Ssh, Tool};
use record::machine::Machine;
use std::path::Path;
use std::time::Duration;

/// Time limit for connecting and mounting.
const PATIENCE: Duration = Duration::from_secs(60);

/// Mounts a directory of a machine.
///
/// # Errors
/// sshfs is missing or can't mount there; or ssh can't connect.
pub fn mount(machine: &Machine, dir: &str, at: &Path, reach: &Reach) -> Result<(), CommandFailure> {
    let mut call = Invocation::new(Tool::Sshfs).args(of(machine));
    if let Some(config) = &reach.ssh_config {
        call = call.arg("-F").arg(config);
    }
    let connect = format!("ConnectTimeout={}", reach.connect_seconds);
    // It connects again by itself, and a dead machine doesn't hold up its readers for ever.
    for option in ["BatchMode=yes", &connect, "reconnect", "ServerAliveInterval=15", "ServerAliveCountMax=4"]
    {
        call = call.args(["-o", option]);
    }
    let mounted = LocalRunner.run(&call.arg(format!("{}:{dir}", machine.ssh)).arg(at).timeout(PATIENCE));
    // sshfs drops what its ssh says, so ask ssh for the reason.
    mounted.map(drop).or_else(|failure| connected(machine, reach).and(Err(failure)))
}

fn connected(machine: &Machine, reach: &Reach) -> Result<(), CommandFailure> {
    let mut options = Ssh::unattended(reach.ssh_config.as_deref(), reach.connect_seconds);
    options.extend(of(machine));
    LocalRunner.run(&Ssh::with(options, &machine.ssh).call(&["true"]).timeout(PATIENCE)).map(drop)
}

/// Unmounts what [`mount`] mounted.
///
/// # Errors
/// It isn't mounted, or is in use.
pub fn unmount(at: &Path) -> Result<(), CommandFailure> {
    LocalRunner.run(&Invocation::new(Tool::Fusermount).arg("-u").arg(at).timeout(PATIENCE)).map(drop)
}
