//! The machine that a run ran on. No secrets: no environment variables, no addresses, no user names.

use crate::bill::MachineBill;
use crate::provision::Provisioned;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The machine at the beginning of the run. Every value that isn't known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Version of diskproof.
    pub diskproof: String,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// `uname -m`.
    pub architecture: Option<String>,
    /// Name of the distribution: PRETTY_NAME of os-release.
    pub distribution: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// Online CPUs.
    pub cpus: Option<u32>,
    /// cpufreq governor of CPU 0.
    pub governor: Option<String>,
    /// Current clock source.
    pub clocksource: Option<String>,
    /// Hypervisor or container, from DMI and /proc, with the names of `systemd-detect-virt`.
    pub virtualization: Option<String>,
    /// The image that the guest was made on: `sha256:` and the digest of its disk. `None` for other machines, and for guests that
    /// diskproof didn't make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Total memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Boot id: changes with every boot.
    pub boot_id: Option<String>,
    /// Whether the agent process runs as root.
    pub root: bool,
    /// The cgroup version that can throttle block devices: `v1`, `v2` or `None`.
    pub throttle: Option<String>,
    /// Versions of external programs by name, as the programs print them.
    pub tools: BTreeMap<String, String>,
    /// The native engine's highest rate on this machine; `None` if `doctor` never measured it, or measured it with another
    /// kernel, CPU or version.
    #[serde(default)]
    pub native_ceiling: Option<Ceiling>,
    /// Provisioning steps on this machine before the measurement, of all sessions of the run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provision: Vec<Provisioned>,
    /// What the machines cost that drivers created for the run, per session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bills: Vec<MachineBill>,
    /// The machines of the run's further targets, by target name. The first target's machine is this one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<String, Environment>,
}

impl Environment {
    /// Returns the machine of a target.
    #[must_use]
    pub fn of(&self, target: &str) -> &Self {
        self.elsewhere.get(target).unwrap_or(self)
    }

    /// Returns the images that the run's machines were made on.
    #[must_use]
    pub fn images(&self) -> BTreeSet<String> {
        let all = std::iter::once(self).chain(self.elsewhere.values());
        all.filter_map(|machine| machine.image.clone()).collect()
    }

    /// Whether QEMU emulates the processor in software, for a lab guest: then QEMU makes up a CPU model; under KVM the guest has
    /// the host's model. On other machines a KVM guest may have such a model, too.
    #[must_use]
    pub fn is_software_emulated(&self) -> Option<bool> {
        Some(self.cpu_model.as_ref()?.starts_with("QEMU Virtual CPU"))
    }

    /// Adds the bills of another record of the same run that this one lacks.
    pub fn add_bills(&mut self, other: &Self) {
        let is_new = |bill: &&MachineBill| {
            !self.bills.iter().any(|own| own.claims.iter().any(|claim| bill.claims.contains(claim)))
        };
        let new: Vec<MachineBill> = other.bills.iter().filter(is_new).cloned().collect();
        self.bills.extend(new);
        self.bills.sort_by_key(|bill| bill.begun_unix);
    }

    /// Prepends the steps and bills of earlier sessions; a step that was skipped in this session is among them already.
    pub fn after(&mut self, earlier: &Self) {
        self.add_bills(earlier);
        let known = |done: &Provisioned| {
            let same =
                |e: &Provisioned| (&e.digest, e.applied_unix_ms) == (&done.digest, done.applied_unix_ms);
            earlier.provision.iter().any(same)
        };
        let new: Vec<Provisioned> =
            std::mem::take(&mut self.provision).into_iter().filter(|d| !known(d)).collect();
        self.provision = earlier.provision.iter().cloned().chain(new).collect();
        for (target, machine) in &mut self.elsewhere {
            if let Some(earlier) = earlier.elsewhere.get(target) {
                machine.after(earlier);
            }
        }
    }
}

/// The highest rate of I/Os that the native engine reaches on a machine, measured on holes, so that no device is involved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Time of the measurement, UTC, milliseconds since the epoch.
    pub measured_unix_ms: u64,
    /// Access pattern: `randread`. All options here have fio's meaning.
    pub rw: String,
    /// Block size in bytes.
    pub bs_bytes: u64,
    /// I/Os in flight.
    pub iodepth: u32,
    /// Whether O_DIRECT was used.
    pub direct: bool,
    /// How the engine issued I/O, e.g. `io_uring, ...`.
    pub issued_by: String,
    /// File system that held the file.
    pub fs_type: Option<String>,
    /// I/Os per second of one job: the mean over repetitions.
    pub iops: f64,
    /// Lower end of the mean's interval; `None` if there was only one repetition.
    pub low: Option<f64>,
    /// Upper end of the mean's interval; `None` likewise.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// I/Os per second of each repetition.
    pub repetitions: Vec<f64>,
    /// Share of the time that the job's thread ran. Well below 1: other processes took the CPU, and the machine can do more.
    pub busiest_thread_share: Option<f64>,
    /// CPU time per I/O, user and system, in nanoseconds.
    pub cpu_ns_per_io: Option<f64>,
    /// Instructions in user mode per I/O; `None` where the machine has no such counter.
    pub user_instructions_per_io: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::Environment;
    use crate::provision::{Provisioned, Provisioner};
    use std::collections::BTreeMap;

    fn machine(applied: &[u64]) -> Environment {
        let step = |applied: &u64| Provisioned {
            by: Provisioner::Shell,
            path: "tune.sh".to_owned(),
            digest: "0a1b".to_owned(),
            tool: None,
            applied_unix_ms: *applied,
            skipped: false,
            runs: Vec::new(),
            error: None,
        };
        Environment { provision: applied.iter().map(step).collect(), ..Environment::default() }
    }

    #[test]
    fn software_emulation_is_told_by_the_processor() {
        let with = |model: Option<&str>| {
            Environment { cpu_model: model.map(str::to_owned), ..Environment::default() }
                .is_software_emulated()
        };
        let models = [Some("QEMU Virtual CPU version 2.5+"), Some("Example CPU"), None];
        assert_eq!(models.map(with), [Some(true), Some(false), None]);
    }

    fn applied(machine: &Environment) -> Vec<u64> {
        machine.provision.iter().map(|step| step.applied_unix_ms).collect()
    }

    #[test]
    fn what_earlier_sittings_did_stays_and_what_was_skipped_is_there_once() {
        let far = |machine| BTreeMap::from([("far".to_owned(), machine)]);
        let earlier = Environment { elsewhere: far(machine(&[1])), ..machine(&[1]) };
        let mut now = Environment { elsewhere: far(machine(&[7])), ..machine(&[1]) };
        now.after(&earlier);
        assert_eq!((applied(&now), applied(now.of("far"))), (vec![1], vec![1, 7]));
    }
}
