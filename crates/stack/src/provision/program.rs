//! The programs that carry steps out.

use host::{Invocation, Tool};
use record::provision::{ProvisionStep, Provisioner};
use std::path::Path;

/// What is run for a step whose file is here.
pub(super) fn of(step: &ProvisionStep, file: &Path) -> Invocation {
    let dir = file.parent().unwrap_or(file);
    match step.by {
        Provisioner::Shell => Invocation::program(file).args(&step.args).directory(dir),
        Provisioner::Ansible => with_home(Invocation::new(Tool::AnsiblePlaybook))
            .args(["--connection", "local", "--inventory", "localhost,", "--extra-vars"])
            .arg(serde_json::json!(step.vars).to_string())
            .arg(file)
            .directory(dir)
            // its recap is read
            .env("ANSIBLE_STDOUT_CALLBACK", "default")
            .env("ANSIBLE_NOCOLOR", "1")
            .env("ANSIBLE_RETRY_FILES_ENABLED", "0")
            .env("ANSIBLE_HOME", dir)
            .env("ANSIBLE_LOCAL_TEMP", dir)
            .env("ANSIBLE_REMOTE_TEMP", dir),
        Provisioner::Puppet => {
            let puppet = with_home(Invocation::new(Tool::Puppet))
                .args([
                    "apply",
                    "--detailed-exitcodes",
                    "--summarize",
                    "--color",
                    "false",
                    "--logdest",
                    "console",
                ])
                .arg(file)
                .directory(dir)
                // 2: something was changed, and nothing failed
                .accept([0, 2]);
            step.vars.iter().fold(puppet, |puppet, (name, value)| puppet.env(format!("FACTER_{name}"), value))
        }
    }
}

/// Tools see no environment of ours; where its user's own modules are, these two must know.
fn with_home(tool: Invocation) -> Invocation {
    match std::env::var_os("HOME") {
        Some(home) => tool.env("HOME", home),
        None => tool,
    }
}
