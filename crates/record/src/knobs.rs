//! Settings of the kernel that belong to a stack.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Settings that are in force while the stack stands, in the order they are made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knobs {
    /// What is set. Those of devices are set on each device that the layer stands on.
    pub set: Vec<Knob>,
}

impl Knobs {
    /// The first setting of a block device, if there is one.
    #[must_use]
    pub fn of_device(&self) -> Option<&Knob> {
        self.set.iter().find(|knob| matches!(knob.name.place(), KnobPlace::Device(_)))
    }
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knob {
    /// Which.
    pub name: KnobName,
    /// The value as the kernel's file takes it and shows it.
    pub value: String,
}

/// Where a setting lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobPlace {
    /// A file in the directory of a block device in /sys.
    Device(&'static str),
    /// A file below /proc.
    Machine(&'static str),
}

macro_rules! knobs {
    ($($(#[$doc:meta])* $name:ident = $word:literal in $place:ident($file:literal),)*) => {
        /// The settings there are.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum KnobName { $($(#[$doc])* $name,)* }

        impl KnobName {
            /// All of them; the scheduler first, since a new one changes what others are.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in an experiment file.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Where it lives.
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
    /// Read-ahead, KiB.
    ReadAhead = "read_ahead" in Device("queue/read_ahead_kb"),
    /// Requests that the scheduler holds.
    NrRequests = "nr_requests" in Device("queue/nr_requests"),
    /// Whether it is told to be a disk that turns: 0 or 1.
    Rotational = "rotational" in Device("queue/rotational"),
    /// Largest request, KiB.
    MaxSectors = "max_sectors" in Device("queue/max_sectors_kb"),
    /// Whether requests are joined: 0 (all), 1 (only simple ones), 2 (none).
    Nomerges = "nomerges" in Device("queue/nomerges"),
    /// On which CPU a request ends: 0, 1 (of the same group), 2 (the same).
    RqAffinity = "rq_affinity" in Device("queue/rq_affinity"),
    /// Latency that write-back throttling aims at, microseconds; 0 is off.
    WbtLatency = "wbt_latency" in Device("queue/wbt_lat_usec"),
    /// Percentage of memory that may be dirty before writers must write.
    DirtyRatio = "dirty_ratio" in Machine("sys/vm/dirty_ratio"),
    /// Percentage of memory that may be dirty before the kernel begins to write.
    DirtyBackgroundRatio = "dirty_background_ratio" in Machine("sys/vm/dirty_background_ratio"),
    /// The same as `dirty_ratio`, in bytes.
    DirtyBytes = "dirty_bytes" in Machine("sys/vm/dirty_bytes"),
    /// The same as `dirty_background_ratio`, in bytes.
    DirtyBackgroundBytes = "dirty_background_bytes" in Machine("sys/vm/dirty_background_bytes"),
    /// Age at which dirty data is written, hundredths of a second.
    DirtyExpire = "dirty_expire" in Machine("sys/vm/dirty_expire_centisecs"),
    /// How often the kernel looks for such data, hundredths of a second; 0 is never.
    DirtyWriteback = "dirty_writeback" in Machine("sys/vm/dirty_writeback_centisecs"),
    /// Swapping against dropping cache.
    Swappiness = "swappiness" in Machine("sys/vm/swappiness"),
    /// How readily inodes and directory entries are dropped.
    VfsCachePressure = "vfs_cache_pressure" in Machine("sys/vm/vfs_cache_pressure"),
}

impl KnobName {
    /// Other settings, beside it in the same directory, that the kernel changes along with it.
    #[must_use]
    pub fn disturbs(self) -> &'static [&'static str] {
        match self {
            // a new scheduler has queues of its own; some switch write-back throttling off
            Self::Scheduler => &["nr_requests", "wbt_lat_usec"],
            // of two that say the same, the one that isn't in force is 0
            Self::DirtyRatio => &["dirty_bytes"],
            Self::DirtyBytes => &["dirty_ratio"],
            Self::DirtyBackgroundRatio => &["dirty_background_bytes"],
            Self::DirtyBackgroundBytes => &["dirty_background_ratio"],
            _ => &[],
        }
    }
}

/// A setting that was changed for a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The kernel's file.
    pub path: PathBuf,
    /// What it held before, and holds again after the trial.
    pub before: String,
    /// What it held during it, as it was read back.
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
