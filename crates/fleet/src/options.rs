//! The user's settings for connecting to machines.

use std::path::PathBuf;

/// How to connect to machines.
#[derive(Debug, Clone)]
pub struct Options {
    /// The controller's state directory, with the guests of the lab in it.
    pub state_dir: PathBuf,
    /// Whether the user named the state directory. If so, an agent process on this machine uses it too, else the default of its own user.
    pub state_dir_is_named: bool,
    /// Whether an agent process on this machine may become root by `sudo -n`.
    pub sudo: bool,
    /// The file that ssh reads instead of `~/.ssh/config`.
    pub ssh_config: Option<PathBuf>,
    /// Whether to print the steps of starting a guest.
    pub tells_steps: bool,
    /// Prints a line for the user, to standard error.
    pub tell: fn(&str),
}
