//! Kernel settings under /sys and /proc.

use super::doing::{Doing, Reversible, Undoing, Undone};
use crate::error::ActError;
use crate::kernel_file;
use crate::machine::Machine;
use device::Roots;
use record::knobs::{KnobName, KnobPlace};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a value and records the earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetKnob {
    /// The file, under /sys or /proc.
    pub path: PathBuf,
    /// The earlier value, without the newline.
    pub before: String,
    /// The new value.
    pub after: String,
    /// Other files that the kernel changes along with it, and their earlier values; they are put back after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbs: Vec<Disturbed>,
}

/// The earlier value of a file that the kernel changes along with another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbed {
    /// The file.
    pub path: PathBuf,
    /// The earlier value, without the newline.
    pub before: String,
}

impl fmt::Display for SetKnob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set {} from {} to {}", self.path.shown(), self.before, self.after)
    }
}

impl SetKnob {
    /// Records the present values; skips companion files that don't exist.
    pub(crate) fn reading(path: PathBuf, after: &str, disturbs: &[PathBuf]) -> Result<Self, ActError> {
        let before = read(&path).map_err(ActError::io("read", &path))?;
        let disturbs = disturbs
            .iter()
            .filter_map(|path| Some(Disturbed { path: path.clone(), before: read(path).ok()? }))
            .collect();
        Ok(Self { path, before, after: after.to_owned(), disturbs })
    }

    /// Whether the path is a setting that diskproof makes, of a block device or of the whole machine, and the other files are
    /// those that the kernel changes along with it.
    fn is_known(&self, roots: &Roots) -> bool {
        KnobName::ALL.iter().any(|name| {
            let is_it = match name.place() {
                KnobPlace::Machine(file) => self.path == roots.proc.join(file),
                KnobPlace::Device(file) => is_of_device(roots, &self.path, file),
            };
            let beside =
                |other: &Disturbed| name.disturbs().iter().any(|n| other.path == self.path.with_file_name(n));
            is_it && self.disturbs.iter().all(beside)
        })
    }

    fn known(&self, roots: &Roots) -> Result<(), ActError> {
        if self.is_known(roots) {
            return Ok(());
        }
        let saw = "it is not a setting that diskproof makes".to_owned();
        Err(ActError::NotOurs { what: self.path.shown().to_string(), saw })
    }

    fn beside_is_as_before(&self) -> bool {
        self.disturbs.iter().all(|other| read(&other.path).is_ok_and(|now| holds(&now, &other.before)))
    }

    /// Writes all values back. Where two settings exclude each other (e.g. bytes and ratio), the kernel refuses 0 for one;
    /// writing the other one back sets it to 0.
    fn put_back(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        let refused = kernel_file::write(machine, &self.path, selected(&self.before)).err();
        for other in &self.disturbs {
            if read(&other.path).is_ok_and(|now| !holds(&now, &other.before)) {
                let written = kernel_file::write(machine, &other.path, selected(&other.before));
                // The kernel refuses 0 for the one of two exclusive settings that isn't in force.
                if selected(&other.before) != "0" {
                    written?;
                }
            }
        }
        let saw = read(&self.path).map_err(ActError::io("read", &self.path))?;
        match refused {
            _ if holds(&saw, &self.before) => Ok(()),
            Some(error) => Err(error),
            None => Err(ActError::Unverified {
                what: self.path.shown().to_string(),
                expected: self.before.clone(),
                saw,
            }),
        }
    }
}

impl Reversible for SetKnob {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        self.known(doing.machine.roots)?;
        let refused = kernel_file::write(doing.machine, &self.path, &self.after).err();
        let saw = read(&self.path).map_err(ActError::io("read", &self.path))?;
        match refused {
            None if selected(&saw) == self.after => Ok(()),
            None => Err(ActError::Unverified {
                what: self.path.shown().to_string(),
                expected: self.after.clone(),
                saw,
            }),
            Some(ActError::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidInput => {
                Err(ActError::Unverified {
                    what: self.path.shown().to_string(),
                    expected: self.after.clone(),
                    saw: format!("{saw} (the kernel refuses the value)"),
                })
            }
            Some(error) => Err(error),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if undoing.rebooted {
            return Ok(Undone::Nothing);
        }
        if !self.path.starts_with(&undoing.machine.roots.proc) && !self.path.exists() {
            // The file is gone with its device.
            return Ok(Undone::Nothing);
        }
        self.known(undoing.machine.roots)?;
        let now = match read(&self.path) {
            Ok(now) => now,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Undone::Nothing),
            Err(error) => return Err(ActError::io("read", &self.path)(error)),
        };
        let restored = holds(&now, &self.before);
        if restored && self.beside_is_as_before() {
            return Ok(Undone::Nothing);
        }
        if !restored && selected(&now) != self.after {
            return Ok(Undone::Left(format!("somebody set it to {now} since")));
        }
        self.put_back(undoing.machine)?;
        Ok(Undone::Done)
    }
}

/// Whether a path is this file in a block device's own directory, without links.
fn is_of_device(roots: &Roots, path: &Path, file: &str) -> bool {
    let Some(dir) = path.ancestors().nth(Path::new(file).components().count()) else { return false };
    if dir.join(file) != path {
        return false;
    }
    let number = std::fs::read_to_string(dir.join("dev")).unwrap_or_default();
    let link = roots.sys.join("dev/block").join(number.trim());
    !number.trim().is_empty() && link.canonicalize().is_ok_and(|real| real == dir)
}

/// Reads a file, without the newline.
fn read(path: &Path) -> io::Result<String> {
    Ok(std::fs::read_to_string(path)?.trim_end().to_owned())
}

fn holds(now: &str, before: &str) -> bool {
    selected(now) == selected(before)
}

/// The value in force: some settings show all values and mark one, e.g. `none [mq-deadline]`.
pub(crate) fn selected(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::selected;

    #[test]
    fn the_value_in_force_is_found() {
        assert_eq!(selected("none [mq-deadline] bfq"), "mq-deadline");
        assert_eq!(selected("128"), "128");
    }
}
