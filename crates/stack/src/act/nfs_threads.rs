//! Whether the kernel's NFS server runs, by the number of its threads.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// For how long the server may hold a directory that is no longer exported.
const LETS_GO_WITHIN: Duration = Duration::from_secs(30);

/// The number of NFS server threads; 0 where the server isn't running or the kernel has none.
pub(crate) fn threads(proc: &Path) -> u32 {
    let text = std::fs::read_to_string(threads_file(proc)).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// How long the server may keep a file system that it exported; more than `usual` where one runs. It forgets an export at some
/// later time, and shows nowhere what it still holds.
pub(crate) fn patience(proc: &Path, usual: Duration) -> Duration {
    if threads(proc) > 0 { usual.max(LETS_GO_WITHIN) } else { usual }
}

pub(crate) fn threads_file(proc: &Path) -> PathBuf {
    proc.join("fs/nfsd/threads")
}

#[cfg(test)]
mod tests {
    use super::threads;

    #[test]
    fn a_server_that_is_not_there_has_no_threads() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(threads(proc.path()), 0);
        let dir = proc.path().join("fs/nfsd");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("threads"), "8\n").unwrap();
        assert_eq!(threads(proc.path()), 8);
    }
}
