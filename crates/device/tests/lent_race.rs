//! The owner of an existing directory exchanges our sub-directory for a link, again and again, while it is created, loaded and
//! removed: nothing of others is written, read or removed, and nothing of ours stays.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use diskproof_device::{self as device, Emptied, GiveBackError, LendError, Roots};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A version that followed links was hit in 5 of 24 tries.
const TRIES: u32 = 200;
const NAME: &str = "diskproof-test-race";

/// Exchanges two names as fast as possible, and counts the exchanges.
fn exchange(one: &Path, other: &Path, end: &AtomicBool, times: &AtomicU32) {
    while !end.load(Ordering::Relaxed) {
        if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
            times.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Ends the exchanges even when a test fails.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Creates, loads and removes while names change. A failure must be safe, and the operation succeeds once the names rest.
fn one_try(given: &Path, link: &Path) -> u32 {
    let (end, times) = (AtomicBool::new(false), AtomicU32::new(0));
    let path = given.join(NAME);
    std::thread::scope(|scope| {
        let attacker = scope.spawn(|| exchange(&path, link, &end, &times));
        let at_end = AtEnd(&end);
        let lent = device::lend(given, 1, NAME);
        let kept = match &lent {
            Ok(lent) => {
                for data in 0..8 {
                    let _ = fs::write(lent.access().join(format!("data.{data}")), "ours");
                }
                Some(lent.ids().clone())
            }
            Err(LendError::NotOwn { .. } | LendError::Access { .. }) => None,
            Err(error) => panic!("{error}"),
        };
        if let Some(ids) = &kept {
            let _ = device::empty_lent(&path, Some(ids), false, &Roots::default());
            let _ = device::take_back_lent(&path, ids, false, &Roots::default());
        }
        match device::remove_lent(&path, None, false) {
            Ok(_) | Err(GiveBackError::NotOurs { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        drop(at_end);
        attacker.join().unwrap();
        drop(lent);
        if let Some(ids) = &kept {
            let last = device::take_back_lent(&path, ids, false, &Roots::default()).unwrap();
            assert_ne!(last, Emptied::Nothing);
        }
    });
    times.load(Ordering::Relaxed)
}

#[test]
fn exchanging_it_for_a_link_in_a_race_harms_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let (given, secret) = (real.join("given"), real.join("secret"));
    fs::create_dir(&given).unwrap();
    fs::create_dir(&secret).unwrap();
    fs::create_dir(secret.join("deep")).unwrap();
    fs::write(secret.join("deep/file"), "precious").unwrap();
    fs::write(secret.join("data.0"), "precious").unwrap();
    fs::set_permissions(&given, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let root = rustix::process::geteuid().is_root();
    let mut exchanged = 0;
    for round in 0..TRIES {
        // In the directory itself, where the owner can rename.
        let link = given.join("link");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        exchanged += one_try(&given, &link);
        let mut held: Vec<_> = fs::read_dir(&secret).unwrap().map(|e| e.unwrap().file_name()).collect();
        held.sort();
        assert_eq!(held, ["data.0", "deep"], "try {round}");
        assert_eq!(fs::read_to_string(secret.join("data.0")).unwrap(), "precious", "try {round}");
        assert!(secret.join("deep/file").exists(), "try {round}");
        for entry in fs::read_dir(&given).unwrap().map(Result::unwrap) {
            let ours = entry.file_type().unwrap().is_dir();
            let empty = ours && fs::read_dir(entry.path()).unwrap().next().is_none();
            // Without root, a moved one can't be found; one that was never identified is empty.
            assert!(!ours || empty || !root, "try {round}: {:?} stays", entry.path());
            if ours {
                fs::remove_dir_all(entry.path()).unwrap()
            } else {
                fs::remove_file(entry.path()).unwrap()
            }
        }
    }
    assert!(exchanged > TRIES, "names were exchanged only {exchanged} times: nothing was shown");
}
