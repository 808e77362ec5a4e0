//! The binary in a home of its own, so that no test touches the user's settings, store or state.

#![allow(dead_code, reason = "each test program uses a part of it")]

use assert_cmd::Command;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A home that goes with the value.
pub(crate) struct Home(TempDir);

/// What a command said, and the code with which it ended.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command in this home.
pub(crate) fn diskproof(home: &Path, args: &[&str]) -> Answer {
    let mut command = Command::cargo_bin("diskproof").unwrap();
    command.args(args).env_clear().env("HOME", home).current_dir(home);
    command.env("DISKPROOF_STATE", home.join("state")).env("DISKPROOF_STORE", home.join("results.db"));
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let code = output.status.code().expect("ended by itself");
    Answer { code, out: text(output.stdout), err: text(output.stderr) }
}

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn store(&self) -> store::Store {
        store::Store::open(&self.file("results.db")).unwrap()
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn diskproof(&self, args: &[&str]) -> Answer {
        diskproof(self.path(), args)
    }

    /// What a command prints that must succeed.
    pub(crate) fn fine(&self, args: &[&str]) -> String {
        let answer = self.diskproof(args);
        assert_eq!(answer.code, 0, "{args:?}: {}", answer.err);
        answer.out
    }
}

impl Answer {
    /// The same with one space between all words, however its lines break.
    pub(crate) fn flat(self) -> Self {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { out: flat(&self.out), err: flat(&self.err), code: self.code }
    }
}
