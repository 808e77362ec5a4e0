//! A results file on a full file system, and on a read-only one. Needs root.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

#[path = "support/sample.rs"]
mod sample;

use diskproof_store::{Store, StoreError};
use record::event::Stopped;
use record::trial::TrialRecord;
use sample::{environment, plan, run_id, trial};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Exclusive, LoopDevice, exclusive, fresh_dir, is_root};

/// A small mounted file system; unmounted when dropped.
struct Small {
    point: PathBuf,
    _device: LoopDevice,
    _alone: Exclusive,
}

impl Small {
    fn new(mkfs: &[&str], size_bytes: u64, name: &str) -> Option<Self> {
        if !is_root() {
            eprintln!("skipped: needs root");
            return None;
        }
        let alone = exclusive();
        let device = LoopDevice::new(size_bytes, name);
        let point = fresh_dir(&format!("{name}-mount"));
        run(mkfs[0], &mkfs[1..], &[device.path()]);
        run("mount", &[], &[device.path(), &point]);
        Some(Self { point, _device: device, _alone: alone })
    }

    fn remount(&self, options: &str) {
        run("mount", &["-o", &format!("remount,{options}")], &[&self.point]);
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        run("umount", &[], &[&self.point]);
    }
}

fn run(program: &str, args: &[&str], paths: &[&Path]) {
    let output = Command::new(program).args(args).args(paths).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a large trial: its text doesn't compress.
fn bulky(round: u32) -> TrialRecord {
    let mut bulky = trial(0, round);
    let mut state = u64::from(round) + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 58) as u8)
    };
    bulky.engine.as_mut().unwrap().raw = (0..60_000).map(|_| next()).collect();
    bulky
}

fn fills_and_keeps(mkfs: &[&str], size_bytes: u64, name: &str) {
    let Some(small) = Small::new(mkfs, size_bytes, name) else { return };
    let path = small.point.join("diskproof.db");
    let run = run_id("r");
    let mut stored = Vec::new();
    {
        let store = Store::open(&path).unwrap();
        store.create_run(&run, &plan(1, 100_000), &environment("6.1")).unwrap();
        let refusal = (0..100_000).find_map(|round| {
            let outcome = store.append_trial(&run, &bulky(round));
            stored.extend(outcome.is_ok().then_some(round));
            outcome.err()
        });
        let refusal = refusal.unwrap();
        let StoreError::Full { path: where_, free_bytes } = &refusal else { panic!("{refusal:?}") };
        assert_eq!(where_, &path);
        assert!(free_bytes.is_some_and(|free| free < size_bytes));
        let said = refusal.to_string();
        assert!(
            said.starts_with(&format!("no space is left for the results file {}", path.to_string_lossy())),
            "{said}"
        );
        assert!(said.contains("bytes free") && said.contains("what was stored before is kept"), "{said}");
        // The same process can still read the stored trials.
        assert_eq!(store.done(&run).unwrap().len(), stored.len());
    }
    assert!(stored.len() >= 3, "{} fitted", stored.len());
    // So can the next process: it finds an intact file, and continues once there is space.
    let ballast = size_bytes / 4;
    let store = Store::open(&path).unwrap();
    let kept: Vec<TrialRecord> = store.load(&run).unwrap().trials;
    assert_eq!(kept, stored.iter().map(|&round| bulky(round)).collect::<Vec<_>>());
    let check = rusqlite::Connection::open(&path).unwrap();
    let problems: String = check.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(problems, "ok");
    drop((store, check));
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    assert!(std::fs::metadata(&copy).unwrap().len() > ballast);
    let store = Store::open(&copy).unwrap();
    let next = u32::try_from(stored.len()).unwrap();
    store.append_trial(&run, &bulky(next)).unwrap();
    store.finish_run(&run, &Stopped::Interrupted).unwrap();
    assert_eq!(store.done(&run).unwrap().len(), stored.len() + 1);
}

#[test]
fn loop_a_full_ext4_is_a_clear_error_and_keeps_what_is_there() {
    fills_and_keeps(&["mkfs.ext4", "-q", "-F", "-m", "0"], 6 << 20, "store-ext4");
}

#[test]
fn loop_a_full_btrfs_is_a_clear_error_and_keeps_what_is_there() {
    fills_and_keeps(&["mkfs.btrfs", "-q", "-f", "--mixed"], 32 << 20, "store-btrfs");
}

#[test]
fn loop_a_full_disk_at_the_first_write_leaves_no_half_made_file() {
    let Some(small) = Small::new(&["mkfs.ext4", "-q", "-F", "-m", "0"], 2 << 20, "store-none") else {
        return;
    };
    let ballast = small.point.join("ballast");
    let mut size = 4 << 20;
    // Fills the file system to its last block.
    while size > 0 {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&ballast).unwrap();
        if std::io::Write::write(&mut &file, &vec![1; size]).is_err() {
            size /= 2;
        }
    }
    let path = small.point.join("diskproof.db");
    let refusal = Store::open(&path).unwrap_err();
    assert!(matches!(refusal, StoreError::Full { .. }), "{refusal:?}");
    std::fs::remove_file(&ballast).unwrap();
    assert!(Store::open(&path).unwrap().runs().unwrap().is_empty());
}

#[test]
fn loop_a_read_only_place_can_be_read_and_says_so_when_written() {
    let Some(small) = Small::new(&["mkfs.ext4", "-q", "-F"], 8 << 20, "store-ro") else { return };
    let path = small.point.join("diskproof.db");
    let run = run_id("r");
    {
        let store = Store::open(&path).unwrap();
        store.create_run(&run, &plan(1, 1), &environment("6.1")).unwrap();
        store.append_trial(&run, &trial(0, 0)).unwrap();
    }
    small.remount("ro");
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load(&run).unwrap().trials, [trial(0, 0)]);
    let said = store.append_trial(&run, &trial(0, 1)).unwrap_err().to_string();
    assert_eq!(said, format!("the results file {} is read-only for this user", path.to_string_lossy()));
    drop(store);
    assert!(Store::open(&small.point.join("new.db")).is_err());
    small.remount("rw");
}
