//! Versions of the formats of kept data.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A format's version. A reader opens every file of its own major version. It may read a newer minor version, but never rewrites it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Changes when older readers would misread the format.
    pub major: u16,
    /// Changes when the format gets additions that older readers may ignore.
    pub minor: u16,
}

impl FormatVersion {
    /// The version of [`crate::trial::TrialRecord`] and [`crate::plan::Plan`] that this build writes.
    ///
    /// * 1.0: first.
    /// * 1.1: trims, `verified`, `generator`; more options of a workload; the jobs of a job file.
    /// * 1.2: `until`, budgets, prices, derived metrics of a plan; the series of an engine; page cache of backing files; throttles, CPU
    ///   quota, network and journal in samples.
    /// * 1.3: layers lvm and md; volumes beside a stack's main ones; settings of the kernel; targets of a plan, machines of several
    ///   targets, disks of lab guests; ZFS pools and ARC; copies of a corpus and runs of Bonnie++; persistent stacks; counters of
    ///   LVM caches, when caches are attached and detached; NFS on one machine or between two targets, with the server's samples
    ///   and clock; provisioning; contrasts; syncs and durable writes of an engine; searches and the levels of their trials; phases
    ///   of job files; price lists; imported trials; the goal of the cheapest cell.
    /// * 1.4: latencies over the time of a trial; blocks of queued runs; workloads that several machines run at the same time, with
    ///   each machine's part of a trial and its clock.
    /// * 1.5: trials that were cut off; volumes that are drawn anew in each round; limits that the hosts of guests set.
    pub const RECORD: Self = Self { major: 1, minor: 5 };

    /// Whether a reader of version `self` understands the output of a writer of version `written`.
    #[must_use]
    pub fn reads(self, written: Self) -> bool {
        self.major == written.major
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
