//! The cgroups of a process (cgroups(7)), as directories that are readable from here.

use crate::error::ReadError;
use crate::mountinfo::Mounts;
use crate::text::required;
use record::mountinfo::Mount;
use record::roots::Roots;
use std::path::PathBuf;

/// The version of the hierarchy that a controller is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    V1,
    V2,
}

/// The cgroups of one process in one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) flavour: Flavour,
    /// The process's own cgroup, then the ones above it, as far as they are visible; never empty.
    pub(crate) directories: Vec<PathBuf>,
}

/// Returns the cgroups of a process in a controller (`blkio`, `cpu`; in v2 `io`, `cpu`). `None` when the process has ended, when
/// no hierarchy with that controller is mounted here, or when the process is outside of the mounted part.
pub(crate) fn of(roots: &Roots, pid: u32, v1: &str, v2: &str) -> Result<Option<Groups>, ReadError> {
    let Some(text) = required(&roots.proc.join(pid.to_string()).join("cgroup"))? else { return Ok(None) };
    let text = String::from_utf8_lossy(&text);
    let mounts = Mounts::read(roots)?;
    for line in text.lines() {
        // `7:blkio:/a/b`, and `0::/a/b` of v2.
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if controllers.split(',').any(|name| name == v1) {
            let holds = |mount: &&Mount| mount.fs_type == "cgroup" && mount.has_super_option(v1);
            return Ok(directories(roots, mounts.0.iter().find(holds), path, Flavour::V1));
        }
        if number == "0" && controllers.is_empty() {
            let found = mounts.0.iter().find(|mount| mount.fs_type == "cgroup2");
            let found = directories(roots, found, path, Flavour::V2);
            return Ok(found.filter(|groups| groups.offers(v2)));
        }
    }
    Ok(None)
}

impl Groups {
    /// Whether the hierarchy has a controller, according to its topmost visible cgroup.
    fn offers(&self, controller: &str) -> bool {
        let top = self.directories.last().map(|top| top.join("cgroup.controllers"));
        let text = top.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        text.split_whitespace().any(|word| word == controller)
    }
}

fn directories(roots: &Roots, mount: Option<&Mount>, path: &str, flavour: Flavour) -> Option<Groups> {
    let mount = mount?;
    // `/..` leads out of the cgroup namespace, and perhaps only a part of the hierarchy is mounted.
    let below = std::path::Path::new(path).strip_prefix(&mount.root).ok()?;
    let point = roots.in_sys(&mount.point);
    let own = point.join(below);
    if !own.is_dir() {
        return None;
    }
    let directories = own.ancestors().take_while(|group| group.starts_with(&point)).map(PathBuf::from);
    Some(Groups { flavour, directories: directories.collect() })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Flavour, of};
    use record::roots::Roots;
    use std::fs;
    use std::path::Path;

    /// Creates a fake machine: process 7 with this /proc/PID/cgroup, mounts as `point type options`, and cgroups.
    pub(crate) fn machine(dir: &Path, cgroup: &str, mounts: &[&str], groups: &[&str]) -> Roots {
        let put = |path: &str, text: &str| {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/7/cgroup", cgroup);
        let line = |(n, mount): (usize, &&str)| {
            let (point, rest) = mount.split_once(' ').unwrap();
            let (kind, options) = rest.split_once(' ').unwrap();
            format!("9{n} 1 0:{n} / {point} rw - {kind} {kind} {options}\n")
        };
        put("proc/self/mountinfo", &mounts.iter().enumerate().map(line).collect::<String>());
        for group in groups {
            fs::create_dir_all(dir.join("sys/fs/cgroup").join(group)).unwrap();
        }
        Roots::under(dir)
    }

    const HYBRID: [&str; 3] = [
        "/sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct",
        "/sys/fs/cgroup/blkio cgroup rw,blkio",
        "/sys/fs/cgroup/unified cgroup2 rw",
    ];

    fn found(roots: &Roots, v1: &str, v2: &str) -> Option<(Flavour, Vec<String>)> {
        let groups = of(roots, 7, v1, v2).unwrap()?;
        let base = roots.sys.join("fs/cgroup");
        let name =
            |path: &std::path::PathBuf| path.strip_prefix(&base).unwrap().to_string_lossy().into_owned();
        Some((groups.flavour, groups.directories.iter().map(name).collect()))
    }

    #[test]
    fn each_controller_of_v1_has_its_own_hierarchy() {
        let dir = tempfile::tempdir().unwrap();
        let text = "7:blkio:/run\n4:cpu,cpuacct:/a/b\n0::/x\n";
        let roots = machine(dir.path(), text, &HYBRID, &["blkio/run", "cpu/a/b", "unified/x"]);
        let expected = (Flavour::V1, ["blkio/run", "blkio"].map(String::from).to_vec());
        assert_eq!(found(&roots, "blkio", "io"), Some(expected));
        let expected = (Flavour::V1, ["cpu/a/b", "cpu/a", "cpu"].map(String::from).to_vec());
        assert_eq!(found(&roots, "cpu", "cpu"), Some(expected));
    }

    #[test]
    fn v2_is_looked_at_only_where_it_has_the_controller() {
        let dir = tempfile::tempdir().unwrap();
        let roots = machine(dir.path(), "0::/a/b\n", &["/sys/fs/cgroup cgroup2 rw"], &["a/b"]);
        assert_eq!(found(&roots, "blkio", "io"), None);
        fs::write(roots.sys.join("fs/cgroup/cgroup.controllers"), "cpu io\n").unwrap();
        let expected = (Flavour::V2, ["a/b", "a", ""].map(String::from).to_vec());
        assert_eq!(found(&roots, "blkio", "io"), Some(expected));
    }

    #[test]
    fn what_is_outside_or_not_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let roots = machine(dir.path(), "7:blkio:/../b\n4:cpu:/gone\n", &HYBRID, &["blkio", "cpu"]);
        assert_eq!(found(&roots, "blkio", "io"), None, "outside of the namespace");
        assert_eq!(found(&roots, "cpu", "cpu"), None, "removed");
        assert!(of(&roots, 8, "cpu", "cpu").unwrap().is_none(), "no such process");
        let roots = machine(dir.path(), "7:blkio:/\n", &[], &["blkio"]);
        assert_eq!(found(&roots, "blkio", "io"), None, "not mounted");
    }
}
