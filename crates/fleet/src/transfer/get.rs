//! Copies a file from machines.

use super::copied::{Copied, CopyError, LOOK, PART, Said, words};
use crate::drive::{Done, Drive, Errand, Fanout, Task};
use crate::link::Reach;
use host::{Input, Ssh, Stream, sha256};
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
    let far = machines.iter().map(|machine| Far::of(of(machine))).collect();
    let mut getting = Getting { file: file.to_owned(), far, tell };
    let mut drive = Drive::shared(machines, reach).map_err(here)?;
    let fanout = Fanout { most: fanout, skips_silent: false };
    drive.errand(0..machines.len(), fanout, &mut getting, cancel).map_err(here)
}

#[derive(Debug)]
struct Far {
    path: PathBuf,
    began: Instant,
    /// The part, while bytes arrive.
    part: Option<File>,
    wrong: Option<io::Error>,
    size: u64,
    digest: String,
    from: u64,
    said: Said,
}

impl Far {
    fn of(path: PathBuf) -> Self {
        let (digest, said) = (String::new(), Said::default());
        Self { path, began: Instant::now(), part: None, wrong: None, size: 0, digest, from: 0, said }
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

struct Getting<'a> {
    file: String,
    far: Vec<Far>,
    tell: &'a mut dyn FnMut(usize, Result<Copied, CopyError>),
}

impl Errand for Getting<'_> {
    fn next(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Option<Task> {
        match self.step(machine, ssh, before) {
            Ok(task) => task,
            Err(error) => {
                (self.tell)(machine, Err(error));
                None
            }
        }
    }

    fn hears(&mut self, machine: usize, stream: Stream, bytes: &[u8]) {
        let Some(far) = self.far.get_mut(machine) else { return };
        match (&mut far.part, stream) {
            (Some(part), Stream::Out) => {
                if let (None, Err(error)) = (&far.wrong, part.write_all(bytes)) {
                    far.wrong = Some(error);
                }
            }
            _ => far.said.hears(stream, bytes),
        }
    }
}

impl Getting<'_> {
    fn step(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Result<Option<Task>, CopyError> {
        let Some(far) = self.far.get_mut(machine) else { return Ok(None) };
        let Some(done) = before else {
            far.began = Instant::now();
            let dir = far.path.parent().filter(|dir| !dir.as_os_str().is_empty());
            if let Some(dir) = dir {
                std::fs::create_dir_all(dir).map_err(|source| far.here(source))?;
            }
            let have = std::fs::metadata(far.part()).map_or(0, |about| about.len());
            far.from = have;
            let call = ssh.call(&["sh", "-c", LOOK_THERE, &self.file, &have.to_string()]).timeout(LOOK);
            return Ok(Some(Task { call, input: Input::None }));
        };
        let answer = std::mem::take(&mut far.said).answer(&done)?;
        if far.part.is_some() {
            let copied = far.finish()?;
            (self.tell)(machine, Ok(copied));
            return Ok(None);
        }
        let [size, digest, _, first, _] = words(&answer)?;
        far.size = size.parse().map_err(|_| CopyError::There(format!("`{size}` is not a size")))?;
        digest.clone_into(&mut far.digest);
        let have = far.from;
        let own = File::open(far.part()).and_then(|file| sha256(file, have)).ok();
        let goes_on = have > 0
            && have <= far.size
            && own.is_some_and(|(digest, bytes)| bytes == have && digest == first);
        far.open(if goes_on { have } else { 0 })?;
        let begin = (far.from + 1).to_string();
        Ok(Some(Task { call: ssh.call(&["sh", "-c", SEND, &self.file, &begin]), input: Input::None }))
    }
}
