//! The program under test, isolated from the settings of this machine's user.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the state directory of this machine, which has the lab's image.
#[must_use]
pub fn state_dir() -> PathBuf {
    std::env::var_os("DISKPROOF_STATE").map_or_else(|| PathBuf::from("/var/lib/diskproof"), PathBuf::from)
}

/// Returns a command for `binary` with `dir` as its home and working directory, its state in `dir/state`, and an otherwise empty
/// environment.
pub fn program(binary: impl AsRef<Path>, dir: &Path, args: &[&str]) -> Command {
    let mut program = Command::new(binary.as_ref());
    program
        .args(args)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", dir)
        .env("DISKPROOF_STATE", dir.join("state"))
        .current_dir(dir)
        .stdin(Stdio::null());
    program
}

/// Makes a copy of `binary` in `dir` without its debug information, small enough to be sent to another machine.
///
/// # Panics
/// If `strip` fails.
pub fn stripped(binary: impl AsRef<Path>, dir: &Path) -> PathBuf {
    let copy = dir.join("diskproof");
    let status = Command::new("strip").arg("-o").arg(&copy).arg(binary.as_ref()).status();
    assert!(status.is_ok_and(|status| status.success()), "strip {}", binary.as_ref().to_string_lossy());
    copy
}

/// Writes a script that can be executed at once. Another process writes it: Linux executes no file that is open for writing, and a process
/// that another test is just starting has copies of all open files of this one.
///
/// # Panics
/// If `install` fails.
pub fn script(path: impl AsRef<Path>, text: &str) {
    let mut install = Command::new("install");
    install.args(["--mode=755", "/dev/stdin"]).arg(path.as_ref()).stdin(Stdio::piped());
    let written = install.spawn().and_then(|mut child| {
        if let Some(mut input) = child.stdin.take() {
            input.write_all(text.as_bytes())?;
        }
        child.wait()
    });
    assert!(written.is_ok_and(|status| status.success()), "{}", path.as_ref().to_string_lossy());
}
