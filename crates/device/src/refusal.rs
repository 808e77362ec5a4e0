//! The results of the guard's checks: why a disk may not be used.

use record::printable::printable;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A check before a disk is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The owner's claim: is there one on this very disk?
    Claim,
    /// The disk's identity: does it have one, is it unique, is it still the same disk?
    Identity,
    /// The mount tables of all visible mount namespaces, and the member lists of btrfs.
    Mounts,
    /// Devices stacked on it (device mapper, md, bcache, loop devices) and exports of it by the kernel's storage targets.
    Holders,
    /// Active swap.
    Swap,
    /// The root file system of this machine.
    Root,
    /// The partitions that the kernel knows.
    Partitions,
    /// Signatures on it: by libblkid and by our own search.
    Signature,
    /// The kernel's read-only flag.
    ReadOnly,
    /// Its size.
    Size,
    /// The kernel's exclusive open.
    Exclusive,
    /// Processes that have it open for writing or mapped writable.
    Openers,
    /// The lock of another diskproof.
    Lock,
    /// For a loop device of our own: its backing file.
    Backing,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claim => "claim",
            Self::Identity => "identity",
            Self::Mounts => "mounts",
            Self::Holders => "holders",
            Self::Swap => "swap",
            Self::Root => "root",
            Self::Partitions => "partitions",
            Self::Signature => "signature",
            Self::ReadOnly => "read-only",
            Self::Size => "size",
            Self::Exclusive => "exclusive open",
            Self::Openers => "open files",
            Self::Lock => "lock",
            Self::Backing => "backing file",
        })
    }
}

/// A check that failed or could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dissent {
    /// The check.
    pub witness: Check,
    /// Whether the check could be made. One that could not counts as failed.
    pub heard: bool,
    /// What it found, or why it could not be made.
    pub saw: String,
    /// The remedy.
    pub remedy: String,
}

/// Mount points, process names and labels are text of others, and must not break the lines of a refusal.
fn one_line(text: impl Into<String>) -> String {
    printable(&text.into()).into_owned()
}

impl Dissent {
    pub(crate) fn new(witness: Check, saw: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (saw, remedy) = (one_line(saw), one_line(remedy));
        Self { witness, heard: true, saw, remedy }
    }

    pub(crate) fn unheard(witness: Check, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (saw, remedy) = (one_line(why), one_line(remedy));
        Self { witness, heard: false, saw, remedy }
    }
}

impl fmt::Display for Dissent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unheard = if self.heard { "" } else { "could not be checked: " };
        write!(f, "{}: {unheard}{}; {}", self.witness, self.saw, self.remedy)
    }
}

/// A disk that may not be used, and all checks that say so. Nothing was written to it.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
pub struct Refusal {
    /// The disk, as requested and as found.
    pub disk: String,
    /// All failed checks.
    pub dissent: Vec<Dissent>,
}

impl Refusal {
    pub(crate) fn of(disk: impl Into<String>, dissent: Vec<Dissent>) -> Self {
        Self { disk: one_line(disk), dissent }
    }

    /// Whether a check is among the failed ones.
    #[must_use]
    pub fn names(&self, witness: Check) -> bool {
        self.dissent.iter().any(|d| d.witness == witness)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} may not be touched", self.disk)?;
        for dissent in &self.dissent {
            write!(f, "\n  {dissent}")?;
        }
        Ok(())
    }
}
