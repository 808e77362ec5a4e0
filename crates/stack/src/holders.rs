//! Finds the processes that keep a mount, a device or a file busy.

use record::printable::Printable;
use std::fmt;
use std::path::Path;

/// A process that uses a mount, a device or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// The command name, made printable.
    pub comm: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", self.comm, self.pid)
    }
}

/// The processes as the end of a sentence: `held by fio (pid 12)`.
pub(crate) fn sentence(holders: &[Holder]) -> String {
    if holders.is_empty() {
        return "no process that can be seen holds it".to_owned();
    }
    let names: Vec<String> = holders.iter().map(Holder::to_string).collect();
    format!("held by {}", names.join(", "))
}

/// Finds processes with an open file, mapping, working directory or root at `path` or below it.
pub(crate) fn of(proc: &Path, path: &Path) -> Vec<Holder> {
    let Ok(entries) = std::fs::read_dir(proc) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if holds(&entry.path(), path) {
            // A process chooses this name itself.
            let comm = std::fs::read(entry.path().join("comm")).unwrap_or_default();
            found.push(Holder { pid, comm: Printable(comm.trim_ascii_end()).to_string() });
        }
    }
    found.sort_by_key(|holder| holder.pid);
    found
}

fn holds(process: &Path, path: &Path) -> bool {
    let at = |link: &Path| std::fs::read_link(link).is_ok_and(|target| target.starts_with(path));
    if ["cwd", "root", "exe"].iter().any(|name| at(&process.join(name))) {
        return true;
    }
    ["fd", "map_files"].iter().any(|dir| {
        std::fs::read_dir(process.join(dir)).is_ok_and(|links| links.flatten().any(|link| at(&link.path())))
    })
}

#[cfg(test)]
mod tests {
    use super::{of, sentence};
    use record::printable::is_hidden;

    #[test]
    fn a_process_that_calls_itself_oddly_is_named_in_text() {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("77");
        std::fs::create_dir_all(process.join("fd")).unwrap();
        std::fs::write(process.join("comm"), b"\x1b]0;x\x07\nFORGED\xff\n").unwrap();
        std::os::unix::fs::symlink("/mnt/ours/file", process.join("fd/3")).unwrap();
        let said = sentence(&of(proc.path(), std::path::Path::new("/mnt/ours")));
        assert_eq!(said, "held by \\x1b]0;x\\x07\\nFORGED\\xff (pid 77)");
        assert!(!said.contains(is_hidden));
    }
}
