//! Disks in use, however indirectly: refused before a byte is written.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

mod support;

use diskproof_device::{Check, Roots, disk, inventory};
use host::LocalRunner;
use std::path::Path;
use support::{Bench, Child, MIB, Mounted, NAME, Partition, mkfs, run, start};

fn mounted_ext4(bench: &Bench) -> Mounted {
    mkfs("ext4", bench.disk.path());
    Mounted::new(&[bench.path()], &bench.dir.join("mnt"))
}

#[test]
fn loop_mounted_disk_is_refused() {
    let Some(bench) = start(16) else { return };
    let mount = mounted_ext4(&bench).quiet();
    let at = mount.path().to_str().unwrap();
    let refusal = bench.refused(Check::Mounts, &["is mounted at", at, "umount"]);
    // Independent checks find the same.
    assert!(refusal.names(Check::Exclusive) && refusal.names(Check::Signature), "{refusal}");
}

#[test]
fn loop_mounted_by_another_node_is_refused() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    let alias = bench.dir.join("alias");
    let number = std::fs::read_to_string(format!("/sys/block/{}/dev", bench.disk.name())).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    run("mknod", &[alias.to_str().unwrap(), "b", major, minor]);
    let _mount = Mounted::new(&[alias.to_str().unwrap()], &bench.dir.join("mnt")).quiet();
    std::fs::remove_file(&alias).unwrap();
    bench.refused(Check::Mounts, &["is mounted at"]);
}

#[test]
fn loop_asked_for_by_another_node_is_the_same_disk() {
    let Some(bench) = start(16) else { return };
    let _mount = mounted_ext4(&bench).quiet();
    let alias = bench.dir.join("alias");
    let number = std::fs::read_to_string(format!("/sys/block/{}/dev", bench.disk.name())).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    run("mknod", &[alias.to_str().unwrap(), "b", major, minor]);
    let link = bench.dir.join("link");
    std::os::unix::fs::symlink(&alias, &link).unwrap();
    for name in [&alias, &link] {
        let ask = || bench.ask_for(name.to_str().unwrap(), 0).map(drop).unwrap_err();
        let refusal = bench.unchanged(ask, Check::Mounts, &["is mounted at"]);
        assert!(refusal.to_string().contains(&bench.disk.name()), "names the kernel's own node: {refusal}");
    }
}

#[test]
fn loop_mounted_through_a_link_is_refused() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    let link = bench.dir.join("link");
    std::os::unix::fs::symlink(bench.disk.path(), &link).unwrap();
    let _mount = Mounted::new(&[link.to_str().unwrap()], &bench.dir.join("mnt")).quiet();
    bench.refused(Check::Mounts, &["is mounted at"]);
}

#[test]
fn loop_bind_mount_that_outlived_its_mount_is_refused() {
    let Some(bench) = start(16) else { return };
    let mount = mounted_ext4(&bench);
    std::fs::create_dir(mount.path().join("sub")).unwrap();
    let mount = mount.quiet();
    let from = mount.path().join("sub");
    let bind = Mounted::new(&["--bind", from.to_str().unwrap()], &bench.dir.join("bind"));
    run("umount", &[mount.path().to_str().unwrap()]);
    bench.refused(Check::Mounts, &["is mounted at", bind.path().to_str().unwrap()]);
}

#[test]
fn loop_mounted_in_another_namespace_is_refused() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    let mnt = bench.dir.join("mnt");
    std::fs::create_dir(&mnt).unwrap();
    let script = "mount -o ro \"$0\" \"$1\" && echo ready && exec sleep 600";
    let args = ["-m", "--propagation", "private", "sh", "-c", script, bench.path(), mnt.to_str().unwrap()];
    let child = Child::start("unshare", &args);
    let here = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!here.contains(mnt.to_str().unwrap()), "it shows here too");
    let namespace = format!("in the mount namespace of process {}", child.pid());
    bench.refused(Check::Mounts, &[&namespace, "nsenter"]);
}

#[test]
fn loop_mount_that_no_table_shows_is_refused() {
    let Some(bench) = start(16) else { return };
    let mount = mounted_ext4(&bench);
    std::fs::write(mount.path().join("file"), "x").unwrap();
    let mount = mount.quiet();
    let file = mount.path().join("file");
    let child = Child::perl("open(F, '<', $ARGV[0]) or die", &[file.to_str().unwrap()]);
    run("umount", &["--lazy", mount.path().to_str().unwrap()]);
    let refusal = bench.refused(Check::Exclusive, &["in use"]);
    assert!(!refusal.names(Check::Mounts), "the mount tables can't know: {refusal}");
    drop(child);
}

#[test]
fn loop_disk_of_a_mounted_partition_is_refused() {
    let Some(bench) = start(32) else { return };
    let partition = Partition::new(bench.disk.path(), 24);
    mkfs("ext4", partition.path());
    let mount = Mounted::new(&[partition.path().to_str().unwrap()], &bench.dir.join("mnt")).quiet();
    let at = mount.path().to_str().unwrap();
    let refusal = bench.refused(Check::Mounts, &["a partition of it", at]);
    assert!(refusal.names(Check::Partitions), "{refusal}");
}

#[test]
fn loop_unused_partitions_are_refused() {
    let Some(bench) = start(32) else { return };
    let partition = Partition::new(bench.disk.path(), 24);
    bench.refused(Check::Partitions, &["has partitions", &format!("{}p1", bench.disk.name())]);
    let ask = || bench.ask_for(partition.path().to_str().unwrap(), 0).map(drop).unwrap_err();
    let refusal = bench.unchanged(ask, Check::Partitions, &["is a partition of", "whole disk"]);
    assert!(refusal.names(Check::Claim), "{refusal}");
}

#[test]
fn loop_mounted_partition_itself_is_refused() {
    let Some(bench) = start(32) else { return };
    let partition = Partition::new(bench.disk.path(), 24);
    mkfs("ext4", partition.path());
    let _mount = Mounted::new(&[partition.path().to_str().unwrap()], &bench.dir.join("mnt")).quiet();
    let ask = || bench.ask_for(partition.path().to_str().unwrap(), 0).map(drop).unwrap_err();
    let refusal = bench.unchanged(ask, Check::Mounts, &["is mounted at"]);
    assert!(refusal.names(Check::Partitions), "{refusal}");
}

/// Active swap; off again on drop.
struct Swap(String);

impl Swap {
    fn on(path: &Path) -> Self {
        let path = path.to_str().unwrap();
        run("mkswap", &[path]);
        run("swapon", &[path]);
        Self(path.to_owned())
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        run("swapoff", &[&self.0]);
    }
}

#[test]
fn loop_active_swap_is_refused() {
    let Some(bench) = start(16) else { return };
    let swap = Swap::on(bench.disk.path());
    let refusal = bench.refused(Check::Swap, &["active swap", &format!("swapoff {}", swap.0)]);
    assert!(refusal.names(Check::Exclusive), "{refusal}");
}

#[test]
fn loop_active_swap_under_another_name_is_refused() {
    let Some(bench) = start(16) else { return };
    let alias = bench.dir.join("alias with spaces");
    let number = std::fs::read_to_string(format!("/sys/block/{}/dev", bench.disk.name())).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    run("mknod", &[alias.to_str().unwrap(), "b", major, minor]);
    let _swap = Swap::on(&alias);
    bench.refused(Check::Swap, &["active swap", "alias with spaces"]);
}

#[test]
fn loop_active_swap_on_a_partition_is_refused() {
    let Some(bench) = start(32) else { return };
    let partition = Partition::new(bench.disk.path(), 24);
    let _swap = Swap::on(partition.path());
    bench.refused(Check::Swap, &[&format!("{}p1", bench.disk.name()), "active swap"]);
}

#[test]
fn loop_swap_file_on_the_disk_is_refused() {
    let Some(bench) = start(64) else { return };
    let mount = mounted_ext4(&bench);
    let file = mount.path().join("swapfile");
    run(
        "dd",
        &["if=/dev/zero", &format!("of={}", file.to_string_lossy()), "bs=1M", "count=8", "status=none"],
    );
    run("chmod", &["600", file.to_str().unwrap()]);
    let _swap = Swap::on(&file);
    bench.refused(Check::Swap, &["active swap", "swapfile"]);
}

/// A loop device over any file or device, detached on drop.
struct Over(String);

impl Over {
    fn new(file: &str) -> Self {
        Self(run("losetup", &["--find", "--show", file]).trim().to_owned())
    }
}

impl Drop for Over {
    fn drop(&mut self) {
        run("losetup", &["-d", &self.0]);
    }
}

#[test]
fn loop_device_on_top_is_refused() {
    let Some(bench) = start(16) else { return };
    let over = Over::new(bench.path());
    bench.refused(Check::Holders, &["loop device", &over.0]);
}

#[test]
fn loop_mount_through_a_loop_device_on_top_is_refused() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    let over = Over::new(bench.path());
    let mount = Mounted::new(&[&over.0], &bench.dir.join("mnt")).quiet();
    let words = ["a loop device over", mount.path().to_str().unwrap()];
    let refusal = bench.refused(Check::Mounts, &words);
    assert!(refusal.names(Check::Holders), "{refusal}");
}

#[test]
fn loop_device_over_a_file_on_the_disk_is_refused() {
    let Some(bench) = start(64) else { return };
    let mount = mounted_ext4(&bench);
    let image = mount.path().join("image");
    run("truncate", &["-s", "8M", image.to_str().unwrap()]);
    let over = Over::new(image.to_str().unwrap());
    bench.refused(Check::Holders, &["a file on it", &over.0]);
    // The file is deleted, and its device is still in use.
    std::fs::remove_file(&image).unwrap();
    bench.refused(Check::Holders, &["a file on it", &over.0]);
}

#[test]
fn loop_device_over_a_file_on_btrfs_is_refused() {
    let Some(bench) = start(128) else { return };
    mkfs("btrfs", bench.disk.path());
    let mount = Mounted::new(&[bench.path()], &bench.dir.join("mnt"));
    let image = mount.path().join("image");
    run("truncate", &["-s", "8M", image.to_str().unwrap()]);
    let _mount = mount.quiet();
    let over =
        Over(run("losetup", &["--find", "--show", "--read-only", image.to_str().unwrap()]).trim().to_owned());
    bench.refused(Check::Holders, &["a file on it", &over.0]);
}

#[test]
fn loop_second_member_of_a_mounted_btrfs_is_refused() {
    let Some(bench) = start(128) else { return };
    let first = testkit::LoopDevice::new(128 * MIB, "guard-first");
    run("mkfs.btrfs", &["-q", "-f", "-d", "raid0", first.path().to_str().unwrap(), bench.path()]);
    let mount = Mounted::new(&[first.path().to_str().unwrap()], &bench.dir.join("mnt")).quiet();
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = table.lines().find(|l| l.contains(mount.path().to_str().unwrap())).unwrap();
    assert!(!line.contains(bench.path()), "the table names the other member: {line}");
    bench.refused(Check::Mounts, &["is mounted at", mount.path().to_str().unwrap()]);
    drop(mount);
    run("btrfs", &["device", "scan", "--forget", bench.path()]);
}

#[test]
fn loop_btrfs_member_mounted_out_of_sight_is_refused() {
    let Some(bench) = start(128) else { return };
    mkfs("btrfs", bench.disk.path());
    let mount = Mounted::new(&[bench.path()], &bench.dir.join("mnt")).quiet();
    let child = Child::perl("chdir $ARGV[0] or die", &[mount.path().to_str().unwrap()]);
    run("umount", &["--lazy", mount.path().to_str().unwrap()]);
    bench.refused(Check::Mounts, &["belongs to the mounted btrfs"]);
    drop(child);
}

#[test]
fn loop_exclusively_opened_disk_is_refused() {
    let Some(bench) = start(16) else { return };
    let child = Child::perl("sysopen(F, $ARGV[0], O_RDONLY|O_EXCL) or die", &[bench.path()]);
    let by = format!("process {} (perl)", child.pid());
    bench.refused(Check::Exclusive, &["in use", &by]);
    drop(child);
    drop(bench.accepted());
}

#[test]
fn loop_disk_open_for_writing_is_refused() {
    let Some(bench) = start(16) else { return };
    // Like a virtual machine: no mount, no holder, no exclusive open.
    let child = Child::perl("sysopen(F, $ARGV[0], O_RDWR) or die", &[bench.path()]);
    let by = format!("process {} (perl) has it open for writing", child.pid());
    let refusal = bench.refused(Check::Openers, &[&by, "end process"]);
    assert_eq!(refusal.dissent.len(), 1, "nobody else can know: {refusal}");
    drop(child);
    let reader = Child::perl("sysopen(F, $ARGV[0], O_RDONLY) or die", &[bench.path()]);
    drop(bench.accepted());
    drop(reader);
}

#[test]
fn loop_second_diskproof_is_refused_by_pid() {
    let Some(bench) = start(16) else { return };
    let child = Child::perl("open(F, '<', $ARGV[0]) or die; flock(F, LOCK_EX) or die", &[bench.path()]);
    let by = format!("process {} (perl) has locked", child.pid());
    bench.refused(Check::Lock, &[&by, "wait"]);
}

#[test]
fn loop_same_disk_under_two_names_is_refused() {
    let Some(mut bench) = start(16) else { return };
    bench.set_id("test-OTHER_NAME", &bench.disk.name());
    let candidate = diskproof_device::Candidate::by_id(&bench.roots(), NAME).unwrap();
    assert_eq!(candidate.ids(), ["test-DISK_A1", "test-OTHER_NAME"]);
    bench.book.claim(&candidate, bench.word()).unwrap();
    let first = bench.accepted();
    for name in ["test-OTHER_NAME", NAME, bench.path()] {
        let ask = || bench.ask_for(name, 0).map(drop).unwrap_err();
        bench.unchanged(ask, Check::Lock, &["already uses", "only once"]);
    }
    drop(first);
    drop(bench.ask_for("test-OTHER_NAME", 0).unwrap());
}

#[test]
fn loop_read_only_disk_is_refused() {
    let Some(bench) = start(16) else { return };
    run("blockdev", &["--setro", bench.path()]);
    bench.refused(Check::ReadOnly, &["is read-only", "setrw"]);
    run("blockdev", &["--setrw", bench.path()]);
    drop(bench.accepted());
}

#[test]
fn loop_too_small_disk_is_refused() {
    let Some(bench) = start(16) else { return };
    drop(bench.ask_for(NAME, 16 * MIB).unwrap());
    let ask = || bench.ask_for(NAME, 16 * MIB + 1).map(drop).unwrap_err();
    bench.unchanged(ask, Check::Size, &["has 16777216 bytes; the experiment needs 16777217"]);
}

#[test]
fn loop_every_dissenter_is_named_at_once() {
    let Some(bench) = start(32) else { return };
    let partition = Partition::new(bench.disk.path(), 24);
    mkfs("ext4", partition.path());
    let _mount = Mounted::new(&[partition.path().to_str().unwrap()], &bench.dir.join("mnt")).quiet();
    let _over = Over::new(bench.path());
    run("blockdev", &["--setro", bench.path()]);
    let _lock = Child::perl("open(F, '<', $ARGV[0]) or die; flock(F, LOCK_EX) or die", &[bench.path()]);
    let ask = || bench.ask_for(bench.path(), 1 << 40).map(drop).unwrap_err();
    let refusal = bench.unchanged(ask, Check::Mounts, &[]);
    let expected = [
        Check::Mounts,
        Check::Holders,
        Check::Partitions,
        Check::ReadOnly,
        Check::Size,
        Check::Exclusive,
        Check::Lock,
    ];
    for witness in expected {
        assert!(refusal.names(witness), "{witness} is silent:\n{refusal}");
    }
    run("blockdev", &["--setrw", bench.path()]);
}

#[test]
fn loop_root_disk_is_refused() {
    let Some(bench) = start(16) else { return };
    let roots = Roots::default();
    let all = inventory(&roots, &LocalRunner, Some(&bench.book));
    let with_root: Vec<_> =
        all.iter().filter(|d| d.dissent.iter().any(|o| o.witness == Check::Root && o.heard)).collect();
    let root = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let on_disk = root
        .lines()
        .any(|l| l.split(' ').nth(4) == Some("/") && !l.split(' ').nth(2).unwrap().starts_with("0:"));
    if !on_disk {
        println!("skipped: this machine's root file system is on no block device");
        return;
    }
    assert!(!with_root.is_empty(), "nobody holds the root file system");
    for report in with_root {
        assert!(report.dissent.iter().all(|d| d.remedy.contains("choose another disk")), "{report:#?}");
        // Only reads: the guard is asked for a permission that it must refuse.
        let refusal = disk(&roots, &LocalRunner, &bench.book, report.path.to_str().unwrap(), 0).unwrap_err();
        for witness in [Check::Root, Check::Claim, Check::Exclusive] {
            assert!(refusal.names(witness), "{witness} is silent:\n{refusal}");
        }
    }
}

#[test]
fn loop_without_root_nothing_is_free() {
    let Some(bench) = start(16) else { return };
    let (roots, book) = (bench.roots(), bench.book.clone());
    let device = roots.dev.join(bench.disk.name());
    let report = std::thread::spawn(move || {
        // Linux keeps credentials per thread; only this one, and the blkid it starts, are nobody.
        let nobody = rustix::process::Uid::from_raw(65534);
        rustix::thread::set_thread_uid(nobody).unwrap();
        let all = inventory(&roots, &LocalRunner, Some(&book));
        all.into_iter().find(|d| d.path == device).unwrap()
    })
    .join()
    .unwrap();
    assert!(!report.free, "{report:#?}");
    for witness in [Check::Exclusive, Check::Lock, Check::Signature] {
        assert!(report.unheard().contains(&witness), "{witness} was heard without root: {report:#?}");
    }
    assert!(report.dissent.iter().all(|d| !d.remedy.is_empty()));
}
