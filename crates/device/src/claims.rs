//! The owner's word: which disks diskproof may erase. Kept in `claims.json` in the state directory.

use crate::candidate::Candidate;
use crate::identity::{Identity, Strength};
use record::printable::Shown as _;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// The format this build writes.
///
/// * 1.0: first.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };
const FILE: &str = "claims.json";
const STICKY: u32 = 0o1000;

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
    #[error("{} belongs to user {uid} or may be written by others; chown root and chmod go-w it, then check every claim", .path.shown())]
    Untrusted {
        /// Which file.
        path: PathBuf,
        /// Its owner.
        uid: u32,
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
        let failed = |source| BookError::Read { path: path.clone(), source };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, claims: Vec::new(), newer: None });
            }
            Err(error) => return Err(failed(error)),
        };
        only_ours(&path, 0).map_err(failed)??;
        if rustix::process::geteuid().is_root() {
            // In a directory that others may write, the file can be exchanged; not so where the sticky bit is set.
            let dir = path.parent().unwrap_or(Path::new("/"));
            only_ours(dir, STICKY).map_err(failed)??;
        }
        #[derive(Deserialize)]
        struct Head {
            format: FormatVersion,
        }
        let damaged = |source| BookError::Damaged { path: path.clone(), source };
        let head: Head = serde_json::from_str(&text).map_err(damaged)?;
        if !FORMAT.reads(head.format) {
            return Err(BookError::Version { path, found: head.format });
        }
        let document: Document = serde_json::from_str(&text).map_err(damaged)?;
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
    /// The disk has no identity, or the book can't be read again or written.
    pub fn claim(&mut self, disk: &Candidate) -> Result<Claim, BookError> {
        let identity = disk.identity().clone();
        let strength = identity.strength();
        if strength == Strength::None {
            return Err(BookError::Nameless { disk: disk.to_string() });
        }
        let mut names = disk.ids().to_vec();
        if names.is_empty() {
            names.push(disk.path().to_string_lossy().into_owned());
        }
        let claim = Claim { identity, strength, names, claimed_unix_ms: now_ms() };
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
        fs::create_dir_all(dir).map_err(failed)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.with_extension("lock"))
            .map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut now = Self::read(path.clone())?;
        if let Some(found) = now.newer {
            return Err(BookError::Version { path, found });
        }
        act(&mut now.claims)?;
        now.write(dir).map_err(failed)?;
        *self = now;
        Ok(())
    }

    fn write(&self, dir: &Path) -> io::Result<()> {
        let document = Document { format: FORMAT, claims: self.claims.clone() };
        let mut text = serde_json::to_string_pretty(&document)?;
        text.push('\n');
        let fresh = self.path.with_extension("new");
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o644).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, &self.path)?;
        File::open(dir)?.sync_all()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether nobody but us and root can write a file or directory, or a bit that makes up for it is set.
fn only_ours(path: &Path, unless: u32) -> io::Result<Result<(), BookError>> {
    let about = fs::metadata(path)?;
    let us = rustix::process::geteuid().as_raw();
    let open = about.mode() & 0o022 != 0 && about.mode() & unless == 0;
    if open || (about.uid() != us && about.uid() != 0) {
        return Ok(Err(BookError::Untrusted { path: path.to_path_buf(), uid: about.uid() }));
    }
    Ok(Ok(()))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
