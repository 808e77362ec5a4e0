//! What a witness says against touching a disk.

use record::printable::printable;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Who is asked before a disk is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The owner: has he claimed this very disk?
    Claim,
    /// The disk's own name: does it have one, is it the only one of that name, is it still the same disk?
    Identity,
    /// Mount tables of all mount namespaces that can be seen, and btrfs's list of its members.
    Mounts,
    /// What is stacked on it: device mapper, md, bcache, loop devices.
    Holders,
    /// Active swap.
    Swap,
    /// The file system this machine runs from.
    Root,
    /// The kernel's partitions.
    Partitions,
    /// What is written on it: libblkid, and a look of our own.
    Signature,
    /// The kernel's read-only flag.
    ReadOnly,
    /// Its size.
    Size,
    /// The kernel's exclusive open.
    Exclusive,
    /// Processes that have it open for writing.
    Openers,
    /// Another diskproof.
    Lock,
    /// For a loop device of our own: the file under it.
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

/// One witness's objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dissent {
    /// Who objects.
    pub witness: Check,
    /// Whether the witness could be heard. One that couldn't be heard counts as objecting.
    pub heard: bool,
    /// What it saw, or why it couldn't be heard.
    pub saw: String,
    /// What to do.
    pub remedy: String,
}

/// Mount points, names of processes and labels are text of strangers, and a line of a refusal is ours.
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
        let unheard = if self.heard { "" } else { "could not be heard: " };
        write!(f, "{}: {unheard}{}; {}", self.witness, self.saw, self.remedy)
    }
}

/// A disk that may not be touched, and everyone who says so. Nothing was written to it.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
pub struct Refusal {
    /// The disk, as it was asked for and as it is.
    pub disk: String,
    /// Every objection.
    pub dissent: Vec<Dissent>,
}

impl Refusal {
    pub(crate) fn of(disk: impl Into<String>, dissent: Vec<Dissent>) -> Self {
        Self { disk: one_line(disk), dissent }
    }

    /// Whether a witness is among the dissenters.
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
