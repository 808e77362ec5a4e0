//! Versions of tools, as they print them.

use crate::invocation::Invocation;
use crate::runner::Runner;
use crate::tool::Tool;
use std::time::Duration;

/// A tool's version: the first line it prints about itself, e.g. `fio-3.33`. `None` if it isn't there or won't say.
#[must_use]
pub fn version(runner: &dyn Runner, tool: Tool) -> Option<String> {
    if matches!(tool, Tool::Bonnie | Tool::Exportfs) {
        // They have no way to ask for it, and print their usage instead.
        return None;
    }
    let ask = Invocation::new(tool).arg(tool.version_argument()).timeout(Duration::from_secs(10));
    let output = runner.run(&ask).ok()?;
    // mke2fs writes its version to stderr.
    let mut lines = output.stdout.lines().chain(output.stderr.lines()).map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}
