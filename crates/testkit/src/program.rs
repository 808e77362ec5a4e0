//! The program under test, isolated from the settings of this machine's user.

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
