//! Connections to the hosts of guests: one for `virsh`, and an agent process that looks below the guests' disks.

use crate::agent::{over, ssh};
use crate::at::{At, AtError, AtOptions, LOCAL, here};
use crate::link::Reach;
use crate::local::agent_here;
use crate::options::Options;
use host::LocalRunner;
use record::machine::Machine;
use run::agent_on_host::AgentOnHost;
use run::guest_host::{GuestHost, ThisMachine};
use std::error::Error;
use std::fs::File;
use std::sync::Arc;

/// Time limit of a connection to a host, in seconds.
const CONNECT_SECONDS: u32 = 15;

/// Connects to a host, for `virsh` there: a destination of ssh, or `local`.
///
/// # Errors
/// It can't be reached.
pub(crate) fn connected(name: &str, options: &Options) -> Result<At, AtError> {
    let reach = Reach { ssh_config: options.ssh_config.clone(), connect_seconds: CONNECT_SECONDS };
    let own = AtOptions { reach, state_dir: options.state_dir.clone(), sudo: options.sudo };
    match name {
        LOCAL => At::open(&here(), &own),
        _ => At::open(&Machine::named(name, "the hosts of guests"), &own),
    }
}

/// What looks below these files and block devices of a host: this machine as it is, if its user may read all of them; else an agent process
/// with root's rights.
///
/// # Errors
/// The agent process can't be started.
pub(crate) fn look(
    name: &str,
    paths: &[&str],
    options: &Options,
) -> Result<Arc<dyn GuestHost>, Box<dyn Error>> {
    if name == LOCAL && paths.iter().all(|path| File::open(path).is_ok()) {
        return Ok(Arc::new(ThisMachine));
    }
    let argv = match name {
        LOCAL => agent_here(options, &LocalRunner, Some("looking at the files of guests' disks"))?,
        _ => over(&ssh(name, options), true)?,
    };
    Ok(Arc::new(AgentOnHost::start(name, argv, name != LOCAL)?))
}
