//! Using an existing directory and removing our sub-directory, whatever the directory's owner does.

use super::{
    Emptied, GiveBackError, LendError, LentDir, LentIds, empty_lent, free_bytes, identify, lend, remove_lent,
    take_back_lent,
};
use record::roots::Roots;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const NAME: &str = "diskproof-test-lend";

/// Removes everything, as an undo does.
fn give_back(lent: LentDir) {
    let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
    drop(lent);
    take_back_lent(&path, &ids, false, &Roots::default()).unwrap();
}

#[test]
fn it_makes_one_directory_and_removes_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("precious"), "x").unwrap();
    let lent = lend(dir.path(), 1, NAME).unwrap();
    assert!(lent.path().starts_with(fs::canonicalize(dir.path()).unwrap()));
    fs::create_dir_all(lent.path().join("a/b")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("precious"), lent.path().join("a/link")).unwrap();
    let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
    give_back(lent);
    assert!(!path.exists() && dir.path().join("precious").exists());
    let again = empty_lent(&path, Some(&ids), false, &Roots::default()).unwrap();
    assert!(matches!(again, Emptied::Gone | Emptied::Unseen), "{again:?}");
    assert!(!remove_lent(&path, Some(&ids.parent), false).unwrap());
}

#[test]
fn it_is_reached_through_its_descriptor_where_others_can_rename() {
    let dir = tempfile::tempdir().unwrap();
    let lent = lend(dir.path(), 1, NAME).unwrap();
    assert!(!lent.is_exposed() && lent.access() == lent.path());
    give_back(lent);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let lent = lend(dir.path(), 1, NAME).unwrap();
    assert!(lent.is_exposed());
    let (elsewhere, foreign) = (dir.path().join("elsewhere"), dir.path().join("foreign"));
    fs::rename(lent.path(), &elsewhere).unwrap();
    fs::create_dir(&foreign).unwrap();
    std::os::unix::fs::symlink(&foreign, lent.path()).unwrap();
    fs::write(lent.access().join("data"), "x").unwrap();
    assert!(elsewhere.join("data").exists() && fs::read_dir(&foreign).unwrap().next().is_none());
}

#[test]
fn one_that_was_moved_is_found_and_what_took_its_place_stays() {
    let dir = tempfile::tempdir().unwrap();
    let lent = lend(dir.path(), 1, NAME).unwrap();
    let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
    fs::write(path.join("data"), "x").unwrap();
    let elsewhere = dir.path().canonicalize().unwrap().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("precious"), "x").unwrap();
    let emptied = take_back_lent(&path, &ids, false, &Roots::default()).unwrap();
    if rustix::process::geteuid().is_root() {
        assert_eq!(emptied, Emptied::Elsewhere(elsewhere.clone()));
        assert!(!elsewhere.exists());
    } else {
        assert_eq!(emptied, Emptied::Unseen);
    }
    let error = remove_lent(&path, Some(&ids.parent), false).unwrap_err();
    assert!(matches!(error, GiveBackError::NotOurs { .. }), "{error}");
    assert!(path.join("precious").exists());
}

#[test]
fn a_lent_directory_that_was_moved_is_followed_or_missed() {
    let dir = tempfile::tempdir().unwrap();
    let (given, moved) = (dir.path().join("given"), dir.path().join("moved"));
    fs::create_dir(&given).unwrap();
    let lent = lend(&given, 1, NAME).unwrap();
    let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
    fs::write(path.join("data"), "x").unwrap();
    fs::rename(&given, &moved).unwrap();
    let emptied = take_back_lent(&path, &ids, false, &Roots::default());
    if rustix::process::geteuid().is_root() {
        assert!(matches!(emptied, Ok(Emptied::Elsewhere(_))), "{emptied:?}");
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
    } else {
        assert!(matches!(emptied, Err(GiveBackError::Lost { .. })), "{emptied:?}");
    }
}

#[test]
fn after_a_reboot_only_the_handle_and_the_lent_directory_count() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let lent = lend(dir.path(), 1, NAME).unwrap();
    let (path, mut ids) = (lent.path().to_path_buf(), lent.ids().clone());
    drop(lent);
    fs::write(path.join("data"), "x").unwrap();
    // Device numbers change at each boot.
    ids.own.dev += 1;
    ids.parent.dev += 1;
    let other = fs::read_dir(&path).unwrap().count();
    assert_eq!(other, 1);
    let emptied = empty_lent(&path, Some(&ids), true, &Roots::default()).unwrap();
    assert_eq!(emptied, Emptied::Files);
    assert!(remove_lent(&path, Some(&ids.parent), true).unwrap());
}

#[test]
fn a_second_one_is_refused_by_pid() {
    let dir = tempfile::tempdir().unwrap();
    let lent = lend(dir.path(), 1, NAME).unwrap();
    let error = lend(dir.path(), 1, "diskproof-test-other").unwrap_err();
    assert!(matches!(&error, LendError::Locked { .. }), "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(lent);
    give_back(lend(dir.path(), 1, "diskproof-test-other").unwrap());
}

#[test]
fn too_little_space_is_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let need = free_bytes(dir.path()).unwrap() + (1 << 40);
    assert!(matches!(lend(dir.path(), need, NAME), Err(LendError::Space { .. })));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_directory_of_files_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(lend(&file, 0, NAME), Err(LendError::NotADirectory { .. })));
    assert!(matches!(lend(&dir.path().join("no"), 0, NAME), Err(LendError::Access { .. })));
    assert!(matches!(lend(Path::new("tmp"), 0, NAME), Err(LendError::Relative { .. })));
    assert!(matches!(lend(Path::new("/proc/self"), 0, NAME), Err(LendError::Pseudo { .. })));
}

#[test]
fn only_names_of_ours_are_made() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["precious", "diskproof-", "diskproof-/../x", ""] {
        assert!(matches!(lend(dir.path(), 0, name), Err(LendError::Name { .. })), "{name}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn only_what_is_an_empty_directory_of_ours_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    fs::create_dir(real.join("precious")).unwrap();
    fs::write(real.join("precious/file"), "x").unwrap();
    std::os::unix::fs::symlink(real.join("precious"), real.join(NAME)).unwrap();
    for name in [NAME, "precious", "precious/file"] {
        assert!(remove_lent(&real.join(name), None, false).is_err(), "{name}");
    }
    assert!(empty_lent(&real.join(NAME), None, false, &Roots::default()).is_err());
    assert!(real.join("precious/file").exists() && real.join(NAME).is_symlink());
}

#[test]
fn a_directory_of_ours_that_was_not_lent_is_not_emptied_whatever_a_journal_says() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let real = dir.path().canonicalize().unwrap();
    let lent = lend(&real, 1, NAME).unwrap();
    for name in ["diskproof-backup", "secret"] {
        let precious = real.join(name);
        fs::create_dir(&precious).unwrap();
        fs::set_permissions(&precious, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        let own = identify(&precious).unwrap();
        let forged = LentIds { parent: lent.ids().parent.clone(), own };
        for ids in [None, Some(&forged)] {
            let error = empty_lent(&precious, ids, false, &Roots::default()).unwrap_err();
            assert!(matches!(error, GiveBackError::NotOurs { .. }), "{error}");
        }
        // As if it had been moved.
        let _ = empty_lent(&real.join("diskproof-moved"), Some(&forged), false, &Roots::default());
        assert!(precious.join("file").exists(), "{name}");
    }
    give_back(lent);
}
