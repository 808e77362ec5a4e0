//! The claims file on disk: only a regular file of root's in root's directories is read, and the guard creates nothing with open
//! permissions.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

use diskproof_device::{BookError, ClaimBook};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const EMPTY: &str = r#"{"format":{"major":1,"minor":0},"claims":[]}"#;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn private() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("state")).unwrap();
    dir
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn chain(error: &BookError) -> String {
    let source = std::error::Error::source(error).map(|e| format!(": {e}")).unwrap_or_default();
    format!("{error}{source}")
}

#[test]
fn a_fifo_as_the_book_is_refused_at_once() {
    let dir = private();
    let book = dir.path().join("state/claims.json");
    assert!(Command::new("mkfifo").arg(&book).status().unwrap().success());
    let state = dir.path().join("state");
    let (send, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(ClaimBook::open(&state).map(drop)).unwrap());
    let answer = answer.recv_timeout(std::time::Duration::from_secs(10)).expect("it hangs");
    let text = chain(&answer.unwrap_err());
    assert!(text.contains("claims.json") && text.contains("not a regular file"), "{text}");
}

#[test]
fn a_book_that_is_a_link_is_refused_wherever_it_leads() {
    let dir = private();
    for place in ["open/claims.json", "closed/claims.json", "nowhere"] {
        let target = dir.path().join(place);
        if let Some(parent) = target.parent().filter(|_| place != "nowhere") {
            fs::create_dir(parent).unwrap();
            fs::write(&target, EMPTY).unwrap();
            chmod(&target, 0o644);
            chmod(parent, if place.starts_with("open") { 0o777 } else { 0o755 });
        }
        let book = dir.path().join("state/claims.json");
        let _ = fs::remove_file(&book);
        symlink(&target, &book).unwrap();
        let error = ClaimBook::open(&dir.path().join("state")).unwrap_err();
        assert!(chain(&error).contains("is a link"), "{}", chain(&error));
    }
}

#[test]
fn every_directory_on_the_way_must_be_closed_to_others() {
    if !is_root() {
        println!("skipped: only root's book is held against its directories");
        return;
    }
    let dir = private();
    let state = dir.path().join("a/b/state");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("claims.json"), EMPTY).unwrap();
    chmod(&state.join("claims.json"), 0o644);
    for open in ["a", "a/b", "a/b/state"] {
        let open = dir.path().join(open);
        chmod(&open, 0o777);
        let error = ClaimBook::open(&state).unwrap_err();
        assert!(
            matches!(error, BookError::Untrusted { .. }) && chain(&error).contains(open.to_str().unwrap()),
            "{error}"
        );
        chmod(&open, 0o755);
        std::os::unix::fs::chown(&open, Some(65534), None).unwrap();
        let error = ClaimBook::open(&state).unwrap_err();
        assert!(chain(&error).contains("user 65534"), "{error}");
        std::os::unix::fs::chown(&open, Some(0), None).unwrap();
    }
    ClaimBook::open(&state).unwrap();
    // A path through a link: the directories that it really passes count, and those of the link.
    let link = dir.path().join("link");
    symlink(&state, &link).unwrap();
    ClaimBook::open(&link).unwrap();
    chmod(&dir.path().join("a"), 0o777);
    assert!(ClaimBook::open(&link).is_err());
    chmod(&dir.path().join("a"), 0o755);
    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    chmod(&open, 0o777);
    symlink(&state, open.join("link")).unwrap();
    assert!(ClaimBook::open(&open.join("link")).is_err(), "others can point that link elsewhere");
    // In a directory like /tmp only the link's owner can replace it.
    chmod(&open, 0o1777);
    ClaimBook::open(&open.join("link")).unwrap();
    std::os::unix::fs::lchown(open.join("link"), Some(65534), None).unwrap();
    assert!(ClaimBook::open(&open.join("link")).is_err(), "somebody else's link");
}
