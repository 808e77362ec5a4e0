//! The machine a run ran on. No secrets: no environment variables, no addresses, no user names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine, as found when the run began. Everything that isn't known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Version of diskproof.
    pub diskproof: String,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// `uname -m`.
    pub architecture: Option<String>,
    /// PRETTY_NAME of os-release.
    pub distribution: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// Online CPUs.
    pub cpus: Option<u32>,
    /// cpufreq governor of CPU 0.
    pub governor: Option<String>,
    /// Current clock source.
    pub clocksource: Option<String>,
    /// Hypervisor or container, as `systemd-detect-virt` names it, from DMI and /proc.
    pub virtualization: Option<String>,
    /// Total memory.
    pub memory_bytes: Option<u64>,
    /// Boot id: changes with every boot.
    pub boot_id: Option<String>,
    /// Whether the node runs as root.
    pub root: bool,
    /// `v1`, `v2` or `None`: which cgroup flavour can throttle block devices.
    pub throttle: Option<String>,
    /// Versions of external programs, by name, as they print them.
    pub tools: BTreeMap<String, String>,
}
