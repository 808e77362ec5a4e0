//! The journal of one run, open for changes.

use super::line::{Content, Entry, FORMAT, JournalLine, parse};
use crate::act::{Act, Doing};
use crate::error::{ActError, JournalError, UndoError};
use crate::machine::{Machine, Phase, Point};
use crate::sync::sync_dir;
use host::StateAccess;
use record::id::RunId;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a lock may outlive its process: a child that it just forked holds the lock until its exec.
pub(crate) const LOCK_OUTLIVES: Duration = Duration::from_secs(2);

/// The journal of one run. It is locked while this exists: no other process can act for the run or undo it.
#[derive(Debug)]
pub struct Journal {
    run: RunId,
    path: PathBuf,
    file: File,
    boot_id: String,
    last_owner: Option<u32>,
    open: Vec<Entry>,
    next_step: u32,
    corrupt: Vec<JournalError>,
}

/// A position in a journal to which it can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(super) u32);

impl Journal {
    /// Opens the journal of a run without a time budget. It must be new or fully undone.
    ///
    /// # Errors
    /// When another process has it locked, an act in it isn't undone, or it can't be read or created.
    pub fn open(machine: &Machine<'_>, run: &RunId) -> Result<Self, JournalError> {
        Self::open_until(machine, run, None)
    }

    /// The same for a run whose time budget is spent at `ends_unix_s`, in seconds since 1970.
    ///
    /// # Errors
    /// As above.
    pub fn open_until(
        machine: &Machine<'_>,
        run: &RunId,
        ends_unix_s: Option<u64>,
    ) -> Result<Self, JournalError> {
        for dir in
            [machine.state_dir.to_owned(), machine.journal_dir(), machine.volumes_dir(), machine.mounts_dir()]
        {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
            made.map_err(io_error("make", &dir))?;
            // The directory entry must survive a power cut too.
            let parent = dir.parent().unwrap_or(Path::new("/"));
            sync_dir(parent).map_err(io_error("sync", parent))?;
        }
        let journal = Self::lock(machine, run, true)?;
        let mut journal = journal.ok_or_else(|| {
            io_error("make", &machine.journal_dir())(io::Error::from(io::ErrorKind::NotFound))
        })?;
        if let Some(error) = journal.corrupt.pop() {
            return Err(error);
        }
        if !journal.open.is_empty() {
            return Err(JournalError::Unfinished { run: run.clone(), acts: journal.open.len() });
        }
        let session = JournalLine::Session {
            format: FORMAT,
            run: run.clone(),
            prefix: machine.prefix.to_owned(),
            boot_id: journal.boot_id.clone(),
            pid: std::process::id(),
            ends_unix_s,
        };
        journal.append(&session)?;
        Ok(journal)
    }

    /// Opens and locks the journal as it is; `None` when there is none and none is to be created.
    pub(super) fn lock(
        machine: &Machine<'_>,
        run: &RunId,
        create: bool,
    ) -> Result<Option<Self>, JournalError> {
        if machine.state_dir.exists() {
            host::only_ours_in(machine.state_dir).map_err(|source| JournalError::Unsafe { source })?;
        }
        let path = machine.journal_dir().join(format!("{run}.jsonl"));
        let end = Instant::now() + LOCK_OUTLIVES;
        loop {
            let access = if create { StateAccess::ChangeOrMake } else { StateAccess::Change };
            // The undo may run programs and remove files, so no other user may have written the journal.
            let mut file = match host::open_trusted(&path, access) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound && !create => return Ok(None),
                Err(error) => return Err(not_opened(&path, error)),
            };
            let locked = file.try_lock();
            let mut text = Vec::new();
            file.read_to_end(&mut text).map_err(io_error("read", &path))?;
            let content = parse(&String::from_utf8_lossy(&text), &path, run, machine.prefix)?;
            match locked {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let owner_is_gone = content.pid.is_some_and(|pid| !is_there(machine, pid));
                    if owner_is_gone && Instant::now() < end {
                        std::thread::sleep(Duration::from_millis(10));
                        continue;
                    }
                    return Err(JournalError::Locked { run: run.clone(), pid: content.pid });
                }
                Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
            }
            // Its owner may have finished and removed it between our open and our lock.
            if !is_still(&file, &path).map_err(io_error("look at", &path))? {
                continue;
            }
            sync_dir(&machine.journal_dir()).map_err(io_error("sync", machine.journal_dir().as_path()))?;
            return Self::from_content(machine, run, path, file, content).map(Some);
        }
    }

    fn from_content(
        machine: &Machine<'_>,
        run: &RunId,
        path: PathBuf,
        mut file: File,
        content: Content,
    ) -> Result<Self, JournalError> {
        // Cut off a torn line, so that the next one starts on its own.
        file.set_len(content.whole_bytes).map_err(io_error("truncate", &path))?;
        file.seek(SeekFrom::End(0)).map_err(io_error("seek in", &path))?;
        let boot = machine.roots.proc.join("sys/kernel/random/boot_id");
        let boot_id = std::fs::read_to_string(&boot).map_err(io_error("read", &boot))?.trim().to_owned();
        let Content { open, next_step, corrupt, pid: last_owner, .. } = content;
        Ok(Self { run: run.clone(), path, file, boot_id, last_owner, open, next_step, corrupt })
    }

    /// The path of the journal, if no process wrote its beginning: an empty or cut file.
    pub(super) fn beheaded(&self) -> Option<PathBuf> {
        self.last_owner.is_none().then(|| self.path.clone())
    }

    /// The run of this journal.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The current position: an undo to it reverts everything done from now on.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.next_step)
    }

    /// The number of acts that aren't undone.
    #[must_use]
    pub fn open_acts(&self) -> usize {
        self.open.len()
    }

    /// The acts that aren't undone, in words, the oldest first.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        self.open.iter().map(|entry| entry.act.to_string()).collect()
    }

    /// The number of the next act.
    pub(crate) fn next_step(&self) -> u32 {
        self.next_step
    }

    /// Writes the intent, does the act, and writes that it is done.
    pub(crate) fn perform(&mut self, act: &Act, doing: &mut Doing<'_>) -> Result<(), ActError> {
        self.perform_with(act, doing, |doing| act.perform(doing))
    }

    /// The same for an act that returns a value to the caller.
    pub(crate) fn perform_with<T>(
        &mut self,
        act: &Act,
        doing: &mut Doing<'_>,
        how: impl FnOnce(&mut Doing<'_>) -> Result<T, ActError>,
    ) -> Result<T, ActError> {
        let machine = *doing.machine;
        let step = self.next_step;
        let point = |phase| Point { step, phase, act: act.name() };
        machine.hooks.at(&point(Phase::BeforeIntent))?;
        self.append(&JournalLine::Intent { step, act: act.clone() }).map_err(journal_failed)?;
        self.next_step += 1;
        self.open.push(Entry { step, act: act.clone(), boot_id: self.boot_id.clone() });
        machine.hooks.at(&point(Phase::AfterIntent))?;
        match how(doing) {
            Ok(made) => {
                machine.hooks.at(&point(Phase::AfterAct))?;
                self.append(&JournalLine::Done { step }).map_err(journal_failed)?;
                Ok(made)
            }
            Err(error @ (ActError::LoopTaken { .. } | ActError::KnobTaken { .. })) => {
                // Something else has its place, which we must never undo.
                self.undone(step).map_err(journal_failed)?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the journal, in which no act is left. Lines that can't be read keep it.
    pub(super) fn remove(mut self, machine: &Machine<'_>) -> Result<(), UndoError> {
        if let Some(error) = self.corrupt.pop() {
            return Err(UndoError::Journal { run: self.run, source: error });
        }
        let removed = std::fs::remove_file(&self.path).and_then(|()| sync_dir(&machine.journal_dir()));
        let run = self.run.clone();
        removed.map_err(|e| UndoError::Journal { run, source: io_error("remove", &self.path)(e) })
    }

    pub(super) fn undone(&mut self, step: u32) -> Result<(), JournalError> {
        self.append(&JournalLine::Undone { step })?;
        self.open.retain(|entry| entry.step != step);
        Ok(())
    }

    pub(super) fn boot_id(&self) -> &str {
        &self.boot_id
    }

    /// The last process that acted before this one.
    pub(super) fn last_owner(&self) -> Option<u32> {
        self.last_owner
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.open
    }

    fn append(&mut self, line: &JournalLine) -> Result<(), JournalError> {
        let failed = |error| io_error("write", &self.path)(error);
        let mut text = serde_json::to_vec(line).map_err(|error| failed(io::Error::other(error)))?;
        text.push(b'\n');
        let begin = self.file.stream_position().map_err(failed)?;
        // An undo doesn't use `Done` lines, so these may be lost.
        let durable = !matches!(line, JournalLine::Done { .. });
        let sync = || if durable { self.file.sync_data() } else { Ok(()) };
        let written = (&self.file).write_all(&text).and_then(|()| sync());
        if let Err(error) = written {
            // The disk is full: remove the torn line, so that later ones can be read.
            let _ = self.file.set_len(begin);
            let _ = self.file.seek(SeekFrom::Start(begin));
            return Err(failed(error));
        }
        Ok(())
    }
}

fn journal_failed(error: JournalError) -> ActError {
    ActError::Journal { source: Box::new(error) }
}

fn io_error<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> JournalError + 'a {
    move |source| JournalError::Io { doing, path: path.to_owned(), source }
}

fn not_opened(path: &Path, error: io::Error) -> JournalError {
    match host::untrusted_by(&error) {
        Some(why) => JournalError::Foreign { path: path.to_owned(), what: why.to_string() },
        None => io_error("open", path)(error),
    }
}

fn is_there(machine: &Machine<'_>, pid: u32) -> bool {
    machine.roots.proc.join(pid.to_string()).exists()
}

fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
