//! The lease of a run: the object `lease.json` names the controller that may go on. Each write of it has a condition, so of two
//! controllers one wins.

use super::layout::{FORMAT, lease_key, unreadable};
use super::objects::Objects;
use crate::digest::Digest;
use crate::error::ShareError;
use crate::s3::{Condition, Put};
use record::id::RunId;
use record::printable::{Shown as _, chain};
use record::version::FormatVersion;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::Store;
use thiserror::Error;

/// How far the clocks of two controllers may differ. A lease has expired for others only when this time is over, too. (S3 refuses requests
/// if a clock is wrong by more than 15 minutes.)
const CLOCKS_APART_MS: u64 = 5 * 60 * 1000;
/// Most tries to write the lease while others write it.
const TRIES: u32 = 3;

/// A moment on two clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The monotonic clock.
    pub at: Instant,
    /// UTC, milliseconds since the epoch.
    pub unix_ms: u64,
}

impl Moment {
    /// Returns the present moment.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { at: Instant::now(), unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// A controller of a run. It holds a lock: no other process with the same store is a controller of the same run.
#[derive(Debug)]
pub struct Controller {
    /// Names the machine and the store, so a controller that is started again has the same id.
    pub id: String,
    /// Names this process.
    pub session: String,
    /// The machine's name.
    pub host: String,
    lock: Option<(File, PathBuf)>,
}

impl Controller {
    /// Makes a controller without a lock, for tests.
    #[must_use]
    pub fn named(id: &str, session: &str, host: &str) -> Self {
        Self { id: id.to_owned(), session: session.to_owned(), host: host.to_owned(), lock: None }
    }

    /// Makes this process the controller of a run. Its lock file lies in `folder`.
    ///
    /// # Errors
    /// Another process of this store is a controller of the run, or the store or the lock can't be written.
    pub fn here(store: &Store, folder: &Path, run: &RunId) -> Result<Self, ShareError> {
        let path = folder.join(format!("diskproof-copy-{run}.lock"));
        let file = loop {
            let file = File::create(&path).map_err(ShareError::file("make the lock", &path))?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                return Err(ShareError::Controlled { run: run.clone(), path });
            }
            // A controller that ends removes its file. Whoever locks the removed file keeps nobody out.
            if lies_at(&file, &path) {
                break file;
            }
        };
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let host = read("/proc/sys/kernel/hostname");
        let mut whole = store.salt()?;
        whole.extend_from_slice(read("/etc/machine-id").as_bytes());
        whole.extend_from_slice(host.as_bytes());
        // A copied store has the same salt, and its controller another lock.
        let at = store.path().canonicalize().unwrap_or_else(|_| store.path().to_path_buf());
        whole.extend_from_slice(at.as_os_str().as_encoded_bytes());
        let id = Digest::of(&whole).hex()[..16].to_owned();
        let session = read("/proc/sys/kernel/random/uuid");
        if session.is_empty() {
            let source = std::io::Error::other("the kernel gives no random number");
            return Err(ShareError::file("read", "/proc/sys/kernel/random/uuid")(source));
        }
        Ok(Self { id, session, host, lock: Some((file, path)) })
    }
}

/// Whether this open file is the one at `path`.
fn lies_at(file: &File, path: &Path) -> bool {
    let same =
        |about: fs::Metadata, there: fs::Metadata| (about.dev(), about.ino()) == (there.dev(), there.ino());
    file.metadata().and_then(|about| Ok(same(about, fs::metadata(path)?))).unwrap_or(false)
}

impl Drop for Controller {
    /// Removes the lock file while it is locked. A file that stays does no harm: nobody locks it.
    fn drop(&mut self) {
        if let Some((_, path)) = &self.lock {
            let _ = fs::remove_file(path);
        }
    }
}

/// Which controller may go on with a run, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Version of this format.
    pub format: FormatVersion,
    /// [`Controller::id`].
    pub controller: String,
    /// [`Controller::session`].
    pub session: String,
    /// The controller's machine.
    pub host: String,
    /// When it was renewed last, on the clock of `host`: UTC, milliseconds since the epoch.
    pub renewed_unix_ms: u64,
    /// When it expires, on the same clock. A lease that was given back has a time that is not after `renewed_unix_ms`.
    pub expires_unix_ms: u64,
}

impl Lease {
    fn is_given_back(&self) -> bool {
        self.expires_unix_ms <= self.renewed_unix_ms
    }

    fn is_expired(&self, now_unix_ms: u64) -> bool {
        self.expires_unix_ms.saturating_add(CLOCKS_APART_MS) < now_unix_ms
    }
}

/// Why a controller has no lease.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// Another controller has it.
    #[error(
        "the controller on {} goes on with run {run}: it renewed its lease at {}; another one can go on after {}, or at once with --take-over, \
         if that one is dead",
        lease.host.shown(), time(lease.renewed_unix_ms), time(lease.expires_unix_ms.saturating_add(CLOCKS_APART_MS))
    )]
    Held {
        /// The run.
        run: RunId,
        /// Its lease.
        lease: Box<Lease>,
    },
    /// Another controller has taken it over.
    #[error(
        "the controller on {} has taken run {run} over at {}: this one stops, and its trials so far are kept",
        lease.host.shown(), time(lease.renewed_unix_ms)
    )]
    Lost {
        /// The run.
        run: RunId,
        /// Its lease.
        lease: Box<Lease>,
    },
    /// The destination doesn't answer, or refuses.
    #[error(transparent)]
    Share(#[from] ShareError),
}

/// How a controller got the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// No controller had it.
    Free,
    /// This controller had it already.
    Own,
    /// The lease of another controller had expired.
    Expired(Lease),
    /// Another controller had it, and the user took it over.
    TakenOver(Lease),
}

/// A controller with its lease, if it has one.
#[derive(Debug)]
pub struct Holder {
    run: RunId,
    me: Controller,
    lasts: Duration,
    etag: Option<String>,
}

impl Holder {
    /// Makes a controller without a lease. Its leases last `lasts`.
    #[must_use]
    pub fn new(run: RunId, me: Controller, lasts: Duration) -> Self {
        Self { run, me, lasts, etag: None }
    }

    pub(crate) fn set_lease(&mut self, lasts: Duration) {
        self.lasts = lasts;
    }

    /// Takes the lease if it is free, expired or this controller's own. With `take_over` it takes any lease.
    ///
    /// # Errors
    /// Another controller has it, or the destination doesn't answer.
    pub fn claim(
        &mut self,
        objects: &dyn Objects,
        now: Moment,
        take_over: bool,
    ) -> Result<Claim, LeaseError> {
        for _ in 0..TRIES {
            let (claim, condition) = match self.read(objects)? {
                // A server that ignores conditions would let both controllers win.
                None if !objects.keeps_conditions()? => {
                    return Err(ShareError::Conditions { at: lease_key(&self.run) }.into());
                }
                None => (Claim::Free, Condition::IfAbsent),
                Some((lease, etag)) => {
                    let claim = if lease.is_given_back() {
                        Claim::Free
                    } else if lease.session == self.me.session || lease.controller == self.me.id {
                        Claim::Own
                    } else if lease.is_expired(now.unix_ms) {
                        Claim::Expired(lease)
                    } else if take_over {
                        Claim::TakenOver(lease)
                    } else {
                        return Err(LeaseError::Held { run: self.run.clone(), lease: Box::new(lease) });
                    };
                    (claim, Condition::IfMatch(etag))
                }
            };
            if self.write(objects, &self.lease(now), &condition)? {
                return Ok(claim);
            }
        }
        match self.read(objects)? {
            Some((lease, _)) => Err(LeaseError::Held { run: self.run.clone(), lease: Box::new(lease) }),
            None => Err(unreadable(&lease_key(&self.run), "it comes and goes".to_owned()).into()),
        }
    }

    /// Renews the lease. A controller that never had it claims it.
    ///
    /// # Errors
    /// Another controller has taken it, or the destination doesn't answer.
    pub fn keep(&mut self, objects: &dyn Objects, now: Moment) -> Result<(), LeaseError> {
        let Some(mut etag) = self.etag.clone() else { return self.claim(objects, now, false).map(drop) };
        for _ in 0..TRIES {
            if self.write(objects, &self.lease(now), &Condition::IfMatch(etag))? {
                return Ok(());
            }
            // An earlier write may have arrived although its answer was lost.
            match self.read(objects)? {
                Some((lease, there)) if lease.session == self.me.session => etag = there,
                Some((lease, _)) => {
                    return Err(LeaseError::Lost { run: self.run.clone(), lease: Box::new(lease) });
                }
                None => {
                    self.etag = None;
                    return self.claim(objects, now, false).map(drop);
                }
            }
        }
        Err(unreadable(&lease_key(&self.run), "it changes with every look".to_owned()).into())
    }

    /// Gives the lease back, so that another controller can go on at once.
    ///
    /// # Errors
    /// The destination doesn't answer. The lease then expires by itself.
    pub fn give_back(&mut self, objects: &dyn Objects, now: Moment) -> Result<(), ShareError> {
        let Some(etag) = self.etag.clone() else { return Ok(()) };
        let mut lease = self.lease(now);
        lease.expires_unix_ms = lease.renewed_unix_ms;
        // If the condition doesn't hold, it is another's already.
        self.write(objects, &lease, &Condition::IfMatch(etag))?;
        self.etag = None;
        Ok(())
    }

    fn lease(&self, now: Moment) -> Lease {
        let lasts_ms = u64::try_from(self.lasts.as_millis()).unwrap_or(u64::MAX);
        Lease {
            format: FORMAT,
            controller: self.me.id.clone(),
            session: self.me.session.clone(),
            host: self.me.host.clone(),
            renewed_unix_ms: now.unix_ms,
            expires_unix_ms: now.unix_ms.saturating_add(lasts_ms),
        }
    }

    fn read(&self, objects: &dyn Objects) -> Result<Option<(Lease, String)>, ShareError> {
        let key = lease_key(&self.run);
        let Some(found) = objects.get(&key)? else { return Ok(None) };
        let lease: Lease = serde_json::from_slice(&found.bytes)
            .map_err(|error| unreadable(&key, format!("it is no lease ({})", chain(&error))))?;
        Ok(Some((lease, found.etag)))
    }

    /// Returns whether the condition held.
    fn write(
        &mut self,
        objects: &dyn Objects,
        lease: &Lease,
        condition: &Condition,
    ) -> Result<bool, ShareError> {
        let bytes = serde_json::to_vec_pretty(lease)
            .map_err(|error| ShareError::Pack { what: "a lease".to_owned(), source: error.into() })?;
        match objects.put(&lease_key(&self.run), &bytes, condition)? {
            Put::Done { etag } => {
                self.etag = Some(etag);
                Ok(true)
            }
            Put::Refused => Ok(false),
        }
    }
}

/// A time of day for people, in UTC.
fn time(unix_ms: u64) -> String {
    let at = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(|| "an unknown time".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::lies_at;
    use std::fs::{self, File};

    #[test]
    fn a_removed_lock_file_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = File::create(&path).unwrap();
        assert!(lies_at(&first, &path));
        fs::remove_file(&path).unwrap();
        assert!(!lies_at(&first, &path), "nothing is there");
        let second = File::create(&path).unwrap();
        assert!(!lies_at(&first, &path) && lies_at(&second, &path), "another one is there");
    }
}
