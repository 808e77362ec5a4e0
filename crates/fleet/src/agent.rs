//! The agent on another machine: this program is put there, and started over ssh.

use crate::error::FleetError;
use crate::options::Options;
use host::{LocalRunner, Ssh};
use std::ffi::OsString;
use std::path::Path;

/// The command that starts an agent on another machine; this program is there when it returns.
///
/// # Errors
/// The machine can't be reached, or is of another kind.
pub(crate) fn over(ssh: &Ssh, needs_root: bool) -> Result<Vec<OsString>, FleetError> {
    let installed = install(ssh)?;
    let sudo: &[&str] = if needs_root && installed.uid != 0 { &["sudo", "-n", "--"] } else { &[] };
    Ok(ssh.argv(&[sudo, &[&installed.path, "node"]].concat()))
}

/// The way to another machine.
#[must_use]
pub fn ssh(destination: &str, options: &Options) -> Ssh {
    Ssh::to(destination, options.ssh_config.as_deref())
}

/// Puts this very program on another machine.
///
/// # Errors
/// The machine can't be reached, or is of another kind.
pub fn install(ssh: &Ssh) -> Result<host::Installed, FleetError> {
    // The very file that runs, also where another has taken its place since.
    Ok(ssh.install(&LocalRunner, Path::new("/proc/self/exe"))?)
}
