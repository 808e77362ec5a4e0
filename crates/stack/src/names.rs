//! All names that we create. They begin with the machine's prefix; only what carries it is ever removed.

use crate::machine::Machine;
use record::id::RunId;
use std::path::{Path, PathBuf};

/// The longest label that all our file systems can hold (xfs: 12).
const LABEL_BYTES: usize = 12;

/// `<prefix><run>-<index>-<volume>.img` in the volumes' directory.
pub(crate) fn backing_file(machine: &Machine<'_>, run: &RunId, index: usize, volume: &str) -> PathBuf {
    let name = format!("{}{}-{index}-{}.img", machine.prefix, plain(&run.0), plain(volume));
    machine.volumes_dir().join(name)
}

/// `<prefix><run>-<step>` in the mounts' directory.
pub(crate) fn mount_point(machine: &Machine<'_>, run: &RunId, step: u32) -> PathBuf {
    machine.mounts_dir().join(unique(machine, run, step))
}

/// `<prefix><run>-<step>`: a unique name that a user's own layer may use.
pub(crate) fn unique(machine: &Machine<'_>, run: &RunId, step: u32) -> String {
    format!("{}{}-{step}", machine.prefix, plain(&run.0))
}

/// `<prefix><run>`: the name of cgroups.
pub(crate) fn of_run(machine: &Machine<'_>, run: &RunId) -> String {
    format!("{}{}", machine.prefix, plain(&run.0))
}

/// `<prefix><run>-<index>`: the sub-directory in an existing directory.
pub(crate) fn lent(machine: &Machine<'_>, run: &RunId, index: usize) -> String {
    format!("{}{}-{index}", machine.prefix, plain(&run.0))
}

/// `<prefix><run>-<volume>-<target>`: a machine's sub-directory in an existing directory that several machines use at the same time.
pub(crate) fn shared(machine: &Machine<'_>, run: &RunId, volume: &str, target: &str) -> String {
    // Names of targets have lower-case letters, digits and these three. Two names never become one.
    let target = target.replace('_', "__").replace('.', "_p").replace('-', "_m");
    format!("{}{}-{}-{}", machine.prefix, plain(&run.0), plain(volume), plain(&target))
}

/// The label of our file systems.
pub(crate) fn label(machine: &Machine<'_>) -> String {
    machine.prefix.trim_end_matches('-').bytes().take(LABEL_BYTES).map(char::from).collect()
}

/// Whether a path is directly in `dir` and its name carries our prefix.
pub(crate) fn is_ours_in(machine: &Machine<'_>, path: &Path, dir: &Path) -> bool {
    path.parent() == Some(dir) && carries_prefix(machine, path)
}

/// Whether a path's last part has our prefix and something after it.
pub(crate) fn carries_prefix(machine: &Machine<'_>, path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_prefix(machine.prefix))
        .is_some_and(|rest| !rest.is_empty())
}

/// Whether this run gave the name: our prefix, the run, and then nothing or a separated rest.
pub(crate) fn is_of_run(machine: &Machine<'_>, run: &RunId, name: &str) -> bool {
    let rest = name.strip_prefix(&of_run(machine, run));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
}

/// Whether a path is directly in `dir` and this run gave its name.
pub(crate) fn is_of_run_in(machine: &Machine<'_>, run: &RunId, path: &Path, dir: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.parent() == Some(dir) && name.is_some_and(|name| is_of_run(machine, run, name))
}

/// Replaces every character except letters, digits, `-` and `_` by `-`.
fn plain(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    text.chars().map(kept).collect::<String>().trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_hold_no_surprises() {
        assert_eq!(plain("vol[2]"), "vol-2");
        assert_eq!(plain("../../etc/passwd"), "etc-passwd");
        assert_eq!(plain("20261121-201455-3f9a"), "20261121-201455-3f9a");
    }
}
