//! The agent process on this machine, started directly or as root by sudo. The controller itself needs no privileges.

use crate::error::{FleetError, NoSudo};
use crate::options::Options;
use host::{Invocation, Runner, Tool};
use std::ffi::OsString;
use std::path::PathBuf;

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
        let sudo = host::resolve(Tool::Sudo).ok();
        let sudo = by_sudo(options.sudo, sudo, || may_sudo(runner))
            .map_err(|why| FleetError::NeedsRoot { what: what.to_owned(), why })?;
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

/// The program that makes root of this process.
fn by_sudo(is_allowed: bool, sudo: Option<PathBuf>, works: impl FnOnce() -> bool) -> Result<PathBuf, NoSudo> {
    if !is_allowed {
        return Err(NoSudo::Never);
    }
    let sudo = sudo.ok_or(NoSudo::Missing)?;
    if works() { Ok(sudo) } else { Err(NoSudo::Password) }
}

/// Whether sudo works without a password.
#[must_use]
pub fn may_sudo(runner: &dyn Runner) -> bool {
    runner.run(&Invocation::new(Tool::Sudo).args(["-n", "true"])).is_ok()
}

#[cfg(test)]
mod tests {
    use super::by_sudo;
    use crate::error::{FleetError, NoSudo};
    use run::fault::Fault;
    use std::path::PathBuf;

    #[test]
    fn who_can_t_become_root_is_told_the_one_thing_to_do() {
        let sudo = || Some(PathBuf::from("/usr/bin/sudo"));
        assert_eq!(by_sudo(true, sudo(), || true), Ok(PathBuf::from("/usr/bin/sudo")));
        let refused = [
            (by_sudo(false, sudo(), || true), "run it by `sudo diskproof ...`"),
            (by_sudo(true, None, || true), "run it as root (`su -`)"),
            (by_sudo(true, sudo(), || false), "run `sudo -v` first"),
        ];
        let expected = [NoSudo::Never, NoSudo::Missing, NoSudo::Password];
        for ((found, way_out), why) in refused.into_iter().zip(expected) {
            assert_eq!(found, Err(why));
            let error = FleetError::NeedsRoot { what: "experiment `e`".to_owned(), why };
            assert!(error.to_string().contains(way_out), "{error}");
            assert_eq!(error.fault(), Fault::Machine);
        }
    }
}
