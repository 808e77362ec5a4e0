//! The agent process on this machine, started directly or as root by sudo. The controller itself needs no privileges.

use crate::error::FleetError;
use crate::options::Options;
use host::{Invocation, Runner, Tool};
use std::ffi::OsString;

/// Whether this process is root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The command that starts an agent process on this machine. `what`, if given, names what needs root.
///
/// # Errors
/// Root is needed, and this process is neither root nor may become it without a password.
pub fn agent_here(
    options: &Options,
    runner: &dyn Runner,
    what: Option<&str>,
) -> Result<Vec<OsString>, FleetError> {
    let own = std::env::current_exe().map_err(FleetError::OwnProgram)?;
    let mut argv: Vec<OsString> = Vec::new();
    if let Some(what) = what
        && !is_root()
    {
        let needs_root = |why| FleetError::NeedsRoot { what: what.to_owned(), why };
        if !options.sudo {
            return Err(needs_root("the setting `sudo` is `never`"));
        }
        let sudo = host::resolve(Tool::Sudo).map_err(|_| needs_root("there is no sudo on this machine"))?;
        if !may_sudo(runner) {
            return Err(needs_root(
                "sudo would ask for a password (`sudo -v` beforehand helps for some minutes)",
            ));
        }
        argv.extend([sudo.into_os_string(), "-n".into(), "--".into()]);
    }
    argv.push(own.into_os_string());
    // Unless the user names a state directory, root's own default applies.
    if options.state_dir_is_named {
        argv.extend(["--state".into(), options.state_dir.clone().into_os_string()]);
    }
    argv.push("node".into());
    Ok(argv)
}

/// Whether sudo works without a password.
#[must_use]
pub fn may_sudo(runner: &dyn Runner) -> bool {
    runner.run(&Invocation::new(Tool::Sudo).args(["-n", "true"])).is_ok()
}
