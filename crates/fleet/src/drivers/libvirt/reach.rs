//! Connections to the hosts.

use crate::at::{At, AtError, AtOptions, LOCAL, here};
use driver::protocol::Settings;
use record::machine::Machine;
use std::path::PathBuf;

/// Connects to a host.
pub(super) fn open(options: &AtOptions, host: &str, ssh_config: Option<PathBuf>) -> Result<At, AtError> {
    let mut options = options.clone();
    if ssh_config.is_some() {
        options.reach.ssh_config = ssh_config;
    }
    let machine = if host == LOCAL { here() } else { Machine::named(host, "the driver's settings") };
    At::open(&machine, &options)
}

/// The file that ssh reads, if settings name one.
pub(super) fn ssh_config(settings: &Settings) -> Option<PathBuf> {
    driver::serve::text(settings, "ssh_config").map(PathBuf::from)
}
