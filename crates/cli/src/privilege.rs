//! Who runs the node: ourselves, or root by sudo. The controller itself needs no privileges.

use crate::exit::Failure;
use crate::settings::keys::Sudo;
use crate::settings::{Origin, Settings};
use host::{Invocation, Runner, Tool};
use std::ffi::OsString;
use thiserror::Error;

/// Root is needed and can't be had.
#[derive(Debug, Error)]
#[error(
    "{what} needs root, and {why}. Either run `sudo diskproof ...`, or use a directory volume \
     (`diskproof new --kind directory`, `diskproof quick DIR`), which needs none"
)]
struct NeedsRoot {
    what: String,
    why: &'static str,
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The command that starts a node; `what` needs root, if given.
///
/// # Errors
/// Root is needed, and this process is neither root nor may become it without a password.
pub(crate) fn node_argv(
    settings: &Settings,
    runner: &dyn Runner,
    what: Option<&str>,
) -> Result<Vec<OsString>, Failure> {
    let own = std::env::current_exe()
        .map_err(|e| Failure::machine(format!("can't tell where our own program is: {e}")))?;
    let mut argv: Vec<OsString> = Vec::new();
    if let Some(what) = what
        && !is_root()
    {
        let needs_root = |why| Failure::machine(NeedsRoot { what: what.to_owned(), why });
        if settings.sudo.value == Sudo::Never {
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
    // Root's own default is meant unless somebody said otherwise.
    if settings.state.origin != Origin::Default {
        argv.extend(["--state".into(), settings.state.value.clone().into_os_string()]);
    }
    argv.push("node".into());
    Ok(argv)
}

/// Whether sudo works without asking.
pub(crate) fn may_sudo(runner: &dyn Runner) -> bool {
    runner.run(&Invocation::new(Tool::Sudo).args(["-n", "true"])).is_ok()
}
