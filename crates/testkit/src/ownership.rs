//! What on this machine belongs to the tests.

use crate::{PREFIX, tool};
use std::path::{Path, PathBuf};

/// Number of the first loop device that diskproof adds; such devices are removed when they are detached.
pub(crate) const FIRST_OWN_LOOP: u32 = 1000;

/// The program that holds the mount namespace of a machine that a test made. Its argument is a file of the machine, which tells it from
/// others.
pub(crate) const HOLDER: &str = "tail";

/// Whether a component of the path begins with [`PREFIX`].
pub(crate) fn is_ours(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_string_lossy().starts_with(PREFIX))
}

/// Whether an export belongs to the tests.
pub(crate) fn is_our_export(line: &str) -> bool {
    line.split('\t').next().is_some_and(|path| is_ours(Path::new(path)))
}

/// Whether a device-mapper name belongs to a volume group with [`PREFIX`]: LVM doubles the dashes in it.
pub(crate) fn is_our_mapping(name: &str) -> bool {
    name.starts_with(&PREFIX.replace('-', "--")) || name.starts_with(PREFIX)
}

/// Returns the names of the tests' imported pools.
pub(crate) fn our_pools() -> Vec<String> {
    // without both, `zpool` would wait for a server
    if running(&["zfs-fuse"]).next().is_none() && !Path::new("/sys/module/zfs").exists() {
        return Vec::new();
    }
    let listed = tool::run("zpool", &["list", "-H", "-o", "name"]).unwrap_or_default();
    listed.lines().filter(|name| name.starts_with(PREFIX)).map(str::to_owned).collect()
}

/// Returns the process ids of the tests' processes that serve pools.
pub(crate) fn our_pool_servers() -> Vec<String> {
    our_servers(&["zfs-fuse"])
}

/// Returns the process ids of the tests' processes of these programs.
pub(crate) fn our_servers(programs: &'static [&'static str]) -> Vec<String> {
    let ours = |process: &PathBuf| {
        std::fs::read(process.join("cmdline"))
            .is_ok_and(|text| String::from_utf8_lossy(&text).contains(PREFIX))
    };
    let number = |process: PathBuf| process.file_name().map(|name| name.to_string_lossy().into_owned());
    running(programs).filter(ours).filter_map(number).collect()
}

fn running(programs: &'static [&'static str]) -> impl Iterator<Item = PathBuf> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    processes.filter(|path| {
        let comm = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        let alive = std::fs::read(path.join("cmdline")).is_ok_and(|text| !text.is_empty());
        programs.contains(&comm.trim_end()) && alive
    })
}
