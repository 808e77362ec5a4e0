//! The agent process on another machine: diskproof copies itself there and starts over ssh.

use crate::error::FleetError;
use crate::options::Options;
use host::{LocalRunner, Ssh};
use std::ffi::OsString;
use std::path::Path;

/// Installs this program on another machine and returns the command that starts the agent process there.
///
/// # Errors
/// The machine can't be reached, or has another operating system or architecture.
pub(crate) fn over(ssh: &Ssh, needs_root: bool) -> Result<Vec<OsString>, FleetError> {
    let installed = install(ssh)?;
    let sudo: &[&str] = if needs_root && installed.uid != 0 { &["sudo", "-n", "--"] } else { &[] };
    Ok(ssh.argv(&[sudo, &[&installed.path, "node"]].concat()))
}

/// The ssh connection to another machine.
#[must_use]
pub fn ssh(destination: &str, options: &Options) -> Ssh {
    Ssh::to(destination, options.ssh_config.as_deref())
}

/// Copies this program to another machine.
///
/// # Errors
/// The machine can't be reached, or has another operating system or architecture.
pub fn install(ssh: &Ssh) -> Result<host::Installed, FleetError> {
    // The running program's own file, even if another has replaced it since.
    Ok(ssh.install(&LocalRunner, Path::new("/proc/self/exe"))?)
}
