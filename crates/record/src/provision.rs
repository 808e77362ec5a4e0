//! Provisioning: steps that configure a machine before anything is measured, and their results. The configuration is the user's
//! own: diskproof undoes none of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The program that runs a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provisioner {
    /// The script itself, without another program.
    Shell,
    /// `ansible-playbook`, on the machine itself.
    Ansible,
    /// `puppet apply`.
    Puppet,
}

impl Provisioner {
    /// Returns the spelling of an experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Ansible => "ansible",
            Self::Puppet => "puppet",
        }
    }
}

impl fmt::Display for Provisioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One planned step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvisionStep {
    /// The program that runs it.
    pub by: Provisioner,
    /// Path of the file, as the experiment names it.
    pub path: String,
    /// Text of the file.
    pub text: String,
    /// Arguments of a script.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of a playbook, or facts of a manifest.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// The only machine that the step runs on; `None`: all machines.
    #[serde(default)]
    pub target: Option<String>,
    /// SHA-256, in hex, of everything that the step depends on: provisioner, text, arguments, variables.
    pub digest: String,
}

/// The result of a step on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provisioned {
    /// The program that ran it.
    pub by: Provisioner,
    /// Path of the file, as the experiment names it.
    pub path: String,
    /// Digest of the step: [`ProvisionStep::digest`].
    pub digest: String,
    /// Version of the program; `None` for scripts, or when it is unknown.
    pub tool: Option<String>,
    /// Start time, UTC, milliseconds since the epoch.
    pub applied_unix_ms: u64,
    /// Whether the step was skipped, because the same steps were the last ones that ran on this machine since its boot. `runs`
    /// are then the earlier runs.
    pub skipped: bool,
    /// The runs of the step: two, or as many as there were until it failed.
    pub runs: Vec<ProvisionRun>,
    /// The error; `None` if it succeeded.
    pub error: Option<String>,
}

impl Provisioned {
    /// Whether the second run changed nothing; `None` when the provisioner didn't report changes, or when there was no second run.
    #[must_use]
    pub fn is_idempotent(&self) -> Option<bool> {
        self.runs.get(1)?.changed.map(|changed| changed == 0)
    }
}

/// One run of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProvisionRun {
    /// Exit status, or the negative number of the signal that ended it.
    pub status: i32,
    /// Duration in seconds.
    pub seconds: f64,
    /// Number of things that it changed; `None` when the provisioner didn't report it.
    pub changed: Option<u64>,
    /// Its standard output: only the end of it, if it was long.
    pub stdout: String,
    /// Its standard error; likewise.
    pub stderr: String,
    /// Number of bytes of both that were not kept.
    pub cut_bytes: u64,
}
