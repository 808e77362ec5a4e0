//! The owners' claims: which disks diskproof may overwrite. They are in `claims.json` in the state directory.

use crate::candidate::Candidate;
use crate::identity::{Identity, Strength};
use crate::sample::Sample;
use host::{TrustError, TrustedDir};
use record::printable::Shown as _;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// The format that this build writes.
///
/// * 1.0: the first version.
/// * 1.1: adds what was on the disk, and what its owner said about that and about processes that can't be seen.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };
const FILE: &str = "claims.json";
const LOCK: &str = "claims.lock";

/// A disk that its owner has claimed for diskproof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The disk's identity.
    pub identity: Identity,
    /// How reliably the identity distinguishes it from other disks.
    pub strength: Strength,
    /// Its names in `/dev/disk/by-id` at that time; if it had none, the path in the claim.
    pub names: Vec<String>,
    /// The time of the claim, in milliseconds since 1970 (UTC).
    pub claimed_unix_ms: u64,
    /// The owner's other statements. Claims files before 1.1 don't have them.
    #[serde(flatten)]
    pub word: Word,
}

/// The owner's statements in a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Word {
    /// A sample of what was on it; `None` when none was taken or it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Whether its data may be overwritten.
    #[serde(skip_serializing_if = "is_false")]
    pub overwrite_data: bool,
    /// Whether the owner says that no process outside our view writes to it.
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
    /// Set when a newer build wrote the file: then it may be read, but never rewritten.
    newer: Option<FormatVersion>,
}

/// Why the claims file can't be read or written. Then no disk counts as claimed.
#[derive(Debug, Error)]
pub enum BookError {
    /// It can't be read.
    #[error("cannot read the claims in {}", .path.shown())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It can't be written.
    #[error("cannot write the claims to {}", .path.shown())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It can't be parsed.
    #[error("{} is damaged; move it away and claim the disks again", .path.shown())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The parser's error, with its place.
        source: serde_json::Error,
    },
    /// It has an unknown format version.
    #[error("{} has format {found}, this diskproof writes {FORMAT}; use the newer diskproof", .path.shown())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: FormatVersion,
    },
    /// Other users could have written it.
    #[error("{source}, then check every claim in {}", .path.shown())]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// The problem, and its place: the file, or a directory above it.
        source: TrustError,
    },
    /// It is not a regular file: a link, a FIFO, a device...
    #[error("{source}; nothing in it counts as claimed")]
    NotAFile {
        /// The kind of file.
        source: TrustError,
    },
    /// The disk holds data or could not be sampled, and the owner didn't say that it may be overwritten.
    #[error(
        "{disk} doesn't look blank: {saw}; save what you need, then confirm that the rest may be overwritten"
    )]
    HoldsData {
        /// The disk.
        disk: String,
        /// The result of the sample.
        saw: String,
    },
    /// The disk has no identity that distinguishes it from others.
    #[error("{disk} has no serial number, no WWN and no known slot; it can't be claimed")]
    Nameless {
        /// The disk.
        disk: String,
    },
    /// The disk is not claimed.
    #[error("{disk} is not claimed")]
    NotClaimed {
        /// The disk.
        disk: String,
    },
}

impl ClaimBook {
    /// Reads the claims file in a state directory. A missing file is an empty one.
    ///
    /// # Errors
    /// When it can't be read, is damaged, has another major version, or other users may write it.
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

    /// The claim on the disk with this identity.
    #[must_use]
    pub fn find(&self, disk: &Identity) -> Option<&Claim> {
        self.claims.iter().find(|c| c.identity.is_same_disk(disk))
    }

    /// The claim made under a name, whatever device the name leads to now.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Claim> {
        self.claims.iter().find(|c| c.names.iter().any(|n| n == name))
    }

    /// Records that a disk may be overwritten. Ask its owner first, by typed confirmation. A second claim on the same disk
    /// replaces the first. The change is durable when this returns.
    ///
    /// # Errors
    /// When the disk has no identity; when it holds data, or may hold some because it wasn't sampled, and the owner didn't say
    /// that it may be overwritten; or when the file can't be read again or written.
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

    /// Removes a claim, by a name it was made under, or by serial number or WWN.
    ///
    /// # Errors
    /// When there is no such claim, or the file can't be read again or written.
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

    /// Reads the file again under a lock, changes it, and replaces it atomically.
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

    /// The path of the claims file.
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
