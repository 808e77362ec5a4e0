//! What the kernel offers.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// File systems that a stack may ask for.
const FILE_SYSTEMS: [&str; 6] = ["btrfs", "ext3", "ext4", "nfs", "nfsd", "xfs"];

/// Drivers that a stack may ask for: name, a file that is there while the driver is, and its module.
const DRIVERS: [(&str, &str, &str); 3] = [
    ("device-mapper", "sys/class/misc/device-mapper", "dm-mod"),
    ("md", "proc/mdstat", "md-mod"),
    ("bcache", "sys/fs/bcache", "bcache"),
];

/// What the kernel offers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(in crate::commands) struct Kernel {
    release: Option<String>,
    /// Whether loop devices can be made.
    loop_devices: bool,
    file_systems: BTreeMap<&'static str, Offer>,
    /// Drivers that stacks are made of.
    drivers: BTreeMap<&'static str, Offer>,
    /// `v1`, `v2`, or `None` when no cgroup can throttle block devices.
    throttle: Option<String>,
    /// Whether io_uring may be used; `None` where the kernel doesn't say (before 6.6 it has no switch).
    io_uring: Option<bool>,
    clocksource: Option<String>,
    /// Whether pressure stall information is on.
    pressure: bool,
}

/// Whether the kernel has a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Offer {
    /// Ready now.
    Ready,
    /// As a module that the kernel loads when needed.
    Module,
    /// Not at all.
    No,
}

impl Kernel {
    /// Reads the kernel's files below `root`.
    pub(in crate::commands) fn look(root: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned());
        let release = read("proc/sys/kernel/osrelease");
        let modules =
            release.as_ref().and_then(|r| read(&format!("lib/modules/{r}/modules.dep"))).unwrap_or_default();
        let known = read("proc/filesystems").unwrap_or_default();
        let offers = |name: &str| {
            if known.lines().any(|line| line.split_whitespace().last() == Some(name)) {
                Offer::Ready
            } else if modules.contains(&format!("/{name}.ko")) {
                Offer::Module
            } else {
                Offer::No
            }
        };
        let driver = |file: &str, module: &str| match root.join(file).exists() {
            true => Offer::Ready,
            false if modules.contains(&format!("/{module}.ko")) => Offer::Module,
            false => Offer::No,
        };
        let disabled = read("proc/sys/kernel/io_uring_disabled");
        Self {
            loop_devices: root.join("dev/loop-control").exists() || modules.contains("/loop.ko"),
            drivers: DRIVERS.into_iter().map(|(name, file, module)| (name, driver(file, module))).collect(),
            file_systems: FILE_SYSTEMS.into_iter().map(|name| (name, offers(name))).collect(),
            throttle: throttle(root),
            io_uring: disabled.map(|text| text != "2"),
            clocksource: read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            pressure: root.join("proc/pressure/io").exists(),
            release,
        }
    }

    /// Whether it has none of a file system or driver of this name.
    pub(in crate::commands) fn lacks(&self, name: &str) -> bool {
        self.file_systems.get(name).or(self.drivers.get(name)) == Some(&Offer::No)
    }

    /// Why no volume can be emulated here.
    pub(in crate::commands) fn cannot_emulate(&self, with_limits: bool) -> Option<&'static str> {
        match (self.loop_devices, &self.throttle) {
            (false, _) => Some("loop devices"),
            (true, None) if with_limits => Some("a cgroup that limits block devices"),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let unknown = "unknown".to_owned();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<14}{value}");
        };
        line("release", self.release.as_ref().unwrap_or(&unknown));
        line("loop devices", if self.loop_devices { "yes" } else { "NO: no emulated volumes" });
        for (name, offer) in self.file_systems.iter().chain(&self.drivers) {
            line(
                name,
                match offer {
                    Offer::Ready => "yes",
                    Offer::Module => "yes, as a module",
                    Offer::No => "NO",
                },
            );
        }
        line(
            "throttle",
            &match &self.throttle {
                Some(flavour) => format!("cgroup {flavour}"),
                None => "NO: no cgroup here limits block devices, so volumes can't be emulated with limits"
                    .to_owned(),
            },
        );
        line(
            "io_uring",
            match self.io_uring {
                Some(true) => "yes",
                Some(false) => "switched off (kernel.io_uring_disabled = 2)",
                None => "the kernel doesn't say",
            },
        );
        line(
            "clock",
            &match self.clocksource.as_deref() {
                Some(clock @ ("tsc" | "kvm-clock" | "arch_sys_counter")) => {
                    format!("{clock}, read without a system call")
                }
                Some(clock) => format!("{clock}: slow to read, which costs CPU at high IOPS"),
                None => unknown.clone(),
            },
        );
        line(
            "pressure",
            if self.pressure {
                "yes"
            } else {
                "no: diskproof can't see when tasks wait for CPU, memory or I/O (needs CONFIG_PSI, psi=1)"
            },
        );
        text
    }
}

/// The cgroup version that limits block devices: v2 if it can, else v1, as `stack` chooses.
fn throttle(root: &Path) -> Option<String> {
    let controllers = fs::read_to_string(root.join("sys/fs/cgroup/cgroup.controllers")).unwrap_or_default();
    if controllers.split_whitespace().any(|controller| controller == "io") {
        return Some("v2".to_owned());
    }
    let v1 = root.join("sys/fs/cgroup/blkio/blkio.throttle.read_iops_device");
    v1.exists().then(|| "v1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Kernel, Offer};
    use std::path::Path;

    fn with(files: &[(&str, &str)]) -> (tempfile::TempDir, Kernel) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let kernel = Kernel::look(root.path());
        (root, kernel)
    }

    #[test]
    fn a_bare_kernel_offers_nothing_and_says_so() {
        let kernel = Kernel::look(Path::new("/nowhere"));
        let text = kernel.text();
        for word in ["unknown", "NO: no emulated volumes", "no cgroup here", "the kernel doesn't say"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }

    #[test]
    fn file_systems_are_ready_loadable_or_missing() {
        let (_root, kernel) = with(&[
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            ("proc/filesystems", "nodev\ttmpfs\n\text4\n"),
            ("lib/modules/6.1.0/modules.dep", "kernel/fs/btrfs/btrfs.ko: kernel/lib/xor.ko\n"),
        ]);
        let offers: Vec<Offer> = kernel.file_systems.values().copied().collect();
        assert_eq!(offers, [Offer::Module, Offer::No, Offer::Ready, Offer::No, Offer::No, Offer::No]);
    }

    #[test]
    fn the_throttle_is_v2_where_it_can_be() {
        let v1 = ("sys/fs/cgroup/blkio/blkio.throttle.read_iops_device", "");
        assert_eq!(with(&[v1]).1.throttle.as_deref(), Some("v1"));
        let v2 = ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
        assert_eq!(with(&[v1, v2]).1.throttle.as_deref(), Some("v2"));
        let without_io = ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
        assert_eq!(with(&[without_io]).1.throttle, None);
    }

    #[test]
    fn io_uring_may_be_switched_off() {
        let switch = |text| with(&[("proc/sys/kernel/io_uring_disabled", text)]).1.io_uring;
        assert_eq!((switch("0\n"), switch("1\n"), switch("2\n")), (Some(true), Some(true), Some(false)));
    }
}
