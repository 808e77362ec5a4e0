//! The owner's word: which disks diskproof may erase. Kept in `claims.json` in the state directory.

use crate::candidate::Candidate;
use crate::identity::{Identity, Strength};
use crate::sample::Sample;
use crate::trusted::{TrustError, TrustedDir};
use record::printable::Shown as _;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// The format this build writes.
///
/// * 1.0: first.
/// * 1.1: what was on the disk, and what its owner said about that and about processes that can't be seen.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };
const FILE: &str = "claims.json";
const LOCK: &str = "claims.lock";

/// One disk that its owner has given over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Which disk.
    pub identity: Identity,
    /// How well that tells it from others.
    pub strength: Strength,
    /// Its names in `/dev/disk/by-id` at that time; if it had none, the path it was claimed by.
    pub names: Vec<String>,
    /// When, in milliseconds since 1970 (UTC).
    pub claimed_unix_ms: u64,
    /// What its owner said beside that. Books before 1.1 don't have it.
    #[serde(flatten)]
    pub word: Word,
}

/// What an owner says about a disk when he claims it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Word {
    /// What was on it. `None`: nobody looked, or nobody could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// The data on it may be overwritten.
    #[serde(skip_serializing_if = "is_false")]
    pub overwrite_data: bool,
    /// No process that can't be seen writes to it.
    #[serde(skip_serializing_if = "is_false")]
    pub unseen_processes: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    format: FormatVersion,
    claims: Vec<Claim>,
}

/// All claims on this machine.
#[derive(Debug, Clone)]
pub struct ClaimBook {
    path: PathBuf,
    claims: Vec<Claim>,
    /// A newer build wrote it: it may be read, never rewritten.
    newer: Option<FormatVersion>,
}

/// The book of claims can't be read or written. Then nothing counts as claimed.
#[derive(Debug, Error)]
pub enum BookError {
    /// It can't be read.
    #[error("cannot read the claims in {}", .path.shown())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It can't be written.
    #[error("cannot write the claims to {}", .path.shown())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It isn't what we wrote.
    #[error("{} is damaged; move it away and claim the disks again", .path.shown())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where.
        source: serde_json::Error,
    },
    /// Another format.
    #[error("{} has format {found}, this diskproof writes {FORMAT}; use the newer diskproof", .path.shown())]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: FormatVersion,
    },
    /// Others than its owner could have written it.
    #[error("{source}, then check every claim in {}", .path.shown())]
    Untrusted {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and with what: the file, or a directory on the way to it.
        source: TrustError,
    },
    /// It is a link, a FIFO, a device...
    #[error("{source}; nothing in it counts as claimed")]
    NotAFile {
        /// What it is.
        source: TrustError,
    },
    /// There is data on the disk, or nobody could look, and the owner didn't say that it may be overwritten.
    #[error("{disk} can't be taken for blank: {saw}; say that it may be overwritten, or save it")]
    HoldsData {
        /// Which disk.
        disk: String,
        /// What was seen.
        saw: String,
    },
    /// The disk can't be told from others.
    #[error("{disk} has no serial number, no WWN and no place it is plugged in; it can't be claimed")]
    Nameless {
        /// Which disk.
        disk: String,
    },
    /// Nobody claimed it.
    #[error("{disk} is not claimed")]
    NotClaimed {
        /// Which disk.
        disk: String,
    },
}

impl ClaimBook {
    /// Reads the book in a state directory. No file is an empty book.
    ///
    /// # Errors
    /// It can't be read, is damaged, is of another major format, or others may write it.
    pub fn open(state_dir: &Path) -> Result<Self, BookError> {
        Self::read(state_dir.join(FILE))
    }

    pub(crate) fn read(path: PathBuf) -> Result<Self, BookError> {
        let dir = path.parent().unwrap_or(Path::new("/"));
        let text = TrustedDir::open(dir).and_then(|dir| dir.read(FILE));
        match text {
            Ok(Some(text)) => Self::parse(path, &text),
            Ok(None) => Ok(Self { path, claims: Vec::new(), newer: None }),
            Err(error) if error.is_not_found() => Ok(Self { path, claims: Vec::new(), newer: None }),
            Err(error) => Err(untrusted(&path, error)),
        }
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, BookError> {
        #[derive(Deserialize)]
        struct Head {
            format: FormatVersion,
        }
        let damaged = |source| BookError::Damaged { path: path.clone(), source };
        let head: Head = serde_json::from_str(text).map_err(damaged)?;
        if !FORMAT.reads(head.format) {
            return Err(BookError::Version { path, found: head.format });
        }
        let document: Document = serde_json::from_str(text).map_err(damaged)?;
        let newer = (head.format > FORMAT).then_some(head.format);
        Ok(Self { path, claims: document.claims, newer })
    }

    /// All claims.
    #[must_use]
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The claim on the disk that looks like this.
    #[must_use]
    pub fn find(&self, disk: &Identity) -> Option<&Claim> {
        self.claims.iter().find(|c| c.identity.is_same_disk(disk))
    }

    /// The claim made under a name, whatever that name leads to now.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Claim> {
        self.claims.iter().find(|c| c.names.iter().any(|n| n == name))
    }

    /// Writes down that a disk may be erased. Ask its owner first, by typed confirmation. A second claim on the same disk
    /// replaces the first. The change is durable when this returns.
    ///
    /// # Errors
    /// The disk has no identity; it holds data, or may hold some since nobody looked, and the owner didn't say that this may be
    /// overwritten; or the book can't be read again or written.
    pub fn claim(&mut self, disk: &Candidate, word: Word) -> Result<Claim, BookError> {
        let identity = disk.identity().clone();
        let strength = identity.strength();
        if strength == Strength::None {
            return Err(BookError::Nameless { disk: disk.to_string() });
        }
        if !word.overwrite_data && word.sample.as_ref().is_none_or(Sample::has_data) {
            let saw = word.sample.map_or_else(|| "nobody looked".to_owned(), |sample| sample.to_string());
            return Err(BookError::HoldsData { disk: disk.to_string(), saw });
        }
        let mut names = disk.ids().to_vec();
        if names.is_empty() {
            names.push(disk.path().to_string_lossy().into_owned());
        }
        let claim = Claim { identity, strength, names, claimed_unix_ms: now_ms(), word };
        self.change(|claims| {
            claims.retain(|c| !c.identity.is_same_disk(&claim.identity));
            for other in claims.iter_mut() {
                other.names.retain(|name| !claim.names.contains(name));
            }
            claims.push(claim.clone());
            Ok(())
        })?;
        Ok(claim)
    }

    /// Takes a claim back: by a name it was made under, or by its serial number or WWN.
    ///
    /// # Errors
    /// There is none, or the book can't be read again or written.
    pub fn unclaim(&mut self, name: &str) -> Result<Claim, BookError> {
        let matches = |claim: &Claim| {
            let identity = &claim.identity;
            claim.names.iter().any(|n| n == name)
                || [&identity.serial, &identity.wwn].into_iter().any(|n| n.as_deref() == Some(name))
        };
        let mut removed = None;
        self.change(|claims| {
            let at = claims.iter().position(matches);
            let at = at.ok_or_else(|| BookError::NotClaimed { disk: name.to_owned() })?;
            removed = Some(claims.remove(at));
            Ok(())
        })?;
        removed.ok_or_else(|| BookError::NotClaimed { disk: name.to_owned() })
    }

    /// Reads the book again under a lock, changes it, and replaces the file atomically.
    fn change(
        &mut self,
        act: impl FnOnce(&mut Vec<Claim>) -> Result<(), BookError>,
    ) -> Result<(), BookError> {
        let path = self.path.clone();
        let failed = |source| BookError::Write { path: path.clone(), source };
        let dir = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(dir).map_err(failed)?;
        let dir = TrustedDir::open(dir).map_err(|error| untrusted(&path, error))?;
        let _lock = dir.lock(LOCK).map_err(|error| untrusted(&path, error))?;
        let mut now = Self::read(path.clone())?;
        if let Some(found) = now.newer {
            return Err(BookError::Version { path, found });
        }
        act(&mut now.claims)?;
        let document = Document { format: FORMAT, claims: now.claims.clone() };
        let text = serde_json::to_string_pretty(&document).map_err(io::Error::from).map_err(failed)?;
        dir.replace(FILE, &format!("{text}\n")).map_err(|error| match error {
            TrustError::Io { source, path } => BookError::Write { path, source },
            error => untrusted(&path, error),
        })?;
        *self = now;
        Ok(())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn untrusted(path: &Path, error: TrustError) -> BookError {
    match error {
        TrustError::Io { path, source } => BookError::Read { path, source },
        source @ TrustError::Open { .. } => BookError::Untrusted { path: path.to_path_buf(), source },
        source @ TrustError::NotAFile { .. } => BookError::NotAFile { source },
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
