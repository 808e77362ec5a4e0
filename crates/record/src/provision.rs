//! Provisioning: what is done to a target before anything is measured, and what came of it. It is the user's own
//! configuration: nothing of it is undone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What carries a step out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provisioner {
    /// The script itself.
    Shell,
    /// `ansible-playbook`, on the target itself.
    Ansible,
    /// `puppet apply`.
    Puppet,
}

impl Provisioner {
    /// As it is written in an experiment.
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

/// One step, as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvisionStep {
    /// What carries it out.
    pub by: Provisioner,
    /// The file, as the experiment names it.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Arguments of a script.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of a playbook, facts of a manifest.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// The only target it is for; `None`: all.
    #[serde(default)]
    pub target: Option<String>,
    /// SHA-256, in hex, of all that decides what it does: provisioner, text, arguments, variables.
    pub digest: String,
}

/// What became of a step on a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provisioned {
    /// What carried it out.
    pub by: Provisioner,
    /// The file, as the experiment names it.
    pub path: String,
    /// [`ProvisionStep::digest`].
    pub digest: String,
    /// Version of the program; `None` for scripts, or when it can't be told.
    pub tool: Option<String>,
    /// When it was begun, UTC, milliseconds since the epoch.
    pub applied_unix_ms: u64,
    /// Whether it was left out, since the same steps were the last ones carried out there, in the same boot: `runs` are those
    /// of then.
    pub skipped: bool,
    /// How it went, each time: twice, or until it failed.
    pub runs: Vec<ProvisionRun>,
    /// Why it failed; `None` when it didn't.
    pub error: Option<String>,
}

impl Provisioned {
    /// Whether the second run changed nothing; `None` when it didn't tell, or there was none.
    #[must_use]
    pub fn is_idempotent(&self) -> Option<bool> {
        self.runs.get(1)?.changed.map(|changed| changed == 0)
    }
}

/// One run of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProvisionRun {
    /// Exit status; the negative number of the signal that ended it.
    pub status: i32,
    /// How long it took.
    pub seconds: f64,
    /// How many things it changed; `None` when it didn't tell.
    pub changed: Option<u64>,
    /// What it wrote: the end of it, where it was long.
    pub stdout: String,
    /// What it complained about; likewise.
    pub stderr: String,
    /// Bytes of both that were not kept.
    pub cut_bytes: u64,
}
