//! The owner of a disk, and whether it is still the same disk.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

mod support;

use diskproof_device::{
    BookError, Candidate, Check, ClaimBook, Refusal, Strength, disk, emulated, inventory,
};
use host::LocalRunner;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use support::{Bench, MIB, Mounted, NAME, mkfs, run, start};
use testkit::LoopDevice;

#[test]
fn loop_unclaimed_disk_is_refused() {
    let Some(mut bench) = start(16) else { return };
    bench.book.unclaim(NAME).unwrap();
    let refusal =
        bench.refused(Check::Claim, &["nobody has claimed", "serial A1", "diskproof claim test-DISK_A1"]);
    // Nobody vouches for processes that can't be seen, either.
    let seen = refusal.dissent.iter().filter(|d| d.heard || d.witness != Check::Openers);
    assert_eq!(seen.count(), 1, "nobody else objects: {refusal}");
}

#[test]
fn loop_claim_of_another_size_is_refused() {
    let Some(bench) = start(16) else { return };
    run("truncate", &["-s", "32M", bench.disk.backing().to_str().unwrap()]);
    run("losetup", &["--set-capacity", bench.path()]);
    bench.refused(Check::Claim, &["16777216 bytes", "33554432 bytes", "unclaim"]);
}

#[test]
fn loop_claim_on_the_serial_number_but_another_size_is_explained() {
    let Some(mut bench) = start(16) else { return };
    let other = LoopDevice::new(32 * MIB, "guard-other");
    bench.set_id("test-OTHER", &other.name());
    bench.set_serial(&bench.disk.name(), "Z9");
    bench.set_serial(&other.name(), "A1");
    let refusal = bench.unchanged(
        || bench.ask_for("test-OTHER", 0).map(drop).unwrap_err(),
        Check::Claim,
        &["the claim is on"],
    );
    assert!(refusal.to_string().contains("33554432"), "{refusal}");
    bench.book = ClaimBook::open(&bench.dir.join("state")).unwrap();
}

/// Another disk of the same size, claimed or not.
fn other(bench: &Bench, serial: &str) -> LoopDevice {
    let other = LoopDevice::new(16 * MIB, "guard-other");
    bench.set_serial(&other.name(), serial);
    other
}

#[test]
fn loop_name_repointed_between_plan_and_use_is_refused() {
    let Some(bench) = start(16) else { return };
    let other = other(&bench, "B2");
    bench.set_id(NAME, &other.name());
    let refusal = bench.refused(Check::Claim, &["was claimed as", "serial A1", "is now", "serial B2"]);
    assert!(refusal.to_string().contains(&other.name()), "{refusal}");
}

#[test]
fn loop_name_repointed_to_another_claimed_disk_is_refused() {
    let Some(mut bench) = start(16) else { return };
    let other = other(&bench, "B2");
    bench.set_id("test-DISK_B2", &other.name());
    let candidate = Candidate::by_id(&bench.roots(), "test-DISK_B2").unwrap();
    bench.book.claim(&candidate, bench.word()).unwrap();
    drop(bench.ask_for("test-DISK_B2", 0).unwrap());
    bench.set_id(NAME, &other.name());
    bench.refused(Check::Claim, &["was claimed as", "serial A1", "is now", "serial B2"]);
}

fn recheck_refused(
    bench: &Bench,
    claimed: &diskproof_device::Claimed,
    witness: Check,
    words: &[&str],
) -> Refusal {
    let roots = bench.roots();
    bench.unchanged(|| claimed.recheck(&roots, &LocalRunner).unwrap_err(), witness, words)
}

#[test]
fn loop_name_repointed_at_the_moment_of_use_is_refused() {
    let Some(bench) = start(16) else { return };
    let claimed = bench.accepted();
    claimed.recheck(&bench.roots(), &LocalRunner).unwrap();
    let other = other(&bench, "B2");
    bench.set_id(NAME, &other.name());
    recheck_refused(&bench, &claimed, Check::Identity, &["was", "and is now", &other.name()]);
    fs::remove_file(bench.roots().dev.join("disk/by-id").join(NAME)).unwrap();
}

#[test]
fn loop_disk_that_is_gone_at_the_moment_of_use_is_refused() {
    let Some(bench) = start(16) else { return };
    let claimed = bench.accepted();
    let roots = bench.roots();
    fs::remove_file(roots.dev.join("disk/by-id").join(NAME)).unwrap();
    let ask = || claimed.recheck(&roots, &LocalRunner).unwrap_err();
    bench.unchanged(ask, Check::Identity, &["it is gone", "No such file"]);
}

#[test]
fn loop_disk_replaced_by_another_of_the_same_size_is_refused() {
    let Some(bench) = start(16) else { return };
    let claimed = bench.accepted();
    // Same name, same node, same size; another serial number.
    bench.set_serial(&bench.disk.name(), "B2");
    recheck_refused(&bench, &claimed, Check::Identity, &["serial A1", "is now", "serial B2"]);
    recheck_refused(&bench, &claimed, Check::Claim, &["was claimed as"]);
    drop(claimed);
    bench.refused(Check::Claim, &["was claimed as", "serial A1", "serial B2"]);
}

#[test]
fn loop_disk_replaced_by_a_nameless_one_is_refused() {
    let Some(bench) = start(16) else { return };
    bench.set_serial(&bench.disk.name(), "");
    let refusal = bench.refused(Check::Identity, &["has no serial number, no WWN"]);
    assert!(refusal.names(Check::Claim), "{refusal}");
}

#[test]
fn loop_disk_exchanged_for_its_perfect_twin_is_noticed_by_the_kernels_count() {
    let Some(bench) = start(16) else { return };
    let claimed = bench.accepted();
    let roots = bench.roots();
    // Same name, node, size and serial number, but the kernel found another disk.
    let count = roots.sys.join("named").join(bench.disk.name()).join("diskseq");
    assert!(fs::read_to_string(&count).is_ok(), "this kernel counts disks");
    fs::remove_file(&count).unwrap();
    fs::write(&count, "987654321\n").unwrap();
    let ask = || claimed.recheck(&roots, &LocalRunner).unwrap_err();
    bench.unchanged(ask, Check::Identity, &["exchanged", "another disk under the same name"]);
}

#[test]
fn loop_two_disks_of_one_name_are_refused() {
    let Some(bench) = start(16) else { return };
    let twin = other(&bench, "A1");
    bench.refused(Check::Identity, &["have the same identity", &twin.name()]);
    bench.set_serial(&twin.name(), "B2");
    drop(bench.accepted());
}

#[test]
fn loop_nameless_disk_cannot_be_claimed() {
    let Some(mut bench) = start(16) else { return };
    bench.set_serial(&bench.disk.name(), "");
    let candidate = Candidate::by_id(&bench.roots(), NAME).unwrap();
    assert_eq!(candidate.identity().strength(), Strength::None);
    let error = bench.book.claim(&candidate, bench.word()).unwrap_err();
    assert!(matches!(error, BookError::Nameless { .. }), "{error}");
}

#[test]
fn loop_name_that_leads_nowhere_is_refused() {
    let Some(bench) = start(16) else { return };
    for name in ["no-such-disk", "../loop0", "", "..", "/dev/null", "/etc/passwd", "/no/such/node"] {
        let ask = || bench.ask_for(name, 0).map(drop).unwrap_err();
        bench.unchanged(ask, Check::Identity, &[]);
    }
}

#[test]
fn loop_claim_taken_back_at_the_moment_of_use_is_refused() {
    let Some(mut bench) = start(16) else { return };
    let claimed = bench.accepted();
    bench.book.unclaim("A1").unwrap();
    recheck_refused(&bench, &claimed, Check::Claim, &["nobody has claimed"]);
}

#[test]
fn loop_damaged_book_of_claims_claims_nothing() {
    let Some(bench) = start(16) else { return };
    let claimed = bench.accepted();
    let book = bench.dir.join("state/claims.json");
    let good = fs::read_to_string(&book).unwrap();
    for damage in ["", "{", "null", &good[..good.len() / 2], &good.replace("\"major\": 1", "\"major\": 2")] {
        fs::write(&book, damage).unwrap();
        assert!(ClaimBook::open(&bench.dir.join("state")).is_err(), "{damage:?} was read");
        recheck_refused(&bench, &claimed, Check::Claim, &["claims.json"]);
    }
    fs::write(&book, &good).unwrap();
    fs::set_permissions(&book, fs::Permissions::from_mode(0o666)).unwrap();
    let error = ClaimBook::open(&bench.dir.join("state")).unwrap_err();
    assert!(matches!(error, BookError::Untrusted { .. }), "{error}");
    recheck_refused(&bench, &claimed, Check::Claim, &["may be written by others"]);
    fs::set_permissions(&book, fs::Permissions::from_mode(0o600)).unwrap();
    let state = bench.dir.join("state");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    recheck_refused(&bench, &claimed, Check::Claim, &["may be written by others"]);
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    claimed.recheck(&bench.roots(), &LocalRunner).unwrap();
}

#[test]
fn loop_use_begun_after_the_first_check_is_refused() {
    let Some(bench) = start(16) else { return };
    let claimed = bench.accepted();
    // While it is held, the kernel refuses others.
    assert!(claimed.is_held());
    mkfs_fails(&bench);
    claimed.hand_over();
    mkfs("ext4", bench.disk.path());
    let mount = Mounted::new(&[bench.path()], &bench.dir.join("mnt")).quiet();
    recheck_refused(&bench, &claimed, Check::Mounts, &["is mounted at"]);
    recheck_refused(&bench, &claimed, Check::Signature, &["ext4"]);
    assert!(claimed.hold(&bench.roots()).unwrap_err().names(Check::Exclusive));
    drop(mount);
    claimed.hold(&bench.roots()).unwrap();
    assert!(claimed.is_held());
}

fn mkfs_fails(bench: &Bench) {
    let output = std::process::Command::new("mkfs.ext4").args(["-q", "-F", bench.path()]).output().unwrap();
    assert!(!output.status.success(), "a held disk could be formatted");
}

#[test]
fn loop_inventory_tells_free_from_used() {
    let Some(bench) = start(16) else { return };
    let used = other(&bench, "B2");
    mkfs("ext4", used.path());
    let _mount = Mounted::new(&[used.path().to_str().unwrap()], &bench.dir.join("mnt")).quiet();
    let roots = bench.roots();
    let all = inventory(&roots, &LocalRunner, Some(&bench.book));
    let report = |name: &str| all.iter().find(|d| d.path == roots.dev.join(name)).unwrap();
    let free = report(&bench.disk.name());
    assert!(free.free && free.claimed && free.dissent.is_empty(), "{free:?}");
    assert_eq!((free.ids.as_slice(), free.serial.as_deref()), ([NAME.to_owned()].as_slice(), Some("A1")));
    assert_eq!((free.size_bytes, free.strength), (16 * MIB, Strength::Strong));
    let busy = report(&used.name());
    assert!(!busy.free && !busy.claimed, "{busy:?}");
    assert!(busy.dissent.iter().any(|d| d.witness == Check::Mounts));
    let unheard: Vec<_> = busy.unheard().into_iter().filter(|w| *w != Check::Openers).collect();
    assert!(unheard.is_empty(), "root hears everyone, but may not look into every process: {busy:?}");
    assert_eq!(free.spoken_for.is_empty(), !bench.word().unseen_processes, "{free:?}");
    // The free one is as losetup made it; the other one has a file system of 16 MiB, and 128 blocks of it were read.
    assert_eq!(free.sample.as_ref().map(|s| (s.read_blocks, s.data_blocks)), Some((128, 0)));
    assert_eq!(busy.sample.as_ref().map(|s| s.disk_blocks), Some(4096));
    assert!(all.iter().filter(|d| d.free).all(|d| d.path.to_string_lossy().contains("loop")), "{all:?}");
}

fn ours(bench: &Bench, device: &Path, backing: &Path) -> Result<diskproof_device::Claimed, Refusal> {
    emulated(&bench.roots(), &LocalRunner, device, backing)
}

#[test]
fn loop_device_of_our_own_is_accepted_with_anything_on_it() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    let claimed = ours(&bench, bench.disk.path(), bench.disk.backing()).unwrap();
    assert_eq!(claimed.backing(), Some(bench.disk.backing()));
    assert_eq!((claimed.size_bytes(), claimed.by_id()), (16 * MIB, None));
    claimed.recheck(&bench.roots(), &LocalRunner).unwrap();
    let second = ours(&bench, bench.disk.path(), bench.disk.backing()).unwrap_err();
    assert!(second.names(Check::Lock) && second.names(Check::Exclusive), "{second}");
}

#[test]
fn loop_device_over_a_file_that_is_not_ours_is_refused() {
    let Some(bench) = start(16) else { return };
    let theirs = bench.dir.join("their.img");
    run("truncate", &["-s", "16M", theirs.to_str().unwrap()]);
    let device = run("losetup", &["--find", "--show", theirs.to_str().unwrap()]);
    let device = Path::new(device.trim());
    for (backing, words) in
        [(theirs.as_path(), "wasn't made by diskproof"), (bench.disk.backing(), "rests on")]
    {
        let ask = || ours(&bench, device, backing).map(drop).unwrap_err();
        bench.unchanged(ask, Check::Backing, &[words]);
    }
    run("losetup", &["-d", device.to_str().unwrap()]);
    let ask = || ours(&bench, device, bench.disk.backing()).map(drop).unwrap_err();
    bench.unchanged(ask, Check::Backing, &["is not a loop device, or not attached"]);
}

#[test]
fn loop_device_whose_file_was_exchanged_is_refused() {
    let Some(bench) = start(16) else { return };
    let backing = bench.disk.backing();
    let claimed = ours(&bench, bench.disk.path(), backing).unwrap();
    fs::rename(backing, bench.dir.join("moved")).unwrap();
    run("truncate", &["-s", "16M", backing.to_str().unwrap()]);
    recheck_refused(&bench, &claimed, Check::Backing, &["rests on"]);
    fs::remove_file(backing).unwrap();
    fs::rename(bench.dir.join("moved"), backing).unwrap();
    claimed.recheck(&bench.roots(), &LocalRunner).unwrap();
    fs::remove_file(backing).unwrap();
    recheck_refused(&bench, &claimed, Check::Backing, &["rests on"]);
}

#[test]
fn loop_device_over_a_part_of_our_file_is_refused() {
    let Some(bench) = start(16) else { return };
    let file = testkit::fresh_dir("guard-part").join("diskproof-test-part.img");
    run("truncate", &["-s", "16M", file.to_str().unwrap()]);
    let device = run("losetup", &["--find", "--show", "--offset", "4096", file.to_str().unwrap()]);
    let ask = || ours(&bench, Path::new(device.trim()), &file).map(drop).unwrap_err();
    bench.unchanged(ask, Check::Backing, &["shows only a part"]);
}

#[test]
fn loop_device_of_our_own_in_use_is_refused() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    let _mount = Mounted::new(&[bench.path()], &bench.dir.join("mnt")).quiet();
    let ask = || ours(&bench, bench.disk.path(), bench.disk.backing()).map(drop).unwrap_err();
    let refusal = bench.unchanged(ask, Check::Mounts, &["is mounted at"]);
    assert!(refusal.names(Check::Exclusive), "{refusal}");
    let real = disk(&bench.roots(), &LocalRunner, &bench.book, bench.disk.backing().to_str().unwrap(), 0);
    assert!(real.unwrap_err().names(Check::Identity), "a file is no disk");
}
