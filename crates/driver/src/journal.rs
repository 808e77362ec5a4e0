//! The controller's journal of what drivers create: one file for each claim, written before the driver is asked, and removed when nothing
//! of it is left. Whoever holds a claim's lock may change it; the driver that works on it holds the lock too, also after its controller died.

use crate::protocol::{Answer, Claim, Created, Left, MachineRequest, Resource, Settings};
use host::{StateAccess, TrustError, TrustedDir, open_trusted};
use record::printable::Shown as _;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
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
    /// The account that they are in, as the driver told it; `None`: it tells none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
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
    #[error(
        "{} is damaged: `diskproof machines leftovers` finds by its tags what the claim has, if drivers.yaml names the driver; remove that, \
         and then the file",
        .path.shown()
    )]
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
    is_begun_here: bool,
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
        let lock = self.lock(&dir, &lock_name(&entry.claim.id))?;
        let held = Held { folder: self.folder.clone(), dir, lock, entry, is_begun_here: true };
        held.write()?;
        Ok(held)
    }

    /// Locks a file. [`Self::tidy`] may remove it between its opening and its lock; then it is made again.
    fn lock(&self, dir: &TrustedDir, name: &str) -> Result<File, JournalError> {
        let path = self.folder.join(name);
        let io = |source| JournalError::Io { path: path.clone(), source };
        loop {
            let lock = dir.lock(name)?;
            let own = lock.metadata().map_err(io)?;
            match std::fs::symlink_metadata(&path) {
                Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => return Ok(lock),
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(io(source)),
                _ => {}
            }
        }
    }

    /// All claims that can be read, the oldest first, and for each file that can't be read why: a damaged one must not hide the others.
    #[must_use]
    pub fn entries(&self) -> (Vec<Entry>, Vec<JournalError>) {
        let io = |source| JournalError::Io { path: self.folder.clone(), source };
        let files = match std::fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (Vec::new(), Vec::new()),
            Err(source) => return (Vec::new(), vec![io(source)]),
        };
        let (mut all, mut unreadable) = (Vec::new(), Vec::new());
        for file in files {
            let name = match file {
                Ok(file) => file.file_name(),
                Err(source) => {
                    unreadable.push(io(source));
                    continue;
                }
            };
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
            match self.read(id) {
                Ok(entry) => all.extend(entry),
                Err(error) => unreadable.push(error),
            }
        }
        all.sort_by(|a, b| (a.begun, &a.claim.id).cmp(&(b.begun, &b.claim.id)));
        (all, unreadable)
    }

    /// Removes files of claims that have no entry: what a kill left. Files that another process works on stay.
    ///
    /// # Errors
    /// The folder can't be read, or a file can't be removed.
    pub fn tidy(&self) -> Result<(), JournalError> {
        let io = |source| JournalError::Io { path: self.folder.clone(), source };
        let files = match std::fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(io(source)),
        };
        let mut ids = BTreeSet::new();
        for file in files {
            let name = file.map_err(io)?.file_name();
            if let Some((id, _)) = name.to_str().and_then(|name| name.split_once('.')) {
                ids.insert(id.to_owned());
            }
        }
        for id in ids {
            if self.folder.join(file_name(&id)).exists() {
                continue;
            }
            let lock = open_trusted(&self.folder.join(lock_name(&id)), StateAccess::ChangeOrMake);
            let Ok(lock) = lock else { continue };
            // Whoever begins this claim holds its lock.
            if lock.try_lock().is_ok() && !self.folder.join(file_name(&id)).exists() {
                remove_files(&self.folder, &id)?;
            }
        }
        Ok(())
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
        let dir = TrustedDir::open(&self.folder)?;
        let held = Held { folder: self.folder.clone(), dir, lock, entry, is_begun_here: false };
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

    /// Whether this process began the claim, so that it has the credentials of whoever created its machines.
    #[must_use]
    pub fn is_begun_here(&self) -> bool {
        self.is_begun_here
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

    /// Notes the account that the claim is in, unless it is known.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn note_account(&mut self, account: Option<&str>) -> Result<(), JournalError> {
        match account {
            Some(account) if self.entry.account.is_none() => {
                self.entry.account = Some(account.to_owned());
                self.write()
            }
            _ => Ok(()),
        }
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

    /// Ends the claim, whatever exists of it.
    ///
    /// # Errors
    /// A file can't be removed.
    pub fn give_up(self) -> Result<(), JournalError> {
        self.end()
    }

    /// Removes the claim with its keys. The entry goes first: without it, the other files mean nothing.
    fn end(self) -> Result<(), JournalError> {
        remove_files(&self.folder, &self.entry.claim.id)?;
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
            account: None,
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

/// Removes the files of a claim. The entry goes first: without it, the others mean nothing. The lock goes last.
fn remove_files(folder: &Path, id: &str) -> Result<(), JournalError> {
    let replaced = ["json", "ssh", "hosts", "run"].map(|kind| format!("{id}.{kind}"));
    // Whoever was killed while it replaced a file left the new one beside it.
    let new = replaced.clone().map(|name| format!("{name}.new"));
    let keys = [format!("{id}.key"), format!("{id}.key.pub")];
    for name in replaced.into_iter().chain(new).chain(keys).chain([lock_name(id)]) {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(JournalError::Io { path, source }),
        }
    }
    Ok(())
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
        assert!(journal.entries().0.is_empty());
        let mut held = journal.begin(entry("aa")).unwrap();
        assert_eq!(serde_json::Value::Object(held.entry().settings.clone()), json!({ "region": "x" }));
        for (id, exists) in [("v1", true), ("v1", true), ("v2", true), ("v1", false)] {
            held.note(&volume(id), exists).unwrap();
        }
        let busy = journal.take("aa", Duration::ZERO);
        assert!(journal.is_held("aa") && matches!(busy, Err(JournalError::Busy { .. })));
        drop(held);
        // A process that another test starts has the lock, too, until it becomes another program.
        let held = journal.take("aa", Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(held.entry().resources, [volume("v2")]);
        let left = Left { resource: volume("v3"), why: "in use".to_owned() };
        let left = held.destroyed(Answer::Destroyed { removed: vec![], left: vec![left] }).unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(journal.entries().0[0].resources, [volume("v3")]);
        let held = journal.take("aa", Duration::from_secs(60)).unwrap().unwrap();
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
        assert_eq!(journal.entries().0[0].begun, 5);
        std::fs::write(&path, old.replace(r#""major":1"#, r#""major":9"#)).unwrap();
        assert!(matches!(journal.entries().1.as_slice(), [JournalError::Version { .. }]));
    }

    #[test]
    fn what_a_kill_left_without_a_claim_goes_and_claims_stay() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        journal.tidy().unwrap();
        drop(journal.begin(entry("aa")).unwrap());
        let at = |name: &str| dir.path().join("created").join(name);
        for name in [
            "bb.lock",
            "cc.key",
            "cc.key.pub",
            "cc.ssh.new",
            "cc.hosts.new",
            "cc.run.new",
            "dd.lock",
            "dd.json.new",
        ] {
            std::fs::write(at(name), "").unwrap();
        }
        // Another process begins this one.
        let begins = std::fs::File::open(at("dd.lock")).unwrap();
        begins.lock().unwrap();
        journal.tidy().unwrap();
        let mut left: Vec<String> = std::fs::read_dir(at(""))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["aa.json", "aa.lock", "dd.json.new", "dd.lock"]);
    }

    #[test]
    fn a_damaged_file_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        drop(journal.begin(entry("aa")).unwrap());
        drop(journal.begin(entry("bb")).unwrap());
        std::fs::write(dir.path().join("created/aa.json"), "{").unwrap();
        let (entries, unreadable) = journal.entries();
        assert_eq!(entries.iter().map(|entry| entry.claim.id.as_str()).collect::<Vec<_>>(), ["bb"]);
        assert!(matches!(unreadable.as_slice(), [JournalError::Damaged { .. }]), "{unreadable:?}");
    }
}
