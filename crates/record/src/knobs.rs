//! Kernel settings that belong to a stack.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Settings that are in force while the stack exists, in the order of their setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knobs {
    /// The settings. Settings of devices apply to each device directly below the layer.
    pub set: Vec<Knob>,
}

impl Knobs {
    /// Returns the first setting of a block device, if there is one.
    #[must_use]
    pub fn of_device(&self) -> Option<&Knob> {
        self.set.iter().find(|knob| matches!(knob.name.place(), KnobPlace::Device(_)))
    }
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knob {
    /// The name of the setting.
    pub name: KnobName,
    /// The value in the format that the kernel's file takes and shows.
    pub value: String,
}

/// Where a setting is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobPlace {
    /// A file in the directory of a block device below /sys.
    Device(&'static str),
    /// A file below /proc.
    Machine(&'static str),
}

macro_rules! knobs {
    ($($(#[$doc:meta])* $name:ident = $word:literal in $place:ident($file:literal),)*) => {
        /// Names of the settings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum KnobName { $($(#[$doc])* $name,)* }

        impl KnobName {
            /// All settings. The scheduler comes first, since a new scheduler changes other settings.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns its name in an experiment file.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Returns where it is found.
            #[must_use]
            pub fn place(self) -> KnobPlace {
                match self { $(Self::$name => KnobPlace::$place($file),)* }
            }
        }
    };
}

knobs! {
    /// I/O scheduler.
    Scheduler = "scheduler" in Device("queue/scheduler"),
    /// Read-ahead in KiB.
    ReadAhead = "read_ahead" in Device("queue/read_ahead_kb"),
    /// Number of requests that the scheduler can hold.
    NrRequests = "nr_requests" in Device("queue/nr_requests"),
    /// Whether the device counts as a rotational disk: 0 or 1.
    Rotational = "rotational" in Device("queue/rotational"),
    /// Largest request in KiB.
    MaxSectors = "max_sectors" in Device("queue/max_sectors_kb"),
    /// Whether requests are merged: 0 (all), 1 (only simple merges), 2 (none).
    Nomerges = "nomerges" in Device("queue/nomerges"),
    /// The CPU that completes a request: 0 (any), 1 (a CPU of the submitter's group), 2 (the submitter's CPU).
    RqAffinity = "rq_affinity" in Device("queue/rq_affinity"),
    /// Target latency of write-back throttling in microseconds; 0 is off.
    WbtLatency = "wbt_latency" in Device("queue/wbt_lat_usec"),
    /// Percentage of memory that may be dirty before writers have to write.
    DirtyRatio = "dirty_ratio" in Machine("sys/vm/dirty_ratio"),
    /// Percentage of memory that may be dirty before the kernel begins to write.
    DirtyBackgroundRatio = "dirty_background_ratio" in Machine("sys/vm/dirty_background_ratio"),
    /// The same as `dirty_ratio`, in bytes.
    DirtyBytes = "dirty_bytes" in Machine("sys/vm/dirty_bytes"),
    /// The same as `dirty_background_ratio`, in bytes.
    DirtyBackgroundBytes = "dirty_background_bytes" in Machine("sys/vm/dirty_background_bytes"),
    /// Age in hundredths of a second at which dirty data is written.
    DirtyExpire = "dirty_expire" in Machine("sys/vm/dirty_expire_centisecs"),
    /// Interval in hundredths of a second at which the kernel looks for such data; 0 is never.
    DirtyWriteback = "dirty_writeback" in Machine("sys/vm/dirty_writeback_centisecs"),
    /// Preference for swapping over dropping page cache.
    Swappiness = "swappiness" in Machine("sys/vm/swappiness"),
    /// How readily the kernel drops inodes and directory entries.
    VfsCachePressure = "vfs_cache_pressure" in Machine("sys/vm/vfs_cache_pressure"),
}

impl KnobName {
    /// Returns the other settings, in the same directory, that change in the kernel when this one is set.
    #[must_use]
    pub fn disturbs(self) -> &'static [&'static str] {
        match self {
            // a new scheduler has its own queues; some schedulers switch write-back throttling off
            Self::Scheduler => &["nr_requests", "wbt_lat_usec"],
            // of two settings for the same limit, the one that isn't in force reads 0
            Self::DirtyRatio => &["dirty_bytes"],
            Self::DirtyBytes => &["dirty_ratio"],
            Self::DirtyBackgroundRatio => &["dirty_background_bytes"],
            Self::DirtyBackgroundBytes => &["dirty_background_ratio"],
            _ => &[],
        }
    }
}

/// A kernel setting that was changed for a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The kernel's file.
    pub path: PathBuf,
    /// The value before, which is restored after the trial.
    pub before: String,
    /// The value during the trial, as read back.
    pub value: String,
}

#[cfg(test)]
mod tests {
    use super::{KnobName, KnobPlace};

    #[test]
    fn names_in_files_and_in_records_are_the_same() {
        for name in KnobName::ALL {
            let json = serde_json::to_string(name).unwrap();
            let word = name.word();
            let plain = json.trim_matches('"');
            assert_eq!(plain, word);
        }
        assert_eq!(KnobName::ALL[0].place(), KnobPlace::Device("queue/scheduler"));
    }
}
