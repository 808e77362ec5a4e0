//! A ZFS pool that is up: its state, and how it is brought to rest.

use crate::act::wipe::partitions;
use crate::act::zfs_fuse::StartZfsFuse;
use crate::error::ActError;
use crate::machine::Machine;
use host::{Invocation, Tool};
use record::zfs::PoolState;
use std::path::PathBuf;

/// A pool of ours.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Its name, which is also that of its dataset.
    pub name: String,
    /// Its GUID.
    pub guid: String,
    /// The ZFS implementation, with its version.
    pub implementation: String,
    pub(crate) mount: PathBuf,
    devices: Vec<PathBuf>,
    served: Served,
}

/// The implementation that serves a pool.
#[derive(Debug, Clone)]
pub(crate) enum Served {
    /// The kernel.
    Kernel,
    /// zfs-fuse: one that we started, or else one that was running before.
    Process(Option<StartZfsFuse>),
}

impl Pool {
    pub(crate) fn of(
        machine: &Machine<'_>,
        name: String,
        mount: PathBuf,
        devices: Vec<PathBuf>,
        served: Served,
    ) -> Self {
        let get = |property: &str| {
            let ask = Invocation::new(Tool::Zpool).args(["get", property, &name]);
            let text = machine.runner.run(&ask).map(|output| output.stdout).unwrap_or_default();
            value_of(&text, property).unwrap_or_default()
        };
        let implementation = match &served {
            Served::Kernel => kernel_zfs(machine),
            Served::Process(started) => {
                let whose = if started.is_some() { "" } else { ", not started by diskproof" };
                format!("zfs-fuse, pool version {}{whose}", get("version"))
            }
        };
        let guid = get("guid");
        Self { name, guid, implementation: implementation.trim().to_owned(), mount, devices, served }
    }

    /// The process that does its I/O, if we started it.
    #[must_use]
    pub fn process(&self, machine: &Machine<'_>) -> Option<u32> {
        match &self.served {
            Served::Process(Some(started)) => started.pid(machine),
            Served::Process(None) | Served::Kernel => None,
        }
    }

    /// Writes pending data to the devices, so that the disk usage of files is known. `cold`: also drops the pool from ARC, by
    /// exporting and importing it; zfs-fuse can't do that, and keeps its cache.
    ///
    /// # Errors
    /// When a program fails.
    pub fn settle(&self, machine: &Machine<'_>, cold: bool) -> Result<(), ActError> {
        let run = |doing: &str, what: Invocation| {
            machine
                .runner
                .run(&what)
                .map(|_| ())
                .map_err(ActError::tool(format!("{doing} the pool {}", self.name)))
        };
        if let Served::Process(_) = self.served {
            // Setting a property waits for all earlier writes.
            let set = Invocation::new(Tool::Zfs).args(["set", "diskproof:settled=yes", &self.name]);
            return run("settle", set);
        }
        run("settle", Invocation::new(Tool::Zpool).args(["sync", &self.name]))?;
        if !cold {
            return Ok(());
        }
        run("export", Invocation::new(Tool::Zpool).args(["export", &self.name]))?;
        let mut import = Invocation::new(Tool::Zpool).args(["import", "-o", "cachefile=none"]);
        for device in &self.devices {
            import = import.arg("-d").arg(device);
            // On a whole disk, ZFS uses a partition that it made.
            for (partition, _) in partitions(machine, device) {
                import = import.arg("-d").arg(partition);
            }
        }
        run("import", import.arg(&self.name))
    }

    /// The state of its dataset.
    #[must_use]
    pub fn state(&self, machine: &Machine<'_>) -> PoolState {
        let ask = Invocation::new(Tool::Zfs).args(["get", "-Hp", "-o", "property,value", "all", &self.name]);
        state_of(&machine.runner.run(&ask).map(|output| output.stdout).unwrap_or_default())
    }
}

/// The kernel's ZFS, with its version.
pub(crate) fn kernel_zfs(machine: &Machine<'_>) -> String {
    let version = std::fs::read_to_string(machine.roots.sys.join("module/zfs/version"));
    format!("OpenZFS {}", version.unwrap_or_default().trim())
}

/// Parses `NAME PROPERTY VALUE SOURCE`, with or without a header.
fn value_of(text: &str, property: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        (words.next() == Some(property)).then(|| words.next().map(str::to_owned)).flatten()
    })
}

fn state_of(text: &str) -> PoolState {
    let value = |property: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once('\t'));
        pairs.find(|(name, _)| *name == property).map(|(_, value)| value.trim())
    };
    let bytes = |property: &str| value(property).and_then(|value| value.parse().ok());
    PoolState {
        compress_ratio_percent: value("compressratio").and_then(hundredths),
        referenced_bytes: bytes("referenced"),
        logical_referenced_bytes: bytes("logicalreferenced"),
        allocated_bytes: bytes("used"),
    }
}

/// Parses `2.58x` or `2.58` as hundredths.
fn hundredths(text: &str) -> Option<u64> {
    let (whole, part) = text.trim_end_matches('x').split_once('.')?;
    let part = format!("{part:0<2}");
    Some(whole.parse::<u64>().ok()? * 100 + part.get(..2)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::{hundredths, state_of, value_of};
    use record::zfs::PoolState;

    #[test]
    fn ratios_are_read_with_and_without_their_x() {
        assert_eq!(
            [hundredths("2.58x"), hundredths("1.00"), hundredths("12.3x")],
            [Some(258), Some(100), Some(1230)]
        );
        assert_eq!(hundredths("-"), None);
    }

    #[test]
    fn what_is_not_told_is_none() {
        let text = "type\tfilesystem\nused\t409600\nreferenced\t114688\ncompressratio\t1.00x\nmounted\tyes\n";
        let expected = PoolState {
            compress_ratio_percent: Some(100),
            referenced_bytes: Some(114_688),
            logical_referenced_bytes: None,
            allocated_bytes: Some(409_600),
        };
        assert_eq!(state_of(text), expected);
        assert_eq!(state_of("compressratio\t2.1\nlogicalreferenced\t7\n").logical_referenced_bytes, Some(7));
    }

    #[test]
    fn properties_of_pools_are_found_by_name() {
        let text = "NAME  PROPERTY  VALUE  SOURCE\np-3   guid      2689472782675750417  default\n";
        assert_eq!(value_of(text, "guid").as_deref(), Some("2689472782675750417"));
        assert_eq!(value_of(text, "version"), None);
    }
}
