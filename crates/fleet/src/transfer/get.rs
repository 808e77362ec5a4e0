//! Copies a file from machines.

use super::copied::{Copied, CopyError, LOOK, PART, words};
use super::steps::{Next, OneCopy, copy_all};
use crate::drive::Task;
use crate::link::Reach;
use host::{Input, Ssh, sha256};
use record::machine::Machine;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Prints the size and digest of a file, and the digest of its first bytes, as many as are here already.
const LOOK_THERE: &str = r#"[ -f "$0" ] || { echo "$0: no such file" >&2; exit 1; }
[ -r "$0" ] || { echo "$0: permission denied" >&2; exit 1; }; wc -c <"$0"; sha256sum <"$0"; head -c "$1" <"$0" | sha256sum"#;
/// Prints a file from a byte on, counted from 1.
const SEND: &str = r#"exec tail -c "+$1" <"$0""#;

/// Copies a file from machines. With one machine it becomes `to`, or goes into that directory; with several, each has a directory of its
/// name below `to`. `tell` gets what became of each. Returns whether it was tried on all; `false` when it was cancelled.
///
/// # Errors
/// The directory of the sockets can't be made, or the kernel refuses to wait.
pub fn get(
    machines: &[Machine],
    file: &str,
    to: &Path,
    reach: &Reach,
    fanout: usize,
    tell: &mut dyn FnMut(usize, Result<Copied, CopyError>),
    cancel: &AtomicBool,
) -> Result<bool, CopyError> {
    let here = |source| CopyError::Here { path: to.to_owned(), source };
    let name = Path::new(file).file_name().map(PathBuf::from).unwrap_or_default();
    let of = |machine: &Machine| match machines.len() {
        1 if to.is_dir() => to.join(&name),
        1 => to.to_owned(),
        _ => to.join(&machine.name).join(&name),
    };
    let copies = machines.iter().map(|machine| Far::of(file, of(machine))).collect();
    copy_all(machines, copies, reach, fanout, tell, cancel).map_err(here)
}

#[derive(Debug)]
struct Far<'f> {
    /// The file there.
    file: &'f str,
    /// Where it goes here.
    path: PathBuf,
    began: Instant,
    /// The part, while bytes arrive.
    part: Option<File>,
    wrong: Option<io::Error>,
    size: u64,
    digest: String,
    from: u64,
}

impl<'f> Far<'f> {
    fn of(file: &'f str, path: PathBuf) -> Self {
        let digest = String::new();
        Self { file, path, began: Instant::now(), part: None, wrong: None, size: 0, digest, from: 0 }
    }

    fn part(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string().into_vec();
        name.extend_from_slice(PART.as_bytes());
        PathBuf::from(std::ffi::OsString::from_vec(name))
    }

    fn here(&self, source: io::Error) -> CopyError {
        CopyError::Here { path: self.path.clone(), source }
    }

    /// Opens the part where it goes on.
    fn open(&mut self, from: u64) -> Result<(), CopyError> {
        let open = || {
            let mut part = OpenOptions::new().create(true).write(true).truncate(false).open(self.part())?;
            part.set_len(from)?;
            part.seek(SeekFrom::Start(from))?;
            Ok(part)
        };
        let part = open().map_err(|source| self.here(source))?;
        (self.part, self.from) = (Some(part), from);
        Ok(())
    }

    /// Checks the part, and puts it in place.
    fn finish(&mut self) -> Result<Copied, CopyError> {
        if let Some(error) = self.wrong.take() {
            return Err(self.here(error));
        }
        let part = self.part();
        if let Some(file) = self.part.take() {
            file.sync_all().map_err(|source| self.here(source))?;
        }
        let found =
            File::open(&part).and_then(|file| sha256(file, u64::MAX)).map_err(|source| self.here(source))?;
        if found != (self.digest.clone(), self.size) {
            let _ = std::fs::remove_file(&part);
            return Err(CopyError::Differs);
        }
        std::fs::rename(&part, &self.path).map_err(|source| self.here(source))?;
        Ok(Copied {
            bytes: self.size,
            sent_bytes: self.size - self.from,
            digest: self.digest.clone(),
            path: record::printable::Shown::shown(&self.path).to_string(),
            took: self.began.elapsed(),
        })
    }
}

impl OneCopy for Far<'_> {
    fn begin(&mut self, ssh: &Ssh) -> Result<Task, CopyError> {
        self.began = Instant::now();
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        if let Some(dir) = dir {
            std::fs::create_dir_all(dir).map_err(|source| self.here(source))?;
        }
        let have = std::fs::metadata(self.part()).map_or(0, |about| about.len());
        self.from = have;
        let call = ssh.call(&["sh", "-c", LOOK_THERE, self.file, &have.to_string()]).timeout(LOOK);
        Ok(Task { call, input: Input::None })
    }

    fn next(&mut self, ssh: &Ssh, answer: &str) -> Result<Next, CopyError> {
        if self.part.is_some() {
            return self.finish().map(Next::Whole);
        }
        let [size, digest, _, first, _] = words(answer)?;
        self.size = size.parse().map_err(|_| CopyError::There(format!("`{size}` is not a size")))?;
        digest.clone_into(&mut self.digest);
        let have = self.from;
        let own = File::open(self.part()).and_then(|file| sha256(file, have)).ok();
        let goes_on = have > 0
            && have <= self.size
            && own.is_some_and(|(digest, bytes)| bytes == have && digest == first);
        self.open(if goes_on { have } else { 0 })?;
        let begin = (self.from + 1).to_string();
        let call = ssh.call(&["sh", "-c", SEND, self.file, &begin]);
        Ok(Next::Task(Task { call, input: Input::None }))
    }

    fn takes(&mut self, bytes: &[u8]) -> bool {
        let Some(part) = &mut self.part else { return false };
        if let (None, Err(error)) = (&self.wrong, part.write_all(bytes)) {
            self.wrong = Some(error);
        }
        true
    }
}
