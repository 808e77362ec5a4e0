//! The programs that run steps.

use host::{Invocation, Tool};
use record::provision::{ProvisionStep, Provisioner};
use std::path::Path;

/// The program for a step, with its file on this machine.
pub(super) fn of(step: &ProvisionStep, file: &Path) -> Invocation {
    let dir = file.parent().unwrap_or(file);
    match step.by {
        Provisioner::Shell => Invocation::program(file).args(&step.args).directory(dir),
        Provisioner::Ansible => with_home(Invocation::new(Tool::AnsiblePlaybook))
            .args(["--connection", "local", "--inventory", "localhost,", "--extra-vars"])
            .arg(serde_json::json!(step.vars).to_string())
            .arg(file)
            .directory(dir)
            // The recap of this output format is parsed.
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
                // Status 2: something was changed, and nothing failed.
                .accept([0, 2]);
            step.vars.iter().fold(puppet, |puppet, (name, value)| puppet.env(format!("FACTER_{name}"), value))
        }
    }
}

/// Passes HOME: programs get no environment from us, but these two need it to find the user's own modules.
fn with_home(tool: Invocation) -> Invocation {
    match std::env::var_os("HOME") {
        Some(home) => tool.env("HOME", home),
        None => tool,
    }
}
