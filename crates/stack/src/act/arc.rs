//! The size of ARC, ZFS's cache in memory.

use super::doing::{Doing, Reversible, Undoing, Undone};
use crate::error::ActError;
use crate::kernel_file;
use crate::machine::Machine;
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Limits ARC (OpenZFS). The parameter doesn't always show the limit in force: 0 means that ZFS chooses, and writing 0 back
/// changes nothing. So the undo writes the earlier limit in force first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetArcMax {
    /// The module's parameter.
    pub path: PathBuf,
    /// The file that shows the limit in force (`c_max`).
    pub stats: PathBuf,
    /// The parameter before the change.
    pub before: u64,
    /// The limit in force before the change, in bytes.
    pub limit_before: u64,
    /// The new limit, in bytes.
    pub after: u64,
}

impl fmt::Display for SetArcMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limit ARC from {} to {} bytes", self.limit_before, self.after)
    }
}

impl SetArcMax {
    /// Records the values in force now.
    pub(crate) fn reading(machine: &Machine<'_>, after: u64) -> Result<Self, ActError> {
        let (path, stats) = (parameter(machine), arcstats(machine));
        let before = number(&path)?;
        let limit_before = limit(&stats)?;
        Ok(Self { path, stats, before, limit_before, after })
    }

    fn in_force(&self, bytes: u64) -> Result<(), ActError> {
        match limit(&self.stats)? {
            now if now == bytes => Ok(()),
            now => Err(ActError::Unverified {
                what: "limit of ARC (c_max of arcstats)".to_owned(),
                expected: bytes.to_string(),
                saw: format!("{now}; ZFS ignores what is below its least size (c_min) or above the memory"),
            }),
        }
    }
}

impl Reversible for SetArcMax {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        kernel_file::write(doing.machine, &self.path, &self.after.to_string())?;
        self.in_force(self.after)
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if (&self.path, &self.stats) != (&parameter(undoing.machine), &arcstats(undoing.machine)) {
            let saw = "it is not ZFS's limit".to_owned();
            return Err(ActError::NotOurs { what: self.path.shown().to_string(), saw });
        }
        if undoing.rebooted || !self.path.exists() {
            return Ok(Undone::Nothing);
        }
        let now = number(&self.path)?;
        if now == self.before && limit(&self.stats)? == self.limit_before {
            return Ok(Undone::Nothing);
        }
        if ![self.after, self.before, self.limit_before].contains(&now) {
            return Ok(Undone::Left(format!("somebody set it to {now} since")));
        }
        kernel_file::write(undoing.machine, &self.path, &self.limit_before.to_string())?;
        kernel_file::write(undoing.machine, &self.path, &self.before.to_string())?;
        self.in_force(self.limit_before)?;
        Ok(Undone::Done)
    }
}

/// The module's parameter.
pub(crate) fn parameter(machine: &Machine<'_>) -> PathBuf {
    machine.roots.sys.join("module/zfs/parameters/zfs_arc_max")
}

/// The file that shows the limit in force.
fn arcstats(machine: &Machine<'_>) -> PathBuf {
    machine.roots.proc.join("spl/kstat/zfs/arcstats")
}

fn number(path: &Path) -> Result<u64, ActError> {
    let text = std::fs::read_to_string(path).map_err(ActError::io("read", path))?;
    text.trim().parse().map_err(|_| ActError::Unverified {
        what: path.shown().to_string(),
        expected: "a number".to_owned(),
        saw: text.trim().to_owned(),
    })
}

/// Reads `c_max` from arcstats: lines of name, type, value.
fn limit(stats: &Path) -> Result<u64, ActError> {
    let text = std::fs::read_to_string(stats).map_err(ActError::io("read", stats))?;
    let value = |line: &str| line.strip_prefix("c_max ")?.split_whitespace().nth(1)?.parse().ok();
    text.lines().find_map(value).ok_or_else(|| ActError::Unverified {
        what: stats.shown().to_string(),
        expected: "a line c_max".to_owned(),
        saw: "none".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn the_limit_in_force_is_read_from_arcstats() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("arcstats");
        let text = "13 1 0x01 123 33456 1 2\nname                            type data\n\
                    c                               4    1000\nc_max                           4    1051000832\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(limit(&path).unwrap(), 1_051_000_832);
        std::fs::write(&path, "nothing\n").unwrap();
        assert!(limit(&path).is_err());
    }
}
