//! The mounts of this namespace.

use record::mountinfo::{Mount, parse};
use std::io;
use std::path::Path;

/// All mounts, in the order they were made.
pub(crate) fn read(proc: &Path) -> io::Result<Vec<Mount>> {
    let text = std::fs::read(proc.join("self/mountinfo"))?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(parse).collect())
}

/// Whether it is a mount from an NFS server.
pub(crate) fn is_nfs(mount: &Mount) -> bool {
    matches!(mount.fs_type.as_str(), "nfs" | "nfs4")
}
