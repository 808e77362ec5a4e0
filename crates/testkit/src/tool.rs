//! Runs the few programs that the harness needs.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Runs a program; returns its stdout on success, and its error output on failure.
pub(crate) fn run<A: AsRef<OsStr>>(program: &str, args: &[A]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{program} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
    }
}
