//! Versions of tools, as they print them.

use crate::failure::CommandFailure;
use crate::invocation::Invocation;
use crate::runner::Runner;
use crate::tool::Tool;
use std::time::Duration;

/// Returns a tool's version: the first line that it prints about itself, e.g. `fio-3.33`. `None` if the tool is missing or prints none.
#[must_use]
pub fn version(runner: &dyn Runner, tool: Tool) -> Option<String> {
    asked_version(runner, tool).ok().flatten()
}

/// Returns the same; `Ok(None)`: the tool prints none.
///
/// # Errors
/// The tool is missing or fails.
pub fn asked_version(runner: &dyn Runner, tool: Tool) -> Result<Option<String>, CommandFailure> {
    if matches!(tool, Tool::Bonnie | Tool::Exportfs) {
        // These have no such option, and print their usage instead.
        return Ok(None);
    }
    let ask = Invocation::new(tool).arg(tool.version_argument()).timeout(Duration::from_secs(10));
    let output = runner.run(&ask)?;
    // mke2fs writes its version to stderr.
    let mut lines = output.stdout.lines().chain(output.stderr.lines()).map(str::trim);
    Ok(lines.find(|line| !line.is_empty()).map(str::to_owned))
}
