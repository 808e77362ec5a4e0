//! The controller's journal of what drivers create: one file for each claim, written before the driver is asked, and removed when nothing
//! of it is left. Whoever holds a claim's lock may change it; the driver that works on it holds the lock too, also after its controller died.

use crate::protocol::{Answer, Claim, Created, Left, MachineRequest, Resource, Settings};
use host::{StateAccess, TrustError, TrustedDir, open_trusted};
use record::printable::Shown as _;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The folder in the state directory.
const FOLDER: &str = "created";
/// The format of the files.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// A claim in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The file's format.
    pub format: FormatVersion,
    /// The claim.
    pub claim: Claim,
    /// The experiment's name, for people.
    pub experiment: String,
    /// The driver.
    pub driver: String,
    /// The settings that `destroy`, `status` and `list` need.
    pub settings: Settings,
    /// What was asked for.
    pub machines: Vec<MachineRequest>,
    /// The target of each machine.
    pub targets: Vec<String>,
    /// When `create` was first asked, in seconds since 1970 (UTC).
    pub begun: u64,
    /// What `create` answered; empty: it has not answered.
    #[serde(default)]
    pub created: Vec<Created>,
    /// What exists, as far as the driver has told.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// Whether the machines stay after the command that created them: `undo` leaves them alone until their deadline.
    #[serde(default)]
    pub kept: bool,
    /// The process that last held the claim.
    #[serde(default)]
    pub process: u32,
    /// How far they are, for the verbs: `converge` and `verify` note what they did.
    #[serde(default)]
    pub stage: Stage,
}

/// How far created machines are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// `create` has begun and not ended.
    #[default]
    Begun,
    /// The machines exist.
    Created,
    /// They are provisioned.
    Converged,
    /// Trials ran on them.
    Verified,
}

impl Stage {
    /// The stage in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Created => "created",
            Self::Converged => "converged",
            Self::Verified => "verified",
        }
    }
}

/// Why the journal can't be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// It can't be read or written.
    #[error("the journal of created machines: {}", .path.shown())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others could have written it.
    #[error("the journal of created machines can't be trusted")]
    Trust(#[from] TrustError),
    /// It can't be parsed.
    #[error("{} is damaged; `diskproof machines leftovers` finds by their tags what it names", .path.shown())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// A newer program wrote it.
    #[error("{} has format {found}, this diskproof writes {FORMAT}; use the newer diskproof", .path.shown())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: FormatVersion,
    },
    /// Another process works on the claim.
    #[error(
        "the machines of run {run} (claim {id}) are in use by another diskproof, or their driver still works; wait for it"
    )]
    Busy {
        /// The claim's id.
        id: String,
        /// The run.
        run: String,
    },
}

/// The journal.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
}

/// A claim whose lock this process holds.
#[derive(Debug)]
pub struct Held {
    folder: PathBuf,
    dir: TrustedDir,
    lock: File,
    entry: Entry,
}

impl Journal {
    /// The journal of a state directory. It is made when the first claim is.
    #[must_use]
    pub fn of(state_dir: &Path) -> Self {
        Self { folder: state_dir.join(FOLDER) }
    }

    /// Makes a claim: durable when this returns, before anything is created.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn begin(&self, entry: Entry) -> Result<Held, JournalError> {
        let io = |source| JournalError::Io { path: self.folder.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(io)?;
        let dir = TrustedDir::open(&self.folder)?;
        let lock = dir.lock(&lock_name(&entry.claim.id))?;
        let held = Held { folder: self.folder.clone(), dir, lock, entry };
        held.write()?;
        Ok(held)
    }

    /// All claims, the oldest first.
    ///
    /// # Errors
    /// A file can't be read, or a newer program wrote it.
    pub fn entries(&self) -> Result<Vec<Entry>, JournalError> {
        let io = |source| JournalError::Io { path: self.folder.clone(), source };
        let files = match std::fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io(source)),
        };
        let mut all = Vec::new();
        for file in files {
            let name = file.map_err(io)?.file_name();
            if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) {
                all.extend(self.read(id)?);
            }
        }
        all.sort_by(|a, b| (a.begun, &a.claim.id).cmp(&(b.begun, &b.claim.id)));
        Ok(all)
    }

    fn read(&self, id: &str) -> Result<Option<Entry>, JournalError> {
        #[derive(Deserialize)]
        struct Head {
            format: FormatVersion,
        }
        let path = self.folder.join(file_name(id));
        let Some(text) = TrustedDir::open(&self.folder)?.read(&file_name(id))? else { return Ok(None) };
        let damaged = |source| JournalError::Damaged { path: path.clone(), source };
        let head: Head = serde_json::from_str(&text).map_err(damaged)?;
        if !FORMAT.reads(head.format) {
            return Err(JournalError::Version { path, found: head.format });
        }
        serde_json::from_str(&text).map(Some).map_err(damaged)
    }

    /// Whether another process holds a claim.
    #[must_use]
    pub fn is_held(&self, id: &str) -> bool {
        let lock = open_trusted(&self.folder.join(lock_name(id)), StateAccess::Change);
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Takes a claim over; waits up to `patience` for another process or for a driver that outlived its controller. `None`: it is gone.
    ///
    /// # Errors
    /// Another process holds it, or the files can't be read.
    pub fn take(&self, id: &str, patience: Duration) -> Result<Option<Held>, JournalError> {
        let path = self.folder.join(lock_name(id));
        let io = |source| JournalError::Io { path: path.clone(), source };
        let Some(entry) = self.read(id)? else { return Ok(None) };
        let lock = open_trusted(&path, StateAccess::ChangeOrMake).map_err(io)?;
        let until = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(JournalError::Busy { id: id.to_owned(), run: entry.claim.run });
                }
                Err(TryLockError::Error(source)) => return Err(io(source)),
            }
        }
        // Who had the lock may have changed or removed it.
        let Some(mut entry) = self.read(id)? else { return Ok(None) };
        entry.process = std::process::id();
        let held = Held { folder: self.folder.clone(), dir: TrustedDir::open(&self.folder)?, lock, entry };
        held.write()?;
        Ok(Some(held))
    }

    /// The private key that logs in to a claim's machines.
    #[must_use]
    pub fn key(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.key"))
    }

    /// The file that ssh reads for a claim's machines.
    #[must_use]
    pub fn ssh_config(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.ssh"))
    }

    /// The file that ssh reads in a run whose first claim this is: the machines of all its claims, and the user's own.
    #[must_use]
    pub fn run_config(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.run"))
    }

    /// The host keys of a claim's machines.
    #[must_use]
    pub fn known_hosts(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.hosts"))
    }
}

impl Held {
    /// The claim.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The locked file; a driver that gets its request in it holds the lock too.
    #[must_use]
    pub fn lock(&self) -> &File {
        &self.lock
    }

    /// Notes that a resource exists, or is gone.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn note(&mut self, resource: &Resource, exists: bool) -> Result<(), JournalError> {
        let known = self
            .entry
            .resources
            .iter()
            .position(|known| known.kind == resource.kind && known.id == resource.id);
        match (known, exists) {
            (None, true) => self.entry.resources.push(resource.clone()),
            (Some(at), false) => drop(self.entry.resources.remove(at)),
            _ => return Ok(()),
        }
        self.write()
    }

    /// Changes the entry.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn change(&mut self, act: impl FnOnce(&mut Entry)) -> Result<(), JournalError> {
        act(&mut self.entry);
        self.write()
    }

    /// Notes what `destroy` answered: the claim ends if nothing is left. Returns what is left.
    ///
    /// # Errors
    /// The file can't be written or removed.
    pub fn destroyed(mut self, answer: Answer) -> Result<Vec<Left>, JournalError> {
        let Answer::Destroyed { left, .. } = answer else { return Ok(Vec::new()) };
        if left.is_empty() {
            self.end()?;
        } else {
            self.entry.resources = left.iter().map(|left| left.resource.clone()).collect();
            self.write()?;
        }
        Ok(left)
    }

    /// Removes the claim with its keys. The entry goes first: without it, the other files mean nothing.
    fn end(self) -> Result<(), JournalError> {
        let id = &self.entry.claim.id;
        for name in [
            file_name(id),
            format!("{id}.key"),
            format!("{id}.key.pub"),
            format!("{id}.ssh"),
            format!("{id}.hosts"),
            format!("{id}.run"),
            lock_name(id),
        ] {
            let path = self.folder.join(name);
            match std::fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(JournalError::Io { path, source }),
            }
        }
        let synced = File::open(&self.folder).and_then(|dir| dir.sync_all());
        synced.map_err(|source| JournalError::Io { path: self.folder.clone(), source })
    }

    fn write(&self) -> Result<(), JournalError> {
        let path = self.folder.join(file_name(&self.entry.claim.id));
        let text = serde_json::to_string_pretty(&self.entry).map_err(io::Error::from);
        let text = text.map_err(|source| JournalError::Io { path, source })?;
        Ok(self.dir.replace(&file_name(&self.entry.claim.id), &format!("{text}\n"))?)
    }
}

impl Entry {
    /// Whether the process that held the claim is gone. Another process may have its number by now, which then looks alive.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.process != std::process::id() && !Path::new("/proc").join(self.process.to_string()).exists()
    }

    /// A claim that has nothing yet.
    #[must_use]
    pub fn new(
        claim: Claim,
        experiment: &str,
        driver: &str,
        machines: Vec<MachineRequest>,
        begun: u64,
    ) -> Self {
        Self {
            format: FORMAT,
            settings: common(&machines),
            claim,
            experiment: experiment.to_owned(),
            driver: driver.to_owned(),
            machines,
            targets: Vec::new(),
            begun,
            created: Vec::new(),
            resources: Vec::new(),
            kept: false,
            process: std::process::id(),
            stage: Stage::Begun,
        }
    }
}

/// The settings on which all machines agree.
#[must_use]
pub fn common(machines: &[MachineRequest]) -> Settings {
    let Some((first, others)) = machines.split_first() else { return Settings::new() };
    let agreed = |key: &String, value: &serde_json::Value| {
        others.iter().all(|other| other.settings.get(key) == Some(value))
    };
    first
        .settings
        .iter()
        .filter(|(key, value)| agreed(key, value))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

fn file_name(id: &str) -> String {
    format!("{id}.json")
}

fn lock_name(id: &str) -> String {
    format!("{id}.lock")
}

#[cfg(test)]
mod tests {
    use super::{Entry, Journal, JournalError};
    use crate::protocol::{Answer, Claim, Left, MachineRequest, Resource, ResourceKind};
    use serde_json::json;
    use std::time::Duration;

    fn entry(id: &str) -> Entry {
        let claim = Claim { id: id.to_owned(), run: "r".to_owned(), deadline: 9 };
        let machine = |name: &str, kind: &str| MachineRequest {
            name: name.to_owned(),
            settings: json!({ "region": "x", "type": kind }).as_object().cloned().unwrap(),
            volumes: Vec::new(),
        };
        Entry::new(claim, "e", "d", vec![machine("a", "1"), machine("b", "2")], 5)
    }

    fn volume(id: &str) -> Resource {
        Resource { kind: ResourceKind::Volume, id: id.to_owned(), name: "n".to_owned() }
    }

    #[test]
    fn a_claim_lives_until_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        assert!(journal.entries().unwrap().is_empty());
        let mut held = journal.begin(entry("aa")).unwrap();
        assert_eq!(serde_json::Value::Object(held.entry().settings.clone()), json!({ "region": "x" }));
        held.note(&volume("v1"), true).unwrap();
        held.note(&volume("v1"), true).unwrap();
        held.note(&volume("v2"), true).unwrap();
        held.note(&volume("v1"), false).unwrap();
        assert!(journal.is_held("aa"));
        assert!(matches!(journal.take("aa", Duration::ZERO), Err(JournalError::Busy { .. })));
        drop(held);
        let held = journal.take("aa", Duration::ZERO).unwrap().unwrap();
        assert_eq!(held.entry().resources, [volume("v2")]);
        let left = Left { resource: volume("v3"), why: "in use".to_owned() };
        let left = held.destroyed(Answer::Destroyed { removed: vec![], left: vec![left] }).unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(journal.entries().unwrap()[0].resources, [volume("v3")]);
        let held = journal.take("aa", Duration::ZERO).unwrap().unwrap();
        held.destroyed(Answer::Destroyed { removed: vec![], left: vec![] }).unwrap();
        assert!(journal.take("aa", Duration::ZERO).unwrap().is_none());
        assert_eq!(std::fs::read_dir(dir.path().join("created")).unwrap().count(), 0);
    }

    #[test]
    fn a_file_of_today_is_read_and_one_of_a_newer_program_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        drop(journal.begin(entry("bb")).unwrap());
        let path = dir.path().join("created/bb.json");
        let old = r#"{"format":{"major":1,"minor":0},"claim":{"id":"bb","run":"r","deadline":9},"experiment":"e","driver":"d","settings":{},"machines":[],"targets":[],"begun":5}"#;
        std::fs::write(&path, old).unwrap();
        assert_eq!(journal.entries().unwrap()[0].begun, 5);
        std::fs::write(&path, old.replace(r#""major":1"#, r#""major":9"#)).unwrap();
        assert!(matches!(journal.entries(), Err(JournalError::Version { .. })));
    }
}
