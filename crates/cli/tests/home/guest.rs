//! A program for runs with the lab guest of these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Prepares a program without debug information, which is small enough to copy into the guest, and removes an old guest of this name.
pub(crate) fn prepared(name: &str, guest: &str) -> PathBuf {
    let dir = testkit::fresh_dir(name);
    testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
    command(&dir, &["lab", "down", "--name", guest]);
    dir
}

pub(crate) fn command(dir: &Path, args: &[&str]) -> Output {
    program(dir, args).output().unwrap()
}

pub(crate) fn program(dir: &Path, args: &[&str]) -> Command {
    let mut program = testkit::program(dir.join("diskproof"), dir, args);
    program.env("DISKPROOF_STATE", testkit::state_dir());
    program
}
