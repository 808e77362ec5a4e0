//! Copies a file to machines.

use super::copied::{Copied, CopyError, LOOK, PART, words};
use super::steps::{Next, OneCopy, copy_all};
use crate::drive::Task;
use crate::link::Reach;
use host::{Input, Ssh, sha256};
use record::machine::Machine;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Prints where the file goes, the digest of what is there, and size and digest of the part that an earlier try left.
const LOOK_THERE: &str = r#"d=$0; [ -d "$d" ] && d=${d%/}/$1; p=$d$2; echo "$d"
if [ -f "$d" ]; then sha256sum <"$d"; else echo none -; fi
if [ -f "$p" ]; then wc -c <"$p"; sha256sum <"$p"; else echo 0; echo none -; fi"#;
/// Appends to the part, which begins anew if nothing of it is right.
const TAKE: &str = r#"if [ "$1" = 0 ]; then cat >"$0"; else cat >>"$0"; fi"#;
/// Checks the part, makes it durable, and puts it in place.
const FINISH: &str = r#"if [ "$(sha256sum <"$0" | cut -d" " -f1)" != "$2" ]; then rm -f "$0"; exit 9; fi
chmod "$3" "$0" && { sync "$0" 2>/dev/null || sync; } && mv -f "$0" "$1""#;

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
    let original = Original { file, name, to, mode: format!("{mode:o}"), digest, bytes };
    let far =
        || Far { original: &original, step: Step::Look, began: Instant::now(), path: String::new(), from: 0 };
    let copies = machines.iter().map(|_| far()).collect();
    copy_all(machines, copies, reach, fanout, tell, cancel).map_err(here)
}

/// The file here, and where it goes.
#[derive(Debug)]
struct Original<'f> {
    file: &'f Path,
    name: String,
    to: &'f str,
    /// Its permissions, in octal.
    mode: String,
    digest: String,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Look,
    Send,
    Finish,
}

#[derive(Debug)]
struct Far<'f> {
    original: &'f Original<'f>,
    step: Step,
    began: Instant,
    path: String,
    from: u64,
}

impl OneCopy for Far<'_> {
    fn begin(&mut self, ssh: &Ssh) -> Result<Task, CopyError> {
        self.began = Instant::now();
        let Original { to, name, .. } = self.original;
        let call = ssh.call(&["sh", "-c", LOOK_THERE, to, name, PART]).timeout(LOOK);
        Ok(Task { call, input: Input::None })
    }

    fn next(&mut self, ssh: &Ssh, answer: &str) -> Result<Next, CopyError> {
        match self.step {
            Step::Look => self.looked(ssh, answer),
            Step::Send => {
                self.step = Step::Finish;
                let Original { digest, mode, .. } = self.original;
                let part = format!("{}{PART}", self.path);
                let call = ssh.call(&["sh", "-c", FINISH, &part, &self.path, digest, mode]).timeout(LOOK);
                Ok(Next::Task(Task { call, input: Input::None }))
            }
            Step::Finish => Ok(Next::Whole(self.whole())),
        }
    }

    fn takes(&mut self, _: &[u8]) -> bool {
        false
    }
}

impl Far<'_> {
    fn looked(&mut self, ssh: &Ssh, answer: &str) -> Result<Next, CopyError> {
        let Original { file, digest, bytes, .. } = self.original;
        let (path, rest) = answer.split_once('\n').unwrap_or((answer, ""));
        let [present, _, size, part, _] = words(rest)?;
        path.clone_into(&mut self.path);
        if present == digest {
            self.from = *bytes;
            return Ok(Next::Whole(self.whole()));
        }
        let size = size.parse::<u64>().unwrap_or(0);
        let here = |source| CopyError::Here { path: file.to_path_buf(), source };
        let mut file = File::open(file).map_err(here)?;
        let is_ours = size > 0 && size <= *bytes && sha256(&mut file, size).map_err(here)?.0 == part;
        self.from = if is_ours { size } else { 0 };
        file.seek(SeekFrom::Start(self.from)).map_err(here)?;
        self.step = Step::Send;
        let call = ssh.call(&["sh", "-c", TAKE, &format!("{path}{PART}"), &self.from.to_string()]);
        Ok(Next::Task(Task { call, input: Input::File(file) }))
    }

    fn whole(&self) -> Copied {
        Copied {
            bytes: self.original.bytes,
            sent_bytes: self.original.bytes - self.from,
            digest: self.original.digest.clone(),
            path: self.path.clone(),
            took: self.began.elapsed(),
        }
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
