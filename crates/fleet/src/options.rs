//! What the user settles about reaching machines.

use std::path::PathBuf;

/// How machines may be reached.
#[derive(Debug, Clone)]
pub struct Options {
    /// The controller's state directory, with the guests of the lab in it.
    pub state_dir: PathBuf,
    /// The user named the state directory, so that an agent on this machine uses it too; else it uses its own user's default.
    pub state_dir_is_named: bool,
    /// Whether an agent on this machine may become root by `sudo -n`.
    pub sudo: bool,
    /// What ssh reads instead of `~/.ssh/config`.
    pub ssh_config: Option<PathBuf>,
    /// Whether the user wants to hear of the steps in which a guest is started.
    pub tells_steps: bool,
    /// Says a line to the user, beside the answer.
    pub tell: fn(&str),
}
