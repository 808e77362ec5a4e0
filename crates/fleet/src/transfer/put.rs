//! Copies a file to machines.

use super::copied::{Copied, CopyError, LOOK, PART, Said, words};
use crate::drive::{Done, Drive, Errand, Fanout, Task};
use crate::link::Reach;
use host::{Input, Ssh, Stream, sha256};
use record::machine::Machine;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Prints where the file goes, the digest of what is there, and size and digest of the part that an earlier try left.
const LOOK_THERE: &str = r#"d=$0; [ -d "$d" ] && d=${d%/}/$1; p=$d$2; echo "$d"
if [ -f "$d" ]; then sha256sum <"$d"; else echo none -; fi
if [ -f "$p" ]; then wc -c <"$p"; sha256sum <"$p"; else echo 0; echo none -; fi"#;
/// Appends to the part, which begins anew if nothing of it is right.
const TAKE: &str = r#"if [ "$1" = 0 ]; then cat >"$0"; else cat >>"$0"; fi"#;
/// Checks the part, and puts it in place.
const FINISH: &str = r#"if [ "$(sha256sum <"$0" | cut -d" " -f1)" != "$2" ]; then rm -f "$0"; exit 9; fi; chmod "$3" "$0" && mv -f "$0" "$1""#;

/// Copies a file to machines; `tell` gets what became of it on each. Returns whether it was tried on all; `false` when it was cancelled.
///
/// # Errors
/// The file can't be read, the directory of the sockets can't be made, or the kernel refuses to wait.
pub fn put(
    machines: &[Machine],
    file: &Path,
    to: &str,
    reach: &Reach,
    fanout: usize,
    tell: &mut dyn FnMut(usize, Result<Copied, CopyError>),
    cancel: &AtomicBool,
) -> Result<bool, CopyError> {
    let here = |source| CopyError::Here { path: file.to_owned(), source };
    let mode = std::fs::metadata(file).map_err(here)?.permissions().mode() & 0o777;
    let (digest, bytes) = File::open(file).and_then(|file| sha256(file, u64::MAX)).map_err(here)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut putting = Putting {
        file: file.to_owned(),
        name,
        to: to.to_owned(),
        mode: format!("{mode:o}"),
        digest,
        bytes,
        far: (0..machines.len()).map(|_| Far::default()).collect(),
        tell,
    };
    let mut drive = Drive::shared(machines, reach).map_err(here)?;
    let fanout = Fanout { most: fanout, skips_silent: false };
    drive.errand(0..machines.len(), fanout, &mut putting, cancel).map_err(here)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Look,
    Send,
    Finish,
}

#[derive(Debug, Default)]
struct Far {
    step: Step,
    began: Option<Instant>,
    path: String,
    from: u64,
    said: Said,
}

struct Putting<'a> {
    file: PathBuf,
    name: String,
    to: String,
    mode: String,
    digest: String,
    bytes: u64,
    far: Vec<Far>,
    tell: &'a mut dyn FnMut(usize, Result<Copied, CopyError>),
}

impl Errand for Putting<'_> {
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
        if let Some(far) = self.far.get_mut(machine) {
            far.said.hears(stream, bytes);
        }
    }
}

impl Putting<'_> {
    fn step(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Result<Option<Task>, CopyError> {
        let Some(far) = self.far.get_mut(machine) else { return Ok(None) };
        let Some(done) = before else {
            far.began = Some(Instant::now());
            let call = ssh.call(&["sh", "-c", LOOK_THERE, &self.to, &self.name, PART]).timeout(LOOK);
            return Ok(Some(Task { call, input: Input::None }));
        };
        let answer = std::mem::take(&mut far.said).answer(&done)?;
        match far.step {
            Step::Look => self.looked(machine, ssh, &answer),
            Step::Send => {
                far.step = Step::Finish;
                let part = format!("{}{PART}", far.path);
                let call =
                    ssh.call(&["sh", "-c", FINISH, &part, &far.path, &self.digest, &self.mode]).timeout(LOOK);
                Ok(Some(Task { call, input: Input::None }))
            }
            Step::Finish => {
                self.finished(machine);
                Ok(None)
            }
        }
    }

    fn looked(&mut self, machine: usize, ssh: &Ssh, answer: &str) -> Result<Option<Task>, CopyError> {
        let (path, rest) = answer.split_once('\n').unwrap_or((answer, ""));
        let [present, _, size, part, _] = words(rest)?;
        let Some(far) = self.far.get_mut(machine) else { return Ok(None) };
        path.clone_into(&mut far.path);
        far.from = self.bytes;
        if present != self.digest {
            let size = size.parse::<u64>().unwrap_or(0);
            let here = |source| CopyError::Here { path: self.file.clone(), source };
            let mut file = File::open(&self.file).map_err(here)?;
            let is_ours = size > 0 && size <= self.bytes && sha256(&mut file, size).map_err(here)?.0 == part;
            far.from = if is_ours { size } else { 0 };
            file.seek(SeekFrom::Start(far.from)).map_err(here)?;
            far.step = Step::Send;
            let begin = far.from.to_string();
            let call = ssh.call(&["sh", "-c", TAKE, &format!("{path}{PART}"), &begin]);
            return Ok(Some(Task { call, input: Input::File(file) }));
        }
        self.finished(machine);
        Ok(None)
    }

    fn finished(&mut self, machine: usize) {
        let Some(far) = self.far.get(machine) else { return };
        let copied = Copied {
            bytes: self.bytes,
            sent_bytes: self.bytes - far.from,
            digest: self.digest.clone(),
            path: far.path.clone(),
            took: far.began.map(|began| began.elapsed()).unwrap_or_default(),
        };
        (self.tell)(machine, Ok(copied));
    }
}

/// The scripts, for a test without ssh.
#[cfg(test)]
mod tests {
    use super::{FINISH, LOOK_THERE, TAKE};
    use host::{Invocation, LocalRunner, Runner as _, sha256};

    fn sh(script: &str, words: &[&str], input: &[u8]) -> Result<String, i32> {
        let call = Invocation::program("sh").args(["-c", script]).args(words).stdin(input);
        match LocalRunner.run(&call) {
            Ok(output) => Ok(output.stdout),
            Err(host::CommandFailure::Failed { status, .. }) => Err(status),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_part_is_continued_checked_and_put_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().to_string_lossy().into_owned();
        let (whole, part) = (format!("{at}/a b"), format!("{at}/a b.part"));
        let looks = sh(LOOK_THERE, &[&at, "a b", ".part"], b"").unwrap();
        assert_eq!(looks, format!("{whole}\nnone -\n0\nnone -\n"));
        sh(TAKE, &[&part, "0"], b"hel").unwrap();
        let half = sha256(&b"hel"[..], u64::MAX).unwrap().0;
        assert_eq!(
            sh(LOOK_THERE, &[&whole, "x", ".part"], b"").unwrap(),
            format!("{whole}\nnone -\n3\n{half}  -\n")
        );
        sh(TAKE, &[&part, "3"], b"lo").unwrap();
        let digest = sha256(&b"hello"[..], u64::MAX).unwrap().0;
        sh(FINISH, &[&part, &whole, &digest, "640"], b"").unwrap();
        assert_eq!(std::fs::read(&whole).unwrap(), b"hello");
        assert!(!std::path::Path::new(&part).exists());
        sh(TAKE, &[&part, "0"], b"other").unwrap();
        assert_eq!(sh(FINISH, &[&part, &whole, &digest, "640"], b""), Err(9));
        assert_eq!(std::fs::read(&whole).unwrap(), b"hello", "what was there stays");
        assert!(!std::path::Path::new(&part).exists());
    }
}
