//! Programs of the build in namespaces of their own.

use crate::apt::with_proxies;
use crate::error::LabError;
use host::{Invocation, Tool};
use std::time::Duration;

/// The longest time of one program of the build.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3600);

/// A program in its own mount and PID namespaces: its mounts and processes end with it, and it ends with our thread.
pub(crate) fn contained(tool: Tool) -> Result<Invocation, LabError> {
    let path = |tool| host::resolve(tool).map_err(LabError::command("looking for programs"));
    Ok(with_proxies(Invocation::new(Tool::Setpriv))
        .args(["--pdeathsig", "KILL"])
        .arg(path(Tool::Unshare)?)
        .args([
            "--mount",
            "--propagation",
            "private",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--",
        ])
        .arg(path(tool)?)
        .timeout(PATIENCE))
}
